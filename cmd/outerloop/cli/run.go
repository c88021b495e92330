package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/local"
	"github.com/outerloop-dev/outerloop/pkg/loop"
)

type runFlags struct {
	input, asOf string
	rerun       bool
	// dated: --as-of was given, perhaps as an empty text.
	dated bool
	modelFlags
}

func (a *app) runCommand() *cobra.Command {
	var flags runFlags
	cmd := &cobra.Command{
		Use:   "run LOOP",
		Short: "Run a loop until nothing more can move, and say what happened",
		Long: `Starts a run and works until nothing more can move without a person or a later time,
then prints what became of each step, what waits for whom, and the exact command to go on.

--input FILE.json is the whole input document. Any other file fills the only property of
the loop's input that has the format "file"; the worker that reads it looks at it before a
run exists, so that an unusable file leaves no run behind.

One subject has one run. Starting it again goes on with it where it is open, says
"duplicate of RUN" and exits with that run's code; with another input it is refused.
--rerun starts a run of its own: business actions still happen once.

--model lets a language model do the work of all agents, and of those workers whose
charters say how a model does it. The run keeps that model, its price and the prompts
until it ends, whatever command drives it on. The key of an endpoint that needs one is
read from $OUTERLOOP_SECRET_MODEL_KEY.

Exit code 0 when the run completed, 1 when it failed or is blocked, 2 when the input is
not valid, 3 when something waits for a person. Ctrl-C, or kill -9, loses nothing: the
same command goes on.`,
		Example: `  outerloop run crm-followup --input exports/crm.csv
  outerloop run crm-followup --input exports/crm.csv --as-of 2026-11-30
  outerloop run crm-followup --input input.json -o json | jq '.counts'
  outerloop run market-research --input brief.json --model openai:http://127.0.0.1:11434#qwen3 --model-price 0/0`,
		Args: one("a loop", "usage: outerloop run LOOP [--input FILE]"),
		RunE: func(cmd *cobra.Command, args []string) error {
			flags.dated = cmd.Flags().Changed("as-of")
			return a.run(cmd.Context(), args[0], flags)
		},
	}
	cmd.Flags().StringVar(&flags.input, "input", "", "the input: a .json document or the loop's one `FILE`")
	cmd.Flags().StringVar(&flags.asOf, "as-of", "", "the run's `DATE`: a day (midnight in the loop's zone) or RFC 3339 (default now)")
	flags.modelFlags.add(cmd)
	cmd.Flags().BoolVar(&flags.rerun, "rerun", false, "start another run although this subject has one")
	return cmd
}

// runDocument is `run -o json`: the run as `show` prints it, and how it came to be.
type runDocument struct {
	coordinator.ShowView
	// Duplicate: this run was there before; nothing was started.
	Duplicate bool `json:"duplicate"`
	// Pages are the files rendered of facts.
	Pages []string `json:"pages"`
}

func (a *app) run(ctx context.Context, name string, flags runFlags) error {
	p, err := a.openChosen(flags.modelFlags)
	if err != nil {
		return err
	}
	def, err := p.loop(name)
	if err != nil {
		return err
	}
	req, input, err := a.prepare(ctx, def, flags)
	if err != nil {
		return err
	}
	if err := a.startable(ctx, p, name, flags); err != nil {
		return err
	}
	started, idle, err := a.startAndDrive(ctx, p, req, input)
	if err != nil {
		return err
	}
	return a.afterRun(ctx, started, idle)
}

// startable refuses to start what cannot run there.
func (a *app) startable(ctx context.Context, p opened, name string, flags runFlags) error {
	if a.far() {
		if flags.model != "" {
			return usage("--model chooses for runs of this machine; a deployed loop has the models that it was deployed with", "leave --model away")
		}
		return nil
	}
	if _, err := p.localLoop(name); err != nil {
		return err
	}
	if err := p.current(name); err != nil {
		return err
	}
	if err := a.able(p, name); err != nil {
		return err
	}
	return reached(ctx, flags.modelFlags.filled(a.Getenv).model)
}

// prepare reads and checks everything that can be wrong before a run exists.
func (a *app) prepare(ctx context.Context, def *loop.Definition, flags runFlags) (coordinator.StartRequest, runInput, error) {
	req := coordinator.StartRequest{Loop: def.Loop.Name, Rerun: flags.rerun, Trigger: "manual", By: "outerloop run"}
	input, err := a.readInput(def, flags.input)
	if err != nil {
		return req, input, err
	}
	if flags.dated {
		if req.AsOf, err = a.parseAsOf(flags.asOf, def.Zone); err != nil {
			return req, input, err
		}
	}
	if err := input.fits(def); err != nil {
		return req, input, err
	}
	return req, input, input.check(ctx, def, a.Workers)
}

// yearsAhead is how far in the future a run may look from: beyond it a year is
// mistyped rather than meant.
const yearsAhead = 10

var earliestAsOf = time.Date(1970, time.January, 1, 0, 0, 0, 0, time.UTC)

// parseAsOf reads --as-of, and refuses dates that nobody means.
func (a *app) parseAsOf(text string, zone *time.Location) (time.Time, error) {
	at, err := parseTime("--as-of", text, zone)
	if err != nil {
		return at, err
	}
	if latest := a.Now().AddDate(yearsAhead, 0, 0); at.Before(earliestAsOf) || at.After(latest) {
		return at, usage(fmt.Sprintf("--as-of %s is out of range", text),
			fmt.Sprintf("write a date from %s to %s", earliestAsOf.Format(time.DateOnly), latest.Format(time.DateOnly)))
	}
	return at, nil
}

// startAndDrive starts the run, or finds the one of the subject, and works until
// nothing more can move.
func (a *app) startAndDrive(ctx context.Context, p opened, req coordinator.StartRequest, input runInput) (started coordinator.Started, idle local.Idle, err error) {
	shown := a.newProgress().hold()
	s, err := a.session(ctx, &p, shown)
	if err != nil {
		return started, idle, err
	}
	defer func() { err = also(err, s.Close()) }()
	if req.Input, err = input.put(ctx, s.PutBlob); err != nil {
		return started, idle, err
	}
	if started, err = s.Start(ctx, req); err != nil {
		return started, idle, err
	}
	if !started.Duplicate && !a.asJSON() {
		fmt.Fprintf(a.Err, "%s started for %s\n", started.Run, plain(started.Subject))
	}
	shown.begin()
	idle, err = s.drive(ctx, started.Run)
	shown.end()
	if ctx.Err() != nil {
		return started, idle, a.stopped(started.Run)
	}
	return started, idle, err
}

func (a *app) stopped(run string) error {
	if a.far() {
		return &exit{code: ExitFailed, err: fmt.Errorf("stopped looking; run %s goes on there", run), remedies: []string{a.command("show %s", run)}}
	}
	return &exit{code: ExitFailed, err: fmt.Errorf("stopped; run %s stays as it is, nothing is lost", run),
		remedies: []string{"the same command goes on from here", "outerloop show " + run}}
}

// afterRun prints what became of the run and answers with its exit code.
func (a *app) afterRun(ctx context.Context, started coordinator.Started, idle local.Idle) error {
	pages, err := a.writePages(ctx, started.Run)
	if err != nil {
		return err
	}
	found, err := a.readRun(ctx, started.Run)
	if err != nil {
		return err
	}
	if a.asJSON() {
		doc := runDocument{ShowView: found.show, Duplicate: started.Duplicate, Pages: append([]string{}, pages...)}
		if err := a.writeJSON(doc); err != nil {
			return err
		}
		return silent(found.code())
	}
	a.printAfterRun(started, found, idle, pages)
	return silent(found.code())
}

// runState is a run with what waits in it.
type runState struct {
	show       coordinator.ShowView
	approvals  []coordinator.ApprovalView
	exceptions []coordinator.ExceptionView
	// children are the open runs of its sub-loops.
	children []coordinator.RunView
}

func (a *app) readRun(ctx context.Context, run string) (runState, error) {
	var found runState
	err := a.reading(ctx, func(r reader) error {
		var err error
		if found.show, err = r.Show(ctx, run); err != nil {
			return err
		}
		if found.approvals, err = r.Approvals(ctx, coordinator.ApprovalsQuery{Run: run}); err != nil {
			return err
		}
		if found.exceptions, err = r.Exceptions(ctx, coordinator.ExceptionsQuery{Run: run}); err != nil || found.show.Status.Closed() || !waitsForLoop(found.show) {
			return err
		}
		found.children, err = openChildren(ctx, r, run)
		return err
	})
	return found, err
}

func (a *app) printAfterRun(started coordinator.Started, found runState, idle local.Idle, pages []string) {
	v := found.show
	if started.Duplicate {
		what := "it has ended"
		if !started.Status.Closed() {
			what = "it was open and was driven on"
		}
		a.say("duplicate of %s: %s has its run already (%s); nothing was started", v.ID, plain(v.Subject), what)
		a.say("  --rerun starts another run; what was done in the world is not done again\n")
	}
	a.writeRun(v.RunView)
	a.say("")
	steps := ended(v)
	a.writeTallies(steps)
	if trouble := troubled(steps); len(trouble) > 0 {
		a.say("\nNot completed as planned")
		a.writeSteps(trouble, fewSteps)
	}
	a.writeUsage(v, false)
	a.writeQuestions(v.Steps, v.ID)
	a.writeWaiting(found.approvals, found.exceptions)
	a.writeChildren(found.children)
	a.say("")
	a.writePlaces(pages)
	if !v.Status.Closed() && len(found.approvals)+len(found.exceptions) == 0 && !idle.Next.IsZero() {
		a.say("\nnothing can move before %s UTC; %s keeps working until then", stamp(&idle.Next), a.command("dev"))
	}
}

// runCode is a run's exit code: 3 only while something waits for a person.
func runCode(v coordinator.RunView) int {
	switch {
	case v.Status == outerloop.StatusFailed, v.Status == outerloop.StatusBlocked:
		return ExitFailed
	case !v.Status.Closed() && (len(v.Waiting) > 0 || v.Status == outerloop.StatusAwaitingApproval):
		return ExitWaiting
	}
	return ExitDone
}

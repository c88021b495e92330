package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/outerloop-dev/outerloop/pkg/asl"
	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/local"
)

// mostRuns is how many runs are looked through for an abbreviated id.
const mostRuns = 1000

func (a *app) runsCommand() *cobra.Command {
	var q coordinator.RunsQuery
	cmd := &cobra.Command{
		Use:   "runs [LOOP]",
		Short: "List runs, newest first",
		Long: `Lists the runs in the state file, newest first. Reading never creates a state file:
without one the list is empty.`,
		Example: `  outerloop runs
  outerloop runs crm-followup --open
  outerloop runs -o json | jq -r '.[] | select(.status == "blocked") | .id'`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usage(fmt.Sprintf("runs takes one loop; %q is too much", args[1]), "usage: "+cmd.UseLine())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				q.Loop = args[0]
			}
			if q.Limit < 1 || q.Limit > mostRuns {
				return usage(fmt.Sprintf("--limit %d is out of range", q.Limit), fmt.Sprintf("write a number from 1 to %d", mostRuns))
			}
			list, err := readList(cmd.Context(), a, func(ctx context.Context, r reader) ([]coordinator.RunView, error) { return r.Runs(ctx, q) })
			if err != nil {
				return err
			}
			return a.printRuns(list)
		},
	}
	cmd.Flags().BoolVar(&q.Open, "open", false, "only runs that are not closed")
	cmd.Flags().IntVarP(&q.Limit, "limit", "n", 50, "at most `N` runs")
	return cmd
}

func (a *app) printRuns(list []coordinator.RunView) error {
	if a.asJSON() {
		return a.writeJSON(list)
	}
	if len(list) == 0 {
		a.say("no runs")
		return nil
	}
	t := table{head: []string{"RUN", "STATUS", "SUBJECT", "STARTED (UTC)", "TOOK", "WAITING", "REASON"}}
	t.right = []bool{false, false, false, false, true, true}
	t.colour = func(column int, _ string) func(string) string {
		if column != 1 {
			return nil
		}
		return func(s string) string { return a.statusText(strings.ReplaceAll(s, " ", "_")) }
	}
	for _, v := range list {
		took, waiting := "", ""
		if v.StartedAt != nil && v.EndedAt != nil {
			took = span(v.EndedAt.Sub(*v.StartedAt))
		}
		if n := len(v.Waiting); n > 0 {
			waiting = fmt.Sprint(n)
		}
		t.add(v.ID, strings.ReplaceAll(string(v.Status), "_", " "), plain(v.Subject), stamp(v.StartedAt), took, waiting, plain(v.Reason))
	}
	t.write(a, a.Out)
	return nil
}

// readList reads a list; a missing state file is an empty one, never null.
func readList[T any](ctx context.Context, a *app, read func(context.Context, reader) ([]T, error)) ([]T, error) {
	var list []T
	err := a.reading(ctx, func(r reader) (err error) {
		list, err = read(ctx, r)
		return err
	})
	if errors.Is(err, local.ErrNoState) {
		return []T{}, nil
	}
	if list == nil {
		list = []T{}
	}
	return list, err
}

// findRun completes an abbreviated run id; "" is the newest run.
func findRun(ctx context.Context, r reader, id string) (string, error) {
	list, err := r.Runs(ctx, coordinator.RunsQuery{Limit: mostRuns})
	if err != nil {
		return "", err
	}
	if id == "" {
		if len(list) == 0 {
			return "", usage("there are no runs yet", "outerloop run LOOP   starts one")
		}
		return list[0].ID, nil
	}
	var fits []string
	for _, v := range list {
		if v.ID == id {
			return id, nil
		}
		if strings.HasPrefix(v.ID, id) {
			fits = append(fits, v.ID)
		}
	}
	switch len(fits) {
	case 0:
		return id, nil // perhaps older than what was listed: the coordinator says
	case 1:
		return fits[0], nil
	}
	slices.Sort(fits)
	return "", usage(fmt.Sprintf("%q is the beginning of %d runs", id, len(fits)), fits[:min(len(fits), 5)]...)
}

// runArg is the check of commands that take a run, or none for the newest.
func runArg(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return usage(fmt.Sprintf("%s takes one run; %q is too much", cmd.CommandPath(), args[1]), "usage: "+cmd.UseLine())
	}
	return nil
}

func first(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}

// showDocument is `show -o json`; History only with --history.
type showDocument struct {
	coordinator.ShowView
	History []local.ExecutionHistory `json:"history,omitempty"`
}

func (a *app) showCommand() *cobra.Command {
	var history, steps bool
	cmd := &cobra.Command{
		Use:   "show [RUN]",
		Short: "Show a run: its steps, what became of them, what waits for whom",
		Long: `Shows one run; without a name, the newest. A run's id may be cut short as long as it
is the only one that begins so. Steps inside each are counted by outcome; --steps
lists them one by one, -o json always does.`,
		Example: `  outerloop show
  outerloop show crm-followup-3f2a --steps
  outerloop show crm-followup-3f2a --history
  outerloop show -o json | jq '.counts'`,
		Args: runArg,
		RunE: func(cmd *cobra.Command, args []string) error {
			doc, err := a.readShow(cmd.Context(), first(args), history)
			if err != nil {
				return err
			}
			if a.asJSON() {
				return a.writeJSON(doc)
			}
			a.printShow(doc, steps)
			return nil
		},
	}
	cmd.Flags().BoolVar(&history, "history", false, "also the engine's events of each execution")
	cmd.Flags().BoolVar(&steps, "steps", false, "every step on a line of its own")
	return cmd
}

func (a *app) readShow(ctx context.Context, id string, history bool) (showDocument, error) {
	var doc showDocument
	err := a.readingFile(ctx, func(r *local.Reader) error {
		run, err := findRun(ctx, r.Coordinator(), id)
		if err != nil {
			return err
		}
		if doc.ShowView, err = r.Coordinator().Show(ctx, run); err != nil {
			return err
		}
		if history {
			doc.History, err = r.History(ctx, run)
		}
		return err
	})
	if errors.Is(err, local.ErrNoState) {
		return doc, a.noRuns()
	}
	return doc, err
}

func (a *app) noRuns() error {
	return usage(fmt.Sprintf("there are no runs: no state file %s", a.here(a.stateFile())), "outerloop run LOOP   starts one")
}

const fewSteps = 12

func (a *app) printShow(doc showDocument, steps bool) {
	a.writeRun(doc.RunView)
	a.say("")
	switch {
	case steps || len(doc.Steps) <= fewSteps:
		a.writeSteps(doc.Steps, 0)
	default:
		a.writeTallies(doc.Steps)
		if trouble := troubled(doc.Steps); len(trouble) > 0 {
			a.say("\nNot completed as planned")
			a.writeSteps(trouble, 20)
		}
	}
	if len(doc.Waiting) > 0 {
		a.say("\nWaiting for a person")
		t := table{}
		for _, w := range doc.Waiting {
			expires := ""
			if w.ExpiresAt != nil {
				expires = "expires " + stamp(w.ExpiresAt) + " UTC"
			}
			t.add("  "+w.ID, w.Kind, plain(w.Step), expires)
		}
		t.write(a, a.Out)
		a.say("  %s and %s say what is asked", a.command("approvals"), a.command("exceptions"))
	}
	for _, execution := range doc.History {
		a.say("\nEvents of %s", execution.Execution)
		a.writeEvents(execution.Events)
	}
}

func (a *app) writeEvents(events []asl.HistoryEvent) {
	t := table{head: []string{"ID", "TIME (UTC)", "EVENT", "STATE", "ERROR"}, right: []bool{true}}
	for _, e := range events {
		name, fault := "", ""
		if d := e.Details; d != nil {
			name = d.Name
			if d.Error != nil {
				fault = *d.Error
			}
		}
		t.add(fmt.Sprint(e.ID), e.Time.UTC().Format("15:04:05.000"), string(e.Type), plain(name), plain(fault))
	}
	t.write(a, a.Out)
}

func (a *app) logCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "log [RUN]",
		Short: "Print the coordinator's decisions on a run, in order",
		Long: `Prints every decision: when, on which step, what was decided and by which rule,
with references to input and output. Without a name it is the newest run's.`,
		Example: "  outerloop log\n  outerloop log crm-followup-3f2a -o json | jq '.[] | select(.kind == \"settled\")'",
		Args:    runArg,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.log(cmd.Context(), first(args))
		},
	}
}

func (a *app) log(ctx context.Context, id string) error {
	list := []coordinator.LogView{}
	err := a.reading(ctx, func(r reader) error {
		run, err := findRun(ctx, r, id)
		if err != nil {
			return err
		}
		list, err = r.Log(ctx, run)
		return err
	})
	switch {
	case errors.Is(err, local.ErrNoState):
		return a.noRuns()
	case err != nil:
		return err
	case a.asJSON():
		return a.writeJSON(list)
	}
	a.writeLog(list)
	return nil
}

func (a *app) writeLog(entries []coordinator.LogView) {
	t := table{head: []string{"TIME (UTC)", "STEP", "DECIDED", "OUTCOME", "BY", "RULE"}}
	for _, e := range entries {
		by := e.By
		if by == "" {
			by = e.Worker
		}
		t.add(e.At.UTC().Format("2006-01-02 15:04:05.000"), plain(e.Step), e.Kind, e.Outcome, plain(by), plain(e.Rule))
	}
	t.write(a, a.Out)
}

func (a *app) actionsCommand() *cobra.Command {
	var key string
	cmd := &cobra.Command{
		Use:   "actions [LOOP]",
		Short: "List the action log: what was done outside, once each",
		Long: `Lists business actions with their entry (KEY:ACTION), state and result. An action that
is done is never done again, whatever starts a run; one of unknown outcome is verified or
asked about, as its charter says.`,
		Example: "  outerloop actions\n  outerloop actions crm-followup --key D-1042/",
		Args:    runArg,
		RunE: func(cmd *cobra.Command, args []string) error {
			list, err := readList(cmd.Context(), a, func(ctx context.Context, r reader) ([]coordinator.ActionView, error) {
				return r.Actions(ctx, coordinator.ActionsQuery{Loop: first(args), Key: key})
			})
			if err != nil {
				return err
			}
			return a.printActions(list)
		},
	}
	cmd.Flags().StringVar(&key, "key", "", "only entries that begin with `KEY`")
	return cmd
}

func (a *app) printActions(list []coordinator.ActionView) error {
	if a.asJSON() {
		return a.writeJSON(list)
	}
	if len(list) == 0 {
		a.say("no actions")
		return nil
	}
	t := table{head: []string{"ENTRY", "STATE", "CALLS", "ENDED (UTC)", "RUN", "RESULT"}, right: []bool{false, false, true}}
	for _, v := range list {
		result := string(v.Result)
		if v.Reason != "" {
			result = v.Reason
		}
		t.add(plain(v.ID), v.State, fmt.Sprint(v.Calls), stamp(v.EndedAt), v.Run, plain(result))
	}
	t.write(a, a.Out)
	return nil
}

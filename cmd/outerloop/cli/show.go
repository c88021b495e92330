package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/asl"
	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/local"
)

// showDocument is `show -o json`; History only with --history.
type showDocument struct {
	coordinator.ShowView
	// Cancelled is who cancelled the run, and why; null: nobody did.
	Cancelled *cancelled               `json:"cancelled,omitempty"`
	History   []local.ExecutionHistory `json:"history,omitempty"`
}

// cancelled is a person's word that ended a run.
type cancelled struct {
	By     string    `json:"by"`
	Reason string    `json:"reason"`
	At     time.Time `json:"at"`
}

func (a *app) showCommand() *cobra.Command {
	var history, steps, reveal bool
	var step string
	cmd := &cobra.Command{
		Use:   "show [RUN]",
		Short: "Show a run: its steps, what became of them, what waits for whom",
		Long: `Shows one run; without a name, the newest. A run's id may be cut short as long as it
is the only one that begins so. Steps inside each are counted by outcome; --steps
lists them one by one, -o json always does.

--step PATH prints the recorded output of one step instead, of each item where the path
names no item's key. Fields that the project marks sensitive are hidden without --reveal.`,
		Example: `  outerloop show
  outerloop show crm-followup-3f2a --steps
  outerloop show crm-followup-3f2a --step scan
  outerloop show crm-followup-3f2a --step 'follow_up[D-1042]/draft' -o json | jq '.[].output'
  outerloop show crm-followup-3f2a --history
  outerloop show -o json | jq '.counts'`,
		Args: atMostOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, err := a.revealing(cmd.Context(), reveal)
			if err != nil {
				return err
			}
			if cmd.Flags().Changed("step") {
				return a.showStep(ctx, first(args), step)
			}
			doc, err := a.readShow(ctx, first(args), history)
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
	cmd.Flags().StringVar(&step, "step", "", "the recorded output of the step at `PATH`")
	revealFlag(cmd, &reveal)
	cmd.Flags().BoolVar(&steps, "steps", false, "every step on a line of its own")
	return cmd
}

func (a *app) readShow(ctx context.Context, id string, history bool) (showDocument, error) {
	var doc showDocument
	err := a.reading(ctx, func(r reader) error {
		run, err := findRun(ctx, r, id)
		if err != nil {
			return err
		}
		if doc.ShowView, err = r.Show(ctx, run); err != nil {
			return err
		}
		doc.Cancelled, err = whoCancelled(ctx, r, doc.RunView)
		return err
	})
	if err == nil && history {
		doc.History, err = a.history(ctx, doc.ID)
	}
	if errors.Is(err, local.ErrNoState) {
		return doc, a.noRuns()
	}
	return doc, err
}

// history reads the events of a run's executions, which only the engine of this
// machine keeps beside its runs.
func (a *app) history(ctx context.Context, run string) (all []local.ExecutionHistory, err error) {
	if a.far() {
		return nil, usage("--history is of the embedded engine; a deployed run's events are kept by Step Functions",
			"aws stepfunctions get-execution-history --execution-arn ARN   prints them; its executions are named "+run+"-g1, -g2 and so on",
			"outerloop log "+run+"   prints what was decided and why")
	}
	err = a.readingFile(ctx, func(r *local.Reader) (err error) {
		all, err = r.History(ctx, run)
		return err
	})
	return all, err
}

// whoCancelled finds the word of the person who cancelled a run; nil: nobody did.
func whoCancelled(ctx context.Context, r reader, run coordinator.RunView) (*cancelled, error) {
	if !strings.HasPrefix(run.Reason, "cancelled") && !strings.HasPrefix(run.Reason, "cancelling") {
		return nil, nil
	}
	entries, err := r.Log(ctx, run.ID)
	for _, e := range entries {
		if e.Kind == "cancelling" {
			return &cancelled{By: e.By, Reason: e.Rule, At: e.At}, err
		}
	}
	return nil, err
}

// showStep prints what is recorded of a step.
func (a *app) showStep(ctx context.Context, id, step string) error {
	var list []coordinator.OutputView
	run := id
	err := a.reading(ctx, func(r reader) (err error) {
		if run, err = findRun(ctx, r, id); err == nil {
			list, err = r.Outputs(ctx, run, step)
		}
		return err
	})
	switch {
	case errors.Is(err, local.ErrNoState):
		return a.noRuns()
	case err != nil:
		return err
	case len(list) == 0:
		return usage(fmt.Sprintf("run %s has recorded no step %q", run, step), "outerloop show "+run+" --steps   lists them")
	case a.asJSON():
		return a.writeJSON(list)
	}
	for _, v := range list {
		a.say("%s  %s", a.bold(plain(v.Path)), a.statusText(ending(coordinator.StepView{Status: v.Status, Outcome: v.Outcome})))
		a.writeContent(v.Output)
	}
	return nil
}

// ended shows the steps of a closed run as it left them: what was still open
// when it ended waits for nobody and is cancelled.
func ended(v coordinator.ShowView) []coordinator.StepView {
	if !v.Status.Closed() {
		return v.Steps
	}
	steps := slices.Clone(v.Steps)
	for i := range steps {
		if steps[i].Outcome == "" {
			steps[i].Outcome = outerloop.OutcomeCancelled
		}
	}
	return steps
}

func (a *app) noRuns() error {
	return usage(fmt.Sprintf("there are no runs: no state file %s", a.here(a.stateFile())), "outerloop run LOOP   starts one")
}

const fewSteps = 12

func (a *app) printShow(doc showDocument, steps bool) {
	head := doc.RunView
	if doc.Cancelled != nil {
		head.Reason = "" // said in full below
	}
	a.writeRun(head)
	if c := doc.Cancelled; c != nil {
		a.wrap("  ", fmt.Sprintf("cancelled by %s at %s UTC: %s", plain(c.By), stamp(&c.At), plain(c.Reason)))
	}
	a.say("")
	list := ended(doc.ShowView)
	switch {
	case steps || len(list) <= fewSteps:
		a.writeSteps(list, 0)
	default:
		a.writeTallies(list)
		if trouble := troubled(list); len(trouble) > 0 {
			a.say("\nNot completed as planned")
			a.writeSteps(trouble, 20)
		}
	}
	a.writeUsage(doc.ShowView, steps)
	a.writeQuestions(doc.Steps, doc.ID)
	if len(doc.Waiting) > 0 {
		a.say("\nWaiting for a person")
		t := table{}
		for _, w := range doc.Waiting {
			expires := ""
			if w.ExpiresAt != nil {
				expires = "until " + w.ExpiresAt.UTC().Format("2006-01-02 15:04") + " UTC"
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

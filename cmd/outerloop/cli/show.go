package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/outerloop-dev/outerloop/pkg/asl"
	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/local"
)

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
		Args: atMostOne,
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

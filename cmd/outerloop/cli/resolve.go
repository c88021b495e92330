package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/schema"
)

// ways to resolve an exception, as they are written on the command line.
var ways = []string{
	coordinator.WayRetry, coordinator.WayEdit, coordinator.WaySkip,
	coordinator.WaySubstitute, coordinator.WayRollback, coordinator.WayClose,
}

func (a *app) resolveCommand() *cobra.Command {
	var who person
	var value, outcome string
	cmd := &cobra.Command{
		Use:   "resolve ID WAY --by ADDRESS --reason TEXT",
		Short: "Resolve an exception: retry, edit, skip, substitute, rollback or close",
		Long: `Answers an exception and drives the run on. The exception lists the ways that are
possible for it:

  retry        try the step again, with its tries counted anew
  edit         try again with another input: --value FILE
  skip         go on without the step; it counts as missing
  substitute   go on with an output of yours: --value FILE, checked like the worker's
  rollback     undo the run's reversible actions, then close it
  close        give the run up: it fails

Where it is asked what became of an action, say --outcome done or --outcome failed.`,
		Example: `  outerloop resolve 7c01d2 retry --by me@example.com --reason "the mail server is back"
  outerloop resolve 7c01d2 retry --outcome done --by me@example.com --reason "found it in the sent folder"
  outerloop resolve 7c01d2 substitute --value report.json --by me@example.com --reason "written by hand"`,
		Args: resolveArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := who.check(cmd); err != nil {
				return err
			}
			req := coordinator.ResolveRequest{Exception: args[0], Way: args[1], By: who.by, Reason: who.reason, Outcome: outcome}
			if err := a.resolveFlags(&req, value); err != nil {
				return err
			}
			return a.resolve(cmd.Context(), req)
		},
	}
	who.flags(cmd)
	cmd.Flags().StringVar(&value, "value", "", "input (edit) or output (substitute) in `FILE` (JSON; - reads the input)")
	cmd.Flags().StringVar(&outcome, "outcome", "", "what became of the action: `done` or failed")
	return cmd
}

func resolveArgs(cmd *cobra.Command, args []string) error {
	switch len(args) {
	case 0:
		return usage("resolve needs the id of an exception and a way", "outerloop exceptions   lists both")
	case 1:
		return usage("resolve needs a way: "+strings.Join(ways, ", "), "usage: "+cmd.UseLine())
	case 2:
	default:
		return usage(fmt.Sprintf("resolve takes an id and a way; %q is too much", args[2]), "usage: "+cmd.UseLine())
	}
	if slices.Contains(ways, args[1]) {
		return nil
	}
	remedies := []string{"ways: " + strings.Join(ways, ", ")}
	if near := schema.Nearest(args[1], ways); near != "" {
		remedies = append([]string{"did you mean " + near + "?"}, remedies...)
	}
	return usage(fmt.Sprintf("there is no way %q to resolve an exception", args[1]), remedies...)
}

func (a *app) resolveFlags(req *coordinator.ResolveRequest, value string) error {
	if req.Outcome != "" && req.Outcome != "done" && req.Outcome != "failed" {
		return usage(fmt.Sprintf("--outcome %q is neither done nor failed", req.Outcome))
	}
	takes := req.Way == coordinator.WayEdit || req.Way == coordinator.WaySubstitute
	switch {
	case takes && value == "":
		return usage(req.Way+" needs --value FILE", "the file holds the step's "+map[bool]string{true: "new input", false: "output"}[req.Way == coordinator.WayEdit]+" as JSON")
	case !takes && value != "":
		return usage(req.Way+" takes no --value", "edit and substitute do")
	case !takes:
		return nil
	}
	content, err := a.readJSON(value)
	req.Value = content
	return err
}

func (a *app) resolve(ctx context.Context, req coordinator.ResolveRequest) error {
	var err error
	if req.Exception, err = a.findException(ctx, req.Exception); err != nil {
		return err
	}
	var view coordinator.ExceptionView
	run, err := a.acting(ctx, func(s session) (string, error) {
		view, err = s.Resolve(ctx, req)
		return view.Run, err
	})
	switch {
	case err != nil:
		return err
	case run != "":
		return a.recorded(ctx, run)
	case a.asJSON():
		return a.writeJSON(view)
	}
	a.say("recorded")
	return nil
}

// findException completes an abbreviated id of an open exception.
func (a *app) findException(ctx context.Context, id string) (string, error) {
	list, err := readList(ctx, a, func(ctx context.Context, r reader) ([]coordinator.ExceptionView, error) {
		return r.Exceptions(ctx, coordinator.ExceptionsQuery{})
	})
	if err != nil {
		return "", err
	}
	known := make([]string, len(list))
	for i, v := range list {
		known[i] = v.ID
	}
	return completeID(id, "exceptions", "outerloop exceptions   lists them", known)
}

func (a *app) cancelCommand() *cobra.Command {
	return a.runDecision(runDecision{
		name:  "cancel",
		short: "Cancel an open run; nothing new starts, what is under way is told to stop",
		long: `Marks the run as being cancelled first, so that no step begins any more, waits for a
business action that is under way, then fails the run with the reason "cancelled". What
was done outside stays done.`,
		example: `  outerloop cancel crm-followup-3f2a --by me@example.com --reason "wrong export"`,
		do:      session.Cancel,
	})
}

func (a *app) redriveCommand() *cobra.Command {
	return a.runDecision(runDecision{
		name:  "redrive",
		short: "Resume a blocked or failed run from its last completed step",
		long: `Starts the run's next generation: settled steps answer from the record, business
actions that are done are not done again, the rest runs with its tries counted anew.
A cancelled run cannot be resumed.`,
		example: `  outerloop redrive crm-followup-3f2a --by me@example.com --reason "schema mended"`,
		do:      session.Redrive,
	})
}

func (a *app) rollbackCommand() *cobra.Command {
	return a.runDecision(runDecision{
		name:  "rollback",
		short: "Undo what a run has done, as far as it can be undone",
		long: `Does the undo action of each action that the run has done and that declares one, the last
first, each once, by the same worker with the same input. It is a run of its own; a second
rollback of a run goes on with the first. A blocked run is closed first, one in progress is
to be cancelled first. What cannot be undone is named in the rollback's log.`,
		example: `  outerloop rollback crm-followup-3f2a --by me@example.com --reason "wrong export"`,
		do:      session.Rollback,
	})
}

// runDecision is a command by which a person decides about a whole run.
type runDecision struct {
	name, short, long, example string
	do                         func(session, context.Context, coordinator.PersonRequest) (coordinator.RunView, error)
}

func (a *app) runDecision(d runDecision) *cobra.Command {
	var who person
	cmd := &cobra.Command{
		Use:     d.name + " RUN --by ADDRESS --reason TEXT",
		Short:   d.short,
		Long:    d.long,
		Example: d.example,
		Args:    one("a run", "outerloop runs   lists them"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := who.check(cmd); err != nil {
				return err
			}
			ctx := cmd.Context()
			shown, err := a.readShow(ctx, args[0], false)
			if err != nil {
				return err
			}
			return a.actOn(ctx, func(s session) (string, error) {
				view, err := d.do(s, ctx, coordinator.PersonRequest{Run: shown.ID, By: who.by, Reason: who.reason})
				if err != nil {
					return shown.ID, err
				}
				return view.ID, nil
			})
		},
	}
	who.flags(cmd)
	return cmd
}

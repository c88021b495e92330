package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/outerloop-dev/outerloop/pkg/coordinator"
)

func (a *app) approvalsCommand() *cobra.Command {
	var reveal bool
	cmd := &cobra.Command{
		Use:   "approvals [RUN]",
		Short: "List what waits for an approval, with what would be sent",
		Long: `Lists the open requests, oldest first: what is asked, why, of whom, until when, and
the content that an approval lets through. Reading decides nothing. Fields that the project
marks sensitive are hidden without --reveal.`,
		Example: "  outerloop approvals\n  outerloop approvals -o json | jq -r '.[].id'",
		Args:    atMostOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, err := a.revealing(cmd.Context(), reveal)
			if err != nil {
				return err
			}
			list, err := listOf(ctx, a, first(args), func(ctx context.Context, r reader, run string) ([]coordinator.ApprovalView, error) {
				return r.Approvals(ctx, coordinator.ApprovalsQuery{Run: run})
			})
			if err != nil {
				return err
			}
			if a.asJSON() {
				return a.writeJSON(list)
			}
			if len(list) == 0 {
				a.say("nothing waits for an approval")
			}
			a.writeApprovals(list)
			return nil
		},
	}
	revealFlag(cmd, &reveal)
	return cmd
}

func (a *app) exceptionsCommand() *cobra.Command {
	var reveal bool
	cmd := &cobra.Command{
		Use:   "exceptions [RUN]",
		Short: "List what went wrong and needs a person's decision",
		Long: `Lists open exceptions: which step failed and why, what was tried, how things stand,
which decision is needed and in which ways it can be resolved. Of a message that nobody
could read, its body. What the project marks sensitive is hidden without --reveal.`,
		Example: "  outerloop exceptions\n  outerloop exceptions -o json",
		Args:    atMostOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, err := a.revealing(cmd.Context(), reveal)
			if err != nil {
				return err
			}
			list, err := listOf(ctx, a, first(args), func(ctx context.Context, r reader, run string) ([]coordinator.ExceptionView, error) {
				return r.Exceptions(ctx, coordinator.ExceptionsQuery{Run: run})
			})
			if err != nil {
				return err
			}
			if a.asJSON() {
				return a.writeJSON(list)
			}
			if len(list) == 0 {
				a.say("no exceptions")
			}
			a.writeExceptions(list)
			return nil
		},
	}
	revealFlag(cmd, &reveal)
	return cmd
}

// person is who acts and why: the flags of every command that decides.
type person struct{ by, reason string }

func (p *person) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&p.by, "by", "", "who decides: an `ADDRESS` such as me@example.com (required)")
	cmd.Flags().StringVar(&p.reason, "reason", "", "why, for the record: a `TEXT` (required)")
}

// check demands both, since a decision without a person or a reason proves nothing.
func (p *person) check(cmd *cobra.Command) error {
	var missing []string
	if strings.TrimSpace(p.by) == "" {
		missing = append(missing, "--by you@example.com")
	}
	if strings.TrimSpace(p.reason) == "" {
		missing = append(missing, `--reason "…"`)
	}
	if len(missing) == 0 {
		return nil
	}
	return usage(fmt.Sprintf("%s needs who decides and why: %s is missing", cmd.CommandPath(), strings.Join(missing, " and ")),
		"usage: "+cmd.UseLine())
}

func (a *app) approveCommand() *cobra.Command {
	var who person
	var edit string
	cmd := &cobra.Command{
		Use:   "approve ID --by ADDRESS --reason TEXT",
		Short: "Approve a request; what waited for it goes on at once",
		Long: `Records the approval and drives the run on until nothing more can move. The first
decision is final: a later one is refused and told who decided and when. With --edit
the file's content replaces what is approved; it is checked like the worker's own work.
--edit - reads it from the input.`,
		Example: `  outerloop approve 3f2a9c --by me@example.com --reason "price agreed by phone"
  outerloop approvals -o json | jq '.[0].content' > mail.json   # then edit mail.json
  outerloop approve 3f2a9c --edit mail.json --by me@example.com --reason "shorter"`,
		Args: one("the id of a request", "outerloop approvals   lists them"),
		RunE: func(cmd *cobra.Command, args []string) error {
			req := coordinator.DecideRequest{Approval: args[0], Verdict: coordinator.Approve, By: who.by, Reason: who.reason}
			if err := who.check(cmd); err != nil {
				return err
			}
			if edit != "" {
				content, err := a.readJSON(edit)
				if err != nil {
					return err
				}
				req.Edit = content
			}
			return a.decide(cmd.Context(), req)
		},
	}
	who.flags(cmd)
	cmd.Flags().StringVar(&edit, "edit", "", "approve the content of `FILE` (JSON) instead")
	return cmd
}

func (a *app) rejectCommand() *cobra.Command {
	var who person
	cmd := &cobra.Command{
		Use:   "reject ID --by ADDRESS --reason TEXT",
		Short: "Reject a request; its step's rule says what happens then",
		Long: `Records the rejection and drives the run on. What then happens is declared with the
step: it is skipped, revised, or the run halts. The first decision is final.`,
		Example: `  outerloop reject 3f2a9c --by me@example.com --reason "the customer has left"`,
		Args:    one("the id of a request", "outerloop approvals   lists them"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := who.check(cmd); err != nil {
				return err
			}
			return a.decide(cmd.Context(), coordinator.DecideRequest{
				Approval: args[0], Verdict: coordinator.Reject, By: who.by, Reason: who.reason,
			})
		},
	}
	who.flags(cmd)
	return cmd
}

// readJSON reads a JSON value of a file, or of the input for "-".
func (a *app) readJSON(name string) (json.RawMessage, error) {
	content, err := a.readFileOrInput(name)
	if err != nil {
		return nil, err
	}
	var value json.RawMessage
	if err := decodeStrict(content, &value); err != nil {
		return nil, usage(fmt.Sprintf("%s is not JSON: %v", name, err))
	}
	return value, nil
}

// decide records a decision and drives on what waited for it.
func (a *app) decide(ctx context.Context, req coordinator.DecideRequest) error {
	var err error
	if req.Approval, err = a.findApproval(ctx, req.Approval); err != nil {
		return err
	}
	var view coordinator.ApprovalView
	run, err := a.acting(ctx, func(s session) (string, error) {
		view, err = s.Decide(ctx, req)
		if err == nil {
			a.sayDecision(view) // before the run is driven on, or watched
		}
		return view.Run, err
	})
	if err != nil {
		return err
	}
	return a.printDecision(ctx, run, view)
}

// sayDecision says what was recorded.
func (a *app) sayDecision(view coordinator.ApprovalView) {
	switch {
	case a.asJSON():
	case view.Decision == "":
		a.say("%s  recorded; more people must approve", a.bold(view.ID))
	default:
		a.say("%s  %s by %s", a.bold(view.ID), a.statusText(view.Decision), plain(view.By))
	}
}

// decisionDocument is what approve and reject print with -o json: the request
// with its decision, and the run as it stands now.
type decisionDocument struct {
	coordinator.ApprovalView
	State coordinator.RunView `json:"state"`
}

func (a *app) printDecision(ctx context.Context, run string, view coordinator.ApprovalView) error {
	state, err := a.readShow(ctx, run, false)
	if err != nil {
		return err
	}
	if a.asJSON() {
		return a.writeJSON(decisionDocument{ApprovalView: view, State: state.RunView})
	}
	for _, step := range state.Steps {
		if step.Path == view.Step {
			a.say("  %s  %s%s", plain(step.Path), a.statusText(ending(step)), reasonText(step.Reason))
		}
	}
	return a.printStanding(ctx, state.ShowView)
}

// findApproval completes an abbreviated id of an open request.
func (a *app) findApproval(ctx context.Context, id string) (string, error) {
	list, err := readList(ctx, a, func(ctx context.Context, r reader) ([]coordinator.ApprovalView, error) {
		return r.Approvals(ctx, coordinator.ApprovalsQuery{})
	})
	if err != nil {
		return "", err
	}
	known := make([]string, len(list))
	for i, v := range list {
		known[i] = v.ID
	}
	return completeID(id, "requests", "outerloop approvals   lists them", known)
}

package coordinator

import (
	"context"
	"fmt"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// statusOf is what people see: an open run with an open request or question
// awaits a person.
func statusOf(r *record.Run) outerloop.Status {
	if r.Open() && r.Numbers[record.RunAwaiting]+r.Numbers[record.RunQuestions] > 0 {
		return outerloop.StatusAwaitingApproval
	}
	return r.Status
}

func momentOf(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

func (c *Coordinator) runView(ctx context.Context, r *record.Run) (RunView, error) {
	out := RunView{
		ID: r.ID, Loop: r.Loop, Version: r.Version, Status: statusOf(r), Subject: r.Subject, Reason: r.Reason,
		Definition: r.Definition, StartedAt: momentOf(r.Started), EndedAt: momentOf(r.Ended), Deadline: momentOf(r.Deadline),
		Counts: r.Counts, Waiting: []WaitView{},
		Spent: float64(r.Numbers[record.RunSpent]) / micro, Left: float64(r.Numbers[record.RunLeft]) / micro,
	}
	if r.Parent != nil {
		out.Parent = r.Parent.Run
	}
	if r.Cancelling && !r.Status.Closed() {
		out.Reason = "cancelling: " + r.Reason
	}
	v, err := c.veilOfReason(ctx, r)
	if err != nil {
		return RunView{}, err
	}
	out.Reason = v.hide(out.Reason)
	if !r.Output.IsZero() {
		raw, _, err := c.shown(ctx, r.ID, r.Output)
		if err != nil {
			return RunView{}, err
		}
		out.Output = raw
	}
	return out, nil
}

// observe goes through a run's steps once: counts, what waits, and each step
// to visit, which may be nil.
func (c *Coordinator) observe(ctx context.Context, r *record.Run, visit func(*record.Step)) (RunView, error) {
	out, err := c.runView(ctx, r)
	if err != nil {
		return RunView{}, err
	}
	counts := map[string]int{}
	err = c.each(ctx, store.Query{Part: record.RunKey(r.ID).Part, Prefix: record.StepsPrefix(""), Limit: 500}, func(item *store.Item) error {
		step, err := record.DecodeStep(item)
		if err != nil {
			return err
		}
		counts[c.countName(step, r)]++
		if visit != nil {
			visit(step)
		}
		return c.waits(ctx, r, step, &out)
	})
	if err != nil {
		return RunView{}, fmt.Errorf("reading the steps of %s: %w", r.ID, err)
	}
	out.Counts = counts
	if r.Exception != "" && !over(r) && !hasWait(out.Waiting, r.Exception) {
		err = c.waitsFor(ctx, r.Exception, &out)
	}
	return out, err
}

// over tells whether nobody is asked about the run any more.
func over(r *record.Run) bool { return r.Status.Closed() || r.Cancelling }

func hasWait(list []WaitView, id string) bool {
	for _, w := range list {
		if w.ID == id {
			return true
		}
	}
	return false
}

func (c *Coordinator) waits(ctx context.Context, r *record.Run, s *record.Step, out *RunView) error {
	if over(r) || s.State == outerloop.StepSettled {
		return nil
	}
	if s.State == outerloop.StepParked {
		ap, err := one(ctx, c, record.ApprovalKey(s.Approval), record.DecodeApproval)
		if err != nil || ap == nil || ap.Decided() || ap.Void {
			return err
		}
		if hasWait(out.Waiting, ap.ID) { // of a tool call, whose caller waits too
			return nil
		}
		out.Waiting = append(out.Waiting, WaitView{Kind: "approval", ID: ap.ID, Step: s.Name, Since: ap.Since, ExpiresAt: momentOf(ap.Expires)})
		return nil
	}
	if s.Exception == "" {
		return nil
	}
	return c.waitsFor(ctx, s.Exception, out)
}

func (c *Coordinator) waitsFor(ctx context.Context, id string, out *RunView) error {
	exc, err := one(ctx, c, record.ExceptionKey(id), record.DecodeException)
	if err != nil || exc == nil || exc.Resolved() {
		return err
	}
	out.Waiting = append(out.Waiting, WaitView{Kind: "exception", ID: exc.ID, Step: exc.Step, Since: exc.Since, ExpiresAt: out.Deadline})
	return nil
}

// Run reads one run, with what waits in it. Error: ErrNoRun.
func (c *Coordinator) Run(ctx context.Context, id string) (RunView, error) {
	r, err := c.runOf(ctx, id)
	if err != nil {
		return RunView{}, err
	}
	return c.observe(ctx, r, nil)
}

// Show reads one run with all its steps, in the order of their paths. Error: ErrNoRun.
func (c *Coordinator) Show(ctx context.Context, id string) (ShowView, error) {
	r, err := c.runOf(ctx, id)
	if err != nil {
		return ShowView{}, err
	}
	out := ShowView{Steps: []StepView{}}
	v, err := c.veilRun(ctx, r)
	if err != nil {
		return ShowView{}, err
	}
	out.RunView, err = c.observe(ctx, r, func(s *record.Step) {
		view := c.stepView(s, r)
		view.Reason, view.Unresolved = v.hide(view.Reason), v.hideAll(view.Unresolved)
		out.Steps = append(out.Steps, view)
	})
	out.Models = c.models(ctx, r.Definition, out.Steps)
	return out, err
}

func (c *Coordinator) stepView(s *record.Step, r *record.Run) StepView {
	view := StepView{
		Path: s.Name, Worker: s.Worker, Status: s.State, Attempts: s.Attempts, StartedAt: momentOf(s.Started),
		EndedAt: momentOf(s.Ended), Outcome: s.Outcome, Reason: s.Reason, Cost: float64(s.Cost) / micro, Tokens: s.Tokens,
	}
	if view.Reason == "" {
		view.Reason = s.Cause
	}
	if s.State == outerloop.StepSettled {
		view.Unresolved = s.Unresolved
	}
	if c.stillWaits(s, r) {
		view.Status, view.Outcome, view.EndedAt = outerloop.StepOpen, "", nil
		view.Reason = "waits until " + s.Block.Until.UTC().Format("2006-01-02 15:04 MST")
	}
	return view
}

// stillWaits tells whether a wait for a time goes on, whose record is settled
// from its beginning.
func (c *Coordinator) stillWaits(s *record.Step, r *record.Run) bool {
	if s.Outcome != outerloop.OutcomeCompleted || s.Block == nil || s.Block.Until == nil {
		return false
	}
	at := c.now()
	if r.Status.Closed() {
		at = r.Ended
	}
	return at.Before(*s.Block.Until)
}

func (c *Coordinator) countName(s *record.Step, r *record.Run) string {
	if c.stillWaits(s, r) {
		return string(outerloop.StepOpen)
	}
	return countName(s)
}

package coordinator

import (
	"context"
	"fmt"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/gate"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// driveRollback moves a rollback on: it hands over the next undo action, closes
// the run after the last, and blocks it with one exception where one failed. The
// watch calls it until it is done.
func (c *Coordinator) driveRollback(ctx context.Context, id string) error {
	type next struct {
		worker   string
		delivery *gate.Delivery
		closed   bool
	}
	out, err := deciding(ctx, c, "rolling on "+id, func(ctx context.Context) (next, error) {
		run, err := c.runOf(ctx, id)
		if err != nil || run.Rollback == nil || !run.Open() {
			return next{}, err
		}
		for i, u := range run.Rollback.Steps {
			s, err := one(ctx, c, record.StepKey(id, record.Address(u.Path)), record.DecodeStep)
			switch {
			case err != nil:
				return next{}, err
			case s == nil:
				s = &record.Step{Run: id, Address: record.Address(u.Path), Path: u.Path, Name: u.Path, Visit: 1, State: outerloop.StepOpen, Gen: run.Gen, Override: u.Input}
			case s.State == outerloop.StepSettled && s.Outcome == outerloop.OutcomeCompleted:
				continue
			case s.State == outerloop.StepSettled || s.GaveUp != nil && s.Gen == run.Gen:
				return next{}, c.blockRollback(ctx, run, s, u)
			case s.Live(c.now()):
				return next{}, nil
			}
			sent := fmt.Sprintf("g%d/%d", run.Gen, i)
			now := c.now().UnixMilli()
			if run.Rollback.Sent == sent && now < run.Rollback.SentMs+c.cfg.Lease.Milliseconds() {
				return next{}, nil
			}
			run.Rollback.Sent, run.Rollback.SentMs = sent, now
			ops := []store.Op{run.Put()}
			if s.Stored == 0 {
				ops = append(ops, s.Put())
			}
			return next{worker: u.Worker, delivery: &gate.Delivery{Run: id, Gen: run.Gen, Step: u.Path}}, c.write(ctx, ops...)
		}
		if run.Counts, err = c.countSteps(ctx, id, nil); err != nil {
			return next{}, err
		}
		c.closeRun(run, outerloop.StatusCompleted, "")
		return next{closed: true}, c.write(ctx, run.Put())
	})
	switch {
	case err != nil:
		return err
	case out.closed:
		return c.settleRun(ctx, id)
	case out.delivery != nil:
		return c.cfg.Deliver(ctx, out.worker, *out.delivery)
	}
	return nil
}

// blockRollback raises the exception of an undo action that failed.
func (c *Coordinator) blockRollback(ctx context.Context, run *record.Run, s *record.Step, u record.UndoStep) error {
	def, err := c.definitionOf(ctx, run.ID)
	if err != nil {
		return err
	}
	cause := s.Reason
	if s.GaveUp != nil {
		cause = s.GaveUp.Error + ": " + s.GaveUp.Cause
	}
	in := incident{
		name: s.Name, cause: "undoing " + u.Undoes + " failed: " + cause, class: "rollback", blocks: true, tried: triedText(s),
		ways: []string{WayRetry, WayClose}, needed: "retry goes on with the rollback; close leaves the rest as it is, to be undone by hand",
	}
	a, err := one(ctx, c, record.ActionKey(run.Loop, u.Entry), record.DecodeAction)
	if err != nil {
		return err
	}
	if a != nil && a.State == record.ActionUnknown {
		in.entry = u.Entry
	}
	v := &view{c: c, def: def, run: run, steps: map[record.Address]*record.Step{}}
	ops, exc, err := v.block(ctx, in)
	if err != nil {
		return err
	}
	if err := c.write(ctx, ops...); err != nil {
		return err
	}
	c.alert(ctx, exc, def)
	return nil
}

package coordinator

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/protocol"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/gate"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// tellParent hands the end of a sub-loop's run to the step that it does: its
// output, or its failure, which the step's rule decides. It may be called any
// number of times; a run that is open, or nobody's child, is left alone.
func (c *Coordinator) tellParent(ctx context.Context, id string) error {
	run, err := one(ctx, c, record.RunKey(id), c.records.Run)
	if err != nil || run == nil || run.Parent == nil || !run.Status.Closed() {
		return err
	}
	out, err := deciding(ctx, c, "handing over the end of "+id, func(ctx context.Context) (telling, error) {
		link, err := one(ctx, c, record.ChildKey(run.Parent.Run, id), record.DecodeChild)
		if err != nil || link == nil || link.Told {
			return telling{}, err
		}
		d, err := c.receive(ctx, operation{Run: link.Run, Gen: link.Gen, Step: link.Path, Item: link.Item, Next: link.Next}.delivery())
		if err != nil {
			return telling{}, err
		}
		verdict, told, err := d.takeChild(ctx, run)
		return telling{link: link, verdict: verdict, told: told}, err
	})
	if err != nil || out.link == nil || !out.told {
		return err
	}
	if err := c.completeAll(ctx, out.verdict, append(out.link.Before, out.link.Token)...); err != nil {
		return err
	}
	out.link.Told = true
	if err := c.write(ctx, out.link.Put()); err != nil && !errors.Is(err, store.ErrCondition) {
		return fmt.Errorf("noting what the parent was told: %w", err)
	}
	return nil
}

// telling is what the parent's state is told; not told: its run stands still.
type telling struct {
	link    *record.Child
	verdict gate.Verdict
	told    bool
}

// takeChild settles the step with the child's output, or gives it up.
func (d *delivered) takeChild(ctx context.Context, child *record.Run) (gate.Verdict, bool, error) {
	s := d.step()
	switch {
	case s == nil || s.Child != child.ID, d.run.Status.Closed():
		return d.stop(d.c.now()), true, nil
	case s.State == outerloop.StepSettled:
		out, err := d.recorded(ctx)
		return out.verdict(), true, err
	case !d.run.Open() || d.Gen != d.run.Gen:
		return gate.Verdict{}, false, nil
	case s.GaveUp != nil:
		return giveUp(s), true, nil
	case s.ChildGen >= child.Gen && s.LastVerdict != nil: // its failure was taken, and not heard
		return *s.LastVerdict, true, nil
	}
	step := d.record(ctx)
	money := d.spendChild(step, child.Numbers[record.RunSpent])
	if child.Status != outerloop.StatusCompleted {
		step.ChildGen = child.Gen
		return d.childFailed(ctx, step, money, &fault{class: childClass(child), cause: fmt.Sprintf("run %s of %s failed: %s", child.ID, child.Loop, child.Reason)})
	}
	output, err := d.c.value(ctx, child.Output)
	if err != nil {
		return gate.Verdict{}, false, err
	}
	step.Output, step.Confidence, step.Because = child.Output, outerloop.ConfidenceHigh, "the loop "+child.Loop+" was completed"
	if step.Output.IsZero() {
		step.Output = record.Payload([]byte("null"))
	}
	work := workOf(step, output)
	if err = d.readFacts(ctx, &prepared{}); err == nil {
		err = d.accepts(ctx, work)
	}
	if err == nil {
		err = d.askForChild(ctx, step, work)
	}
	var need *approvalNeeded
	if errors.As(err, &need) {
		ops, verdict, err := d.parkOps(ctx, step, need)
		if err != nil {
			return gate.Verdict{}, false, err
		}
		ops[len(ops)-1] = mergeRun(ops[len(ops)-1], money)
		return verdict, true, d.c.write(ctx, ops...)
	}
	var verdict gate.Verdict
	if err == nil {
		verdict, err = d.conclude(ctx, step, ending{outcome: outerloop.OutcomeCompleted, work: work, rule: "run " + child.ID, run: &money})
	}
	if f, ok := faultOf(err); ok {
		d.steps[d.at] = s
		return d.childFailed(ctx, d.record(ctx), money, &fault{class: outerloop.ClassFatal, cause: f.cause})
	}
	return verdict, true, err
}

// childClass is the class of a sub-loop's failure: what was not done in time may
// be tried again, what a person has ended may not.
func childClass(child *record.Run) outerloop.Class {
	if strings.HasPrefix(child.Reason, deadlinePassed) {
		return outerloop.ClassTimeout
	}
	return outerloop.ClassFatal
}

// askForChild asks people about a sub-loop's output where the step says so.
func (d *delivered) askForChild(ctx context.Context, step *record.Step, work *after) error {
	reason, err := d.declaredReason(ctx, work)
	if err != nil || reason == "" {
		return err
	}
	raw, err := d.c.raw(ctx, step.Output)
	if err != nil {
		return err
	}
	return d.needApproval(ctx, approvalNeeded{content: raw, hash: step.Output.Hash, reasons: []string{reason}}, work)
}

// childFailed counts the failure and leaves the step open for another try, or to its rule.
func (d *delivered) childFailed(ctx context.Context, step *record.Step, money store.Op, f *fault) (gate.Verdict, bool, error) {
	step.Reserved, step.Nonce = 0, ""
	retries := -1
	if f.class != outerloop.ClassFatal {
		retries = d.retries(f.class)
	}
	verdict := protocol.Fail(step, f.class, cut(f.cause, causeLimit), retries)
	step.Cause = f.class.ErrorName() + ": " + cut(f.cause, causeLimit)
	step.Note(record.Entry{At: d.c.now(), Kind: "failed", Rule: cut(f.cause, logText), Outcome: verdict.Error})
	if err := d.c.write(ctx, step.Put(), money); err != nil {
		return gate.Verdict{}, false, err
	}
	return verdict, true, nil
}

// spendChild is the run's part of the write that takes a child's end: the share
// comes back, less what the child has spent.
func (d *delivered) spendChild(step *record.Step, spent int64) store.Op {
	held, nonce := step.Reserved, step.Nonce
	step.Reserved, step.Nonce = 0, ""
	spent, step.ChildSpent = spent-step.ChildSpent, spent // a child that is driven on has spent all that it spent before
	step.Cost += spent
	op := store.Add(record.RunKey(d.run.ID), map[string]int64{record.RunLeft: held - spent, record.RunSpent: spent}, record.OpenAt(d.run.Gen)...)
	if nonce != "" {
		op = op.Dropping(record.Reservation(nonce))
	}
	return op
}

// children calls visit for the children of a run.
func (c *Coordinator) children(ctx context.Context, run string, visit func(*record.Child) error) error {
	var found []*record.Child
	err := c.each(ctx, store.Query{Part: record.RunKey(run).Part, Prefix: record.ChildPrefix}, func(item *store.Item) error {
		child, err := record.DecodeChild(item)
		found = append(found, child)
		return err
	})
	for _, child := range found {
		if err != nil {
			return err
		}
		err = visit(child)
	}
	return err
}

// cancelChildren cancels what a run that is over or being cancelled has started (R10).
func (c *Coordinator) cancelChildren(ctx context.Context, run string, why string) error {
	return c.children(ctx, run, func(child *record.Child) error {
		_, err := c.cancel(ctx, PersonRequest{Run: child.ID, By: "run " + run, Reason: why})
		if errors.Is(err, ErrRunClosed) || errors.Is(err, ErrNoRun) {
			return nil
		}
		return err
	})
}

// watchChildren tells parents what they do not know yet.
func (c *Coordinator) watchChildren(ctx context.Context, tick *Tick) error {
	var open []*record.Child
	err := c.each(ctx, store.Query{Index: store.ByList, Part: record.ChildrenOpen}, func(item *store.Item) error {
		child, err := record.DecodeChild(item)
		open = append(open, child)
		return err
	})
	failed := []error{err}
	for _, child := range open {
		tick.Looked++
		failed = append(failed, c.tellParent(ctx, child.ID))
	}
	return errors.Join(failed...)
}

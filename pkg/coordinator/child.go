package coordinator

import (
	"context"
	"errors"
	"fmt"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/protocol"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/gate"
	"github.com/outerloop-dev/outerloop/pkg/loop"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// parenting is what starting a child came to: the child to go on with, or what
// the state is told at once.
type parenting struct {
	ruling
	child   string
	redrive bool
}

// startChild runs another loop as a step (R10). The child's run is made of the
// parent's run, the step's place and its number, so that asking twice is one
// child; its input, its share of the parent's money and the state's token are
// written with it. The child's end completes the token.
//
//nolint:unparam // the shape of every operation
func (c *Coordinator) startChild(ctx context.Context, op operation) (gate.Verdict, error) {
	out, err := deciding(ctx, c, "starting the sub-loop of "+op.Step, func(ctx context.Context) (parenting, error) {
		d, err := c.receive(ctx, op.delivery())
		if err != nil {
			return parenting{}, err
		}
		ruled, done, err := d.atDoor(ctx)
		if err != nil || done {
			return parenting{ruling: ruled}, err
		}
		return d.startChild(ctx, op)
	})
	switch {
	case err != nil:
		return gate.Verdict{}, err
	case out.child == "":
		return gate.Verdict{}, c.complete(ctx, op.Token, out.verdict)
	}
	if out.redrive {
		_, err = c.Redrive(ctx, PersonRequest{Run: out.child, By: "retry of " + op.Run})
	} else {
		err = c.startExecution(ctx, out.child)
	}
	if err != nil && !errors.Is(err, ErrNotPossible) {
		return gate.Verdict{}, err
	}
	return gate.Verdict{}, c.tellParent(ctx, out.child)
}

func (d *delivered) startChild(ctx context.Context, op operation) (parenting, error) {
	s := d.step()
	if s != nil && s.State == outerloop.StepParked {
		return d.approvedChild(ctx, s)
	}
	if s != nil && s.GaveUp != nil {
		return parenting{ruling: rules(giveUp(s))}, nil
	}
	if s != nil && s.Child != "" {
		out, known, err := d.sameChild(ctx, op, s)
		if err != nil || known {
			return out, err
		}
	}
	step := d.record(ctx)
	content, err := d.workInput(ctx)
	if err == nil {
		var child *starting
		if child, err = d.childRun(ctx, step, content); err == nil {
			return d.createChild(ctx, op, step, child)
		}
	}
	f, ok := faultOf(err)
	if wrong := (*InputError)(nil); errors.As(err, &wrong) {
		f, ok = &fault{class: outerloop.ClassMissingInput, cause: wrong.Error(), final: true}, true
	}
	if !ok {
		return parenting{}, err
	}
	return d.childFault(ctx, step, f)
}

// approvedChild settles a sub-loop's output that people were asked about.
func (d *delivered) approvedChild(ctx context.Context, s *record.Step) (parenting, error) {
	ap, err := d.approval(ctx, s)
	switch {
	case err != nil:
		return parenting{}, err
	case ap == nil || !ap.Decided():
		return parenting{ruling: rules(gate.Verdict{Error: outerloop.ErrorNeedsApproval, Cause: "approval " + s.Approval + " is not decided"})}, nil
	case ap.Decision == record.DecisionApproved:
		out, err := (&call{delivered: d}).settleApproved(ctx, ap)
		return parenting{ruling: rules(out.verdict())}, err
	case s.Gen < d.run.Gen:
		step := d.record(ctx)
		archive := step.Archive()
		protocol.Revisit(step, d.run.Gen)
		if err := d.c.write(ctx, step.Put(), archive, d.checkRun()); err != nil {
			return parenting{}, err
		}
		return parenting{}, &store.ConditionError{Key: record.StepKey(d.run.ID, d.at)} // begin on the new visit
	}
	return parenting{ruling: rules(gate.Verdict{Error: outerloop.ErrorGiveUp, Cause: declined(ap)})}, nil
}

// childFault leaves the step to its rule.
func (d *delivered) childFault(ctx context.Context, step *record.Step, f *fault) (parenting, error) {
	step.Gen = d.run.Gen
	step.GaveUp = &record.Fault{Error: f.class.ErrorName(), Cause: cut(f.cause, causeLimit), Ask: f.ask, Halt: f.halt, To: f.to}
	step.Note(record.Entry{At: d.c.now(), Kind: "failed", Rule: cut(f.cause, logText), Outcome: f.class.ErrorName()})
	if err := d.c.write(ctx, step.Put(), d.checkRun()); err != nil {
		return parenting{}, err
	}
	return parenting{ruling: rules(giveUp(step))}, nil
}

// sameChild goes on with the child that the step has: its end goes to the new
// token. One that failed and is to be tried again is redriven, so that what it
// has done stays done; false: a cancelled one needs a successor.
func (d *delivered) sameChild(ctx context.Context, op operation, s *record.Step) (parenting, bool, error) {
	items, err := d.c.get(ctx, record.ChildKey(d.run.ID, s.Child), record.RunKey(s.Child))
	if err != nil {
		return parenting{}, false, fmt.Errorf("reading the sub-loop's run: %w", err)
	}
	link, err := record.DecodeChild(items[0])
	if err != nil {
		return parenting{}, false, err
	}
	run, err := record.DecodeRun(items[1])
	if err != nil || link == nil || run == nil {
		return parenting{}, false, err
	}
	failed := run.Status == outerloop.StatusFailed && link.Told
	if failed && run.Reason == "cancelled" {
		return parenting{}, false, nil
	}
	link.Gen, link.Token, link.Next, link.Told = op.Gen, op.Token, op.Next, false
	step := d.record(ctx)
	step.Gen = d.run.Gen
	err = d.c.write(ctx, link.Put(), step.Put(), d.checkRun())
	return parenting{child: s.Child, redrive: failed}, true, err
}

// childRun is the run of the sub-loop that this run has pinned.
func (d *delivered) childRun(ctx context.Context, step *record.Step, input record.Value) (*starting, error) {
	hash := d.run.Subs[d.node.Step.Loop]
	if hash == "" {
		var err error
		if hash, err = d.c.cfg.Definitions.Latest(ctx, d.node.Step.Loop); err != nil {
			return nil, err
		}
	}
	def, err := d.c.cfg.Definitions.Definition(ctx, hash)
	if err != nil {
		return nil, err
	}
	raw, err := d.c.raw(ctx, input)
	if err != nil {
		return nil, err
	}
	now := d.c.now()
	name, number := step.Name, step.Attempts+1
	s := &starting{def: def, run: &record.Run{
		Loop: def.Loop.Name, Version: def.Loop.Version, Definition: hash, Status: outerloop.StatusNew, Gen: 1,
		AsOf: d.run.AsOf, Started: now, Trigger: "loop", Subs: d.run.Subs,
		Parent: &record.Parent{Run: d.run.ID, Address: d.at, Path: d.Step, Item: d.Item},
	}}
	if err := d.c.takeInput(ctx, s, raw); err != nil {
		return nil, err
	}
	s.run.Subject = d.run.Subject + "/" + name
	if number > 1 {
		s.run.Subject += fmt.Sprintf("#%d", number)
	}
	s.run.ID = outerloop.RunID(def.Loop.Name, fmt.Sprintf("%s\x00%s\x00%d", d.run.ID, d.at, number))
	if s.run.Deadline, err = s.deadline(ctx, now); err != nil {
		return nil, err
	}
	if by := d.answerBy(); by.Before(s.run.Deadline) {
		s.run.Deadline = by
	}
	share, err := d.share(def)
	if err != nil {
		return nil, err
	}
	s.run.Numbers = budgetNumbers(def.Loop.Budget)
	s.run.Numbers[record.RunLeft] = share
	s.run.Note(record.Entry{At: now, Kind: "started", Rule: "step " + step.Name + " of " + d.run.ID, Input: s.run.InputHash})
	return s, nil
}

// share is the child's part of the run's money: what the step declares, else
// the child's own budget as far as the run's goes.
func (d *delivered) share(def *loop.Definition) (int64, error) {
	left, share := d.run.Numbers[record.RunLeft], def.Loop.Budget.Cost.Micro
	if b := d.node.Step.Budget; b != nil && b.Cost.Micro < share {
		share = b.Cost.Micro
		if left < share {
			return 0, d.exhausted(fmt.Sprintf("the budget has %s left, the sub-loop's share is %s", money(left), money(share)))
		}
	}
	return min(share, left), nil
}

// createChild writes the child, the link to it, the step and the money in one.
func (d *delivered) createChild(ctx context.Context, op operation, step *record.Step, child *starting) (parenting, error) {
	run := child.run
	share := run.Numbers[record.RunLeft]
	link := &record.Child{Parent: *run.Parent, ID: run.ID, Gen: op.Gen, Token: op.Token, Next: op.Next, Since: run.Started}
	step.Child, step.Gen, step.Worker, step.Nonce, step.Reserved = run.ID, d.run.Gen, "", childNonce(run.ID), share
	step.Attempts++
	step.Started = earliest(step.Started, run.Started)
	step.Note(record.Entry{At: run.Started, Kind: "sub-loop", Rule: "run " + run.ID + " of " + run.Loop, Input: run.InputHash})
	money := store.Add(record.RunKey(d.run.ID), map[string]int64{record.RunLeft: -share, record.Reservation(step.Nonce): share},
		append(record.OpenAt(d.run.Gen), store.AtLeast(record.RunLeft, share))...)
	draws, err := d.c.draw(ctx, child.def, run)
	var none *BudgetError
	if errors.As(err, &none) {
		return d.childFault(ctx, d.record(ctx), (&view{def: child.def}).exhausted(none.Error()))
	}
	if err != nil {
		return parenting{}, err
	}
	ops := append([]store.Op{run.Put(), link.Put(), step.Put(), money}, draws...)
	slot, err := one(ctx, d.c, record.LoopKey(run.Loop), record.DecodeLoop)
	if err != nil {
		return parenting{}, err
	}
	if slot == nil { // it lists the loop among those that ever ran
		ops = append(ops, (&record.Loop{Name: run.Loop}).Put())
	}
	if err := d.c.write(ctx, ops...); err != nil {
		return parenting{}, err
	}
	d.c.pins.put(run.ID, run.Definition)
	return parenting{child: run.ID}, nil
}

func childNonce(run string) string { return "child/" + run }

// tellParent hands the end of a sub-loop's run to the step that it does: its
// output, or its failure, which the step's rule decides. It may be called any
// number of times; a run that is open, or nobody's child, is left alone.
func (c *Coordinator) tellParent(ctx context.Context, id string) error {
	run, err := one(ctx, c, record.RunKey(id), record.DecodeRun)
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
	if err := c.complete(ctx, out.link.Token, out.verdict); err != nil {
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
	}
	step := d.record(ctx)
	money := d.spendChild(step, child.Numbers[record.RunSpent])
	if child.Status != outerloop.StatusCompleted {
		return d.childFailed(ctx, step, money, fmt.Sprintf("run %s of %s failed: %s", child.ID, child.Loop, child.Reason))
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
		return d.childFailed(ctx, d.record(ctx), money, f.cause)
	}
	return verdict, true, err
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

func (d *delivered) childFailed(ctx context.Context, step *record.Step, money store.Op, cause string) (gate.Verdict, bool, error) {
	step.Reserved, step.Nonce = 0, ""
	step.GaveUp = &record.Fault{Error: outerloop.ErrorFatal, Cause: cut(cause, causeLimit)}
	step.Cause = step.GaveUp.Error + ": " + step.GaveUp.Cause
	step.Note(record.Entry{At: d.c.now(), Kind: "failed", Rule: cut(cause, logText), Outcome: outerloop.ErrorFatal})
	if err := d.c.write(ctx, step.Put(), money); err != nil {
		return gate.Verdict{}, false, err
	}
	return giveUp(step), true, nil
}

// spendChild is the run's part of the write that takes a child's end: the share
// comes back, less what the child has spent.
func (d *delivered) spendChild(step *record.Step, spent int64) store.Op {
	held, nonce := step.Reserved, step.Nonce
	step.Reserved, step.Nonce = 0, ""
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
		_, err := c.Cancel(ctx, PersonRequest{Run: child.ID, By: "run " + run, Reason: why})
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

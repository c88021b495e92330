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
		_, err = c.redrive(ctx, PersonRequest{Run: out.child, By: "retry of " + op.Run})
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
	case ap == nil || !ap.Decided() && !ap.Void:
		return parenting{ruling: rules(gate.Verdict{Error: outerloop.ErrorNeedsApproval, Cause: "approval " + s.Approval + " is not decided"})}, nil
	case ap.Decision == record.DecisionApproved:
		out, err := (&call{delivered: d}).settleApproved(ctx, ap)
		return parenting{ruling: rules(out.verdict())}, err
	case ap.Void || s.Gen < d.run.Gen:
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
	failed := run.Status == outerloop.StatusFailed && (link.Told || s.ChildGen >= run.Gen)
	if failed && wasCancelled(run) {
		return parenting{}, false, nil
	}
	link.Before = earlierOf(link.Gen, link.Before, link.Token, op)
	link.Gen, link.Token, link.Next, link.Told = op.Gen, op.Token, op.Next, false
	step := d.record(ctx)
	step.Gen = d.run.Gen
	runOp := d.checkRun()
	if share := run.Numbers[record.RunLeft]; failed && share > 0 && step.Nonce == "" {
		if d.run.Numbers[record.RunLeft] < share {
			out, err := d.childFault(ctx, step, d.exhausted(fmt.Sprintf("the budget has %s left, the sub-loop's share is %s", money(d.run.Numbers[record.RunLeft]), money(share))))
			return out, true, err
		}
		step.Nonce, step.Reserved = childNonce(run.ID), share
		step.Attempts++
		runOp = d.reserveChild(step)
	}
	err = d.c.write(ctx, link.Put(), step.Put(), runOp)
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
	step.ChildGen, step.ChildSpent = 0, 0
	step.Attempts++
	step.Started = earliest(step.Started, run.Started)
	step.Note(record.Entry{At: run.Started, Kind: "sub-loop", Rule: "run " + run.ID + " of " + run.Loop, Input: run.InputHash})
	money := d.reserveChild(step)
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

// reserveChild takes the sub-loop's share of the run's money.
func (d *delivered) reserveChild(step *record.Step) store.Op {
	return store.Add(record.RunKey(d.run.ID), map[string]int64{record.RunLeft: -step.Reserved, record.Reservation(step.Nonce): step.Reserved},
		append(record.OpenAt(d.run.Gen), store.AtLeast(record.RunLeft, step.Reserved))...)
}

func childNonce(run string) string { return "child/" + run }

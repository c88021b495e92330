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

// surplus says that a step is part of a block that has enough (R4): it ends
// cancelled, at whatever door it stands.
func (v *view) surplus(ctx context.Context, n *loop.Node, items []int) error {
	for p := n.Parent; p != nil; p = p.Parent {
		if p.Join == nil || p.Join.Enough == 0 {
			continue
		}
		out, err := v.joined(ctx, p, items[:p.Depth])
		if err != nil {
			return err
		}
		if out.settled && out.outcome == outerloop.OutcomeCompleted {
			return &atDoor{outcome: outerloop.OutcomeCancelled, reason: fmt.Sprintf("%s has enough", p.Path)}
		}
	}
	return nil
}

// seeWhetherEnough joins the blocks around a step that was just settled, where
// that may end the rest of them. What fails is found out with the next step.
func (d *delivered) seeWhetherEnough(ctx context.Context) {
	for p := d.node.Parent; p != nil; p = p.Parent {
		if p.Join == nil || p.Join.Enough == 0 {
			continue
		}
		now, err := d.c.receive(ctx, d.Delivery)
		if err == nil {
			err = now.surplus(ctx, d.node, d.index)
		}
		var end *atDoor
		if err != nil && !errors.As(err, &end) && !errors.Is(err, errNotSettled) {
			d.c.cfg.Log.Warn("whether a block has enough is found out later", "block", p.Path, "run", d.run.ID, "err", err)
		}
		return
	}
}

// cancelRest ends what is under way in a block that has enough: what waits for
// a person, an event or a sub-loop is told, a running attempt is superseded.
// An action that is executing is left to end by itself.
func (v *view) cancelRest(ctx context.Context, n *loop.Node, items []int) error {
	var open []*record.Step
	q := store.Query{Part: record.RunKey(v.run.ID).Part, Prefix: record.StepsPrefix(address(n, items)), Limit: 500}
	err := v.c.each(ctx, q, func(item *store.Item) error {
		step, err := record.DecodeStep(item)
		if err == nil && step.State != outerloop.StepSettled && step.Block == nil {
			open = append(open, step)
		}
		return err
	})
	failed := []error{err}
	for _, step := range open {
		tokens, err := deciding(ctx, v.c, "cancelling "+step.Name, func(ctx context.Context) ([]string, error) {
			d, err := v.c.receive(ctx, gate.Delivery{Run: v.run.ID, Gen: v.run.Gen, Step: step.Path, Item: step.Item})
			if err != nil {
				return nil, err
			}
			return d.cancelStep(ctx, n.Path+" has enough")
		})
		if err == nil {
			cancelled := outerloop.OutcomeCancelled
			err = v.c.completeAll(ctx, gate.Verdict{Note: gate.Note{Outcome: &cancelled}}, tokens...)
		}
		if err == nil && step.Child != "" {
			err = v.c.cancelChildren(ctx, v.run.ID, n.Path+" has enough")
		}
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}

// cancelStep settles a step as cancelled and answers the tokens that wait, if any.
func (d *delivered) cancelStep(ctx context.Context, why string) (tokens []string, err error) {
	s := d.step()
	if s == nil || s.State == outerloop.StepSettled || !d.run.Open() {
		return nil, nil
	}
	if s.Entry != "" && !d.review {
		a, err := one(ctx, d.c, record.ActionKey(d.run.Loop, s.Entry), record.DecodeAction)
		if err != nil || !protocol.Passable(a) {
			return nil, err
		}
	}
	step := d.record(ctx)
	old := d.freed(step.ReservedAs())
	step.Reserved, step.Payer = 0, ""
	deltas := map[string]int64{record.RunLeft: old.amount}
	ops, tokens, err := d.voidWaits(ctx, s, deltas)
	if err != nil {
		return nil, err
	}
	run := store.Add(record.RunKey(d.run.ID), deltas, append(record.OpenAt(d.run.Gen), old.where...)...).Dropping(old.names...)
	protocol.Release(step, d.run.Gen)
	step.Reason = why
	_, err = d.conclude(ctx, step, ending{outcome: outerloop.OutcomeCancelled, rule: why, run: &run, more: ops})
	return tokens, err
}

// voidWaits closes what a step has asked people or waits for.
func (d *delivered) voidWaits(ctx context.Context, s *record.Step, deltas map[string]int64) (ops []store.Op, tokens []string, err error) {
	ap, err := d.approval(ctx, s)
	if err != nil {
		return nil, nil, err
	}
	if ap != nil && ap.Address == d.at && !ap.Decided() && !ap.Void {
		ap.Void, tokens = true, append(ap.Before, ap.Token)
		deltas[record.RunAwaiting]--
		ops = append(ops, ap.Put())
	}
	if s.Exception != "" {
		exc, err := one(ctx, d.c, record.ExceptionKey(s.Exception), record.DecodeException)
		if err != nil {
			return nil, nil, err
		}
		if exc != nil && !exc.Resolved() && !exc.Blocks {
			exc.Resolution, exc.By, exc.At = WayClose, "enough", d.c.now()
			tokens = append(tokens, append(exc.Before, exc.Token)...)
			deltas[record.RunQuestions]--
			ops = append(ops, exc.Put())
		}
	}
	if d.node.Kind == loop.KindWait {
		key := record.WaiterKey(d.node.Wait.Event, d.run.ID, d.at)
		w, err := one(ctx, d.c, key, record.DecodeWaiter)
		if err != nil || w == nil {
			return ops, tokens, err
		}
		ops, tokens = append(ops, store.Remove(key, w.Stored)), append(tokens, append(w.Before, w.Token)...)
	}
	return ops, tokens, nil
}

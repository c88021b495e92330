package coordinator

import (
	"context"
	"errors"
	"fmt"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/protocol"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/gate"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// await registers a wait for an event with the state's token (R9). An event
// that came before, but not before the time that the run is about, counts: it
// is looked for after the registration is written, so that none falls between.
//
//nolint:unparam // the shape of every operation
func (c *Coordinator) await(ctx context.Context, op operation) (gate.Verdict, error) {
	var waiter *record.Waiter
	out, err := deciding(ctx, c, "waiting in "+op.Step, func(ctx context.Context) (ruling, error) {
		d, err := c.receive(ctx, op.delivery())
		if err != nil {
			return ruling{}, err
		}
		var out ruling
		out, waiter, err = d.await(ctx, op)
		return out, err
	})
	switch {
	case err != nil:
		return gate.Verdict{}, err
	case out.waits:
		return gate.Verdict{}, c.lookBack(ctx, waiter)
	}
	return gate.Verdict{}, c.complete(ctx, op.Token, out.verdict)
}

func (d *delivered) await(ctx context.Context, op operation) (ruling, *record.Waiter, error) {
	out, done, err := d.atDoor(ctx)
	if err != nil || done {
		return out, nil, err
	}
	now := d.c.now()
	key := record.WaiterKey(d.node.Wait.Event, d.run.ID, d.at)
	w, err := one(ctx, d.c, key, record.DecodeWaiter)
	if err != nil {
		return ruling{}, nil, fmt.Errorf("reading the wait: %w", err)
	}
	if w == nil {
		w = &record.Waiter{
			Event: d.node.Wait.Event, Run: d.run.ID, Address: d.at, Path: d.Step, Item: d.Item,
			Since: earliest(d.run.Started, d.run.AsOf), Until: now.Add(d.node.Wait.Within),
		}
	}
	w.Before = earlierOf(w.Gen, w.Before, w.Token, op)
	w.Gen, w.Token, w.Next = op.Gen, op.Token, op.Next
	ops := []store.Op{w.Put(), d.checkRun()}
	if s := d.step(); s == nil || s.Gen < d.run.Gen {
		step := d.record(ctx)
		step.Gen, step.Started = d.run.Gen, earliest(step.Started, now)
		step.Note(record.Entry{At: now, Kind: "waiting", Rule: "event " + w.Event + " where " + d.node.Wait.Match.Source()})
		ops = append(ops, step.Put())
	}
	if err := d.c.write(ctx, ops...); err != nil {
		return ruling{}, nil, err
	}
	return ruling{waits: true}, w, nil
}

// atDoor answers a state of the coordinator's own whose step has nothing to do:
// the run does not go on, the step is settled, or it is not needed.
func (d *delivered) atDoor(ctx context.Context) (ruling, bool, error) {
	if !d.run.Open() || d.Gen != d.run.Gen {
		return rules(d.stop(d.c.now())), true, nil
	}
	s := d.step()
	protocol.Renew(s, d.run.Gen)
	if s != nil && s.State == outerloop.StepSettled {
		out, err := d.recorded(ctx)
		return rules(out.verdict()), true, err
	}
	missing, reason, err := d.due(ctx)
	if err == nil && reason == "" {
		reason, err = d.notWhen(ctx, d.node, d.index)
	}
	if verdict, early := notDueVerdict(err); early {
		return rules(verdict), true, nil
	}
	outcome := outerloop.OutcomeNotNeeded
	if end := (*atDoor)(nil); errors.As(err, &end) {
		outcome, reason, err = end.outcome, end.reason, nil
	}
	var short *joinError
	if errors.As(err, &short) {
		out, err := d.blockedBy(ctx, err)
		return rules(out.verdict()), true, err
	}
	if f, ok := faultOf(err); ok {
		return rules(gate.Verdict{Error: f.class.ErrorName(), Cause: f.cause}), true, nil
	}
	if err != nil || reason == "" {
		return ruling{}, false, err
	}
	step := d.record(ctx)
	step.Missing, step.Reason = missing, reason
	verdict, err := d.conclude(ctx, step, ending{outcome: outcome, rule: reason})
	return rules(verdict), true, err
}

// lookBack offers the events that came before the wait was registered.
func (c *Coordinator) lookBack(ctx context.Context, w *record.Waiter) error {
	q := store.Query{Part: record.EventsPart(w.Event), From: store.TimeKey(w.Since)}
	return c.each(ctx, q, func(item *store.Item) error {
		e, err := record.DecodeEvent(item)
		if err != nil {
			return err
		}
		return c.offer(ctx, record.WaiterKey(w.Event, w.Run, w.Address), e)
	})
}

// offer settles a wait's step with an event that matches. A wait whose step or
// run is over is forgotten.
func (c *Coordinator) offer(ctx context.Context, key store.Key, e *record.Event) error {
	w, err := deciding(ctx, c, "offering event "+e.Name, func(ctx context.Context) (*record.Waiter, error) {
		w, err := one(ctx, c, key, record.DecodeWaiter)
		if err != nil || w == nil || e.At.Before(w.Since) || !w.Met.IsZero() {
			return nil, err
		}
		d, err := c.receive(ctx, gate.Delivery{Run: w.Run, Gen: w.Gen, Step: w.Path, Item: w.Item, Next: w.Next})
		if err != nil {
			return nil, err
		}
		s := d.step()
		switch {
		case d.run.Status.Closed() || s != nil && s.State == outerloop.StepSettled:
			return nil, c.write(ctx, store.Remove(key, w.Stored))
		case !d.run.Open() || w.Gen != d.run.Gen:
			return nil, nil // the next generation registers anew and looks back
		}
		return w, d.meet(ctx, w, e)
	})
	if err != nil || w == nil || w.Met.IsZero() {
		return err
	}
	return c.repairWaiter(ctx, key)
}

// meet settles the step when the event matches.
func (d *delivered) meet(ctx context.Context, w *record.Waiter, e *record.Event) error {
	data, err := parse("event "+e.Name, e.Data)
	if err != nil {
		return err
	}
	if err := d.readFacts(ctx, &prepared{}); err != nil {
		if _, said := faultOf(err); !said {
			return err
		}
	}
	work := &after{event: data, output: data}
	yes, text, err := d.truth(ctx, d.node.Wait.Match, d.index, work)
	if f, ok := faultOf(err); ok {
		d.c.cfg.Log.Warn("an event could not be compared with a wait", "event", e.Name, "id", e.ID, "run", w.Run, "step", w.Path, "reason", f.cause)
		return nil
	}
	if err != nil || !yes {
		return err
	}
	step := d.record(ctx)
	if step.Output, err = d.c.keepRaw(ctx, e.Data); err != nil {
		return err
	}
	step.Gen, step.Confidence = d.run.Gen, outerloop.ConfidenceHigh
	w.Met = d.c.now()
	_, err = d.conclude(ctx, step, ending{
		outcome: outerloop.OutcomeCompleted, work: work, rule: "event " + e.ID + ": " + text, more: []store.Op{w.Put()},
	})
	return err
}

// repairWaiter tells the machine that the event came, and forgets the wait.
func (c *Coordinator) repairWaiter(ctx context.Context, key store.Key) error {
	w, err := one(ctx, c, key, record.DecodeWaiter)
	if err != nil || w == nil || w.Met.IsZero() {
		return err
	}
	d, err := c.receive(ctx, gate.Delivery{Run: w.Run, Gen: w.Gen, Step: w.Path, Item: w.Item, Next: w.Next})
	if err != nil {
		return err
	}
	verdict := d.stop(c.now())
	if s := d.step(); s != nil && s.State == outerloop.StepSettled && d.run.Open() {
		out, err := d.recorded(ctx)
		if err != nil {
			return err
		}
		verdict = out.verdict()
	}
	if err := c.completeAll(ctx, verdict, append(w.Before, w.Token)...); err != nil {
		return err
	}
	if err := c.write(ctx, store.Remove(key, w.Stored)); err != nil && !errors.Is(err, store.ErrCondition) {
		return fmt.Errorf("forgetting a wait: %w", err)
	}
	return nil
}

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

// expiry is who decided when nobody did.
const expiry = "expiry"

// register takes the token of a state that waits for an approval. A decision
// that came first is delivered at once.
func (c *Coordinator) register(ctx context.Context, op operation) (gate.Verdict, error) {
	return deciding(ctx, c, "registering "+op.Step, func(ctx context.Context) (gate.Verdict, error) {
		d, err := c.receive(ctx, op.delivery())
		if err != nil {
			return gate.Verdict{}, err
		}
		if !d.run.Open() || d.Gen != d.run.Gen {
			verdict := d.stop(c.now())
			return gate.Verdict{}, c.complete(ctx, op.Token, verdict)
		}
		ap, err := d.approval(ctx, d.step())
		if err != nil {
			return gate.Verdict{}, err
		}
		if ap == nil || ap.Void && !ap.Decided() || d.step().State != outerloop.StepParked {
			// Nothing waits for a decision: the state that asked looks again.
			return gate.Verdict{}, c.complete(ctx, op.Token, gate.Verdict{})
		}
		if !protocol.Register(ap, op.Gen, op.Token) {
			return gate.Verdict{}, c.complete(ctx, op.Token, d.stop(c.now()))
		}
		if err := c.write(ctx, ap.Put()); err != nil {
			return gate.Verdict{}, err
		}
		ap.Stored++
		return gate.Verdict{}, c.deliver(ctx, ap)
	})
}

// deliver completes the token of a decided approval and notes that it did.
// Whoever sees decision and token does it; doing it twice harms nobody.
func (c *Coordinator) deliver(ctx context.Context, ap *record.Approval) error {
	if !ap.Decided() || ap.Token == "" || ap.Delivered {
		return nil
	}
	verdict := gate.Verdict{}
	_, _, isCall := callPath(ap.Path)
	switch {
	case isCall: // the caller runs again and hears what was decided
	case ap.Decision != record.DecisionApproved:
		verdict = gate.Verdict{Error: outerloop.ErrorGiveUp, Cause: declined(ap)}
	case ap.Answer:
		var err error
		if verdict, err = c.settleAnswer(ctx, ap); err != nil {
			return err
		}
	}
	if err := c.completeAll(ctx, verdict, append(ap.Before, ap.Token)...); err != nil {
		return err
	}
	ap.Delivered = true
	if err := c.write(ctx, ap.Put()); err != nil && !errors.Is(err, store.ErrCondition) {
		return fmt.Errorf("noting the delivery: %w", err)
	}
	return nil
}

// expire records that nobody decided in time, as long as nobody has and the
// run is open; what stands there afterwards is answered.
func (v *view) expire(ctx context.Context, n *loop.Node, ap *record.Approval) error {
	if ap.Decided() {
		return nil
	}
	decision := record.DecisionExpired
	if n.Approval != nil && n.Approval.Expired == loop.EndingProceed {
		decision = record.DecisionApproved
	}
	protocol.Decide(ap, decision, expiry, "nobody decided until "+ap.Expires.UTC().Format("2006-01-02 15:04 MST"), v.c.now())
	where := record.OpenAt(v.run.Gen)
	if err := v.c.write(ctx, ap.Put(), store.Add(record.RunKey(v.run.ID), map[string]int64{record.RunAwaiting: -1}, where...)); err != nil {
		return err
	}
	ap.Stored++
	return nil
}

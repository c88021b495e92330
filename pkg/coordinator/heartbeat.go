package coordinator

import (
	"context"
	"fmt"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/protocol"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/gate"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// Heartbeat extends the lease of the running attempt, or tells it to stop.
func (g *workerGate) Heartbeat(ctx context.Context, req gate.HeartbeatRequest) (gate.HeartbeatAnswer, error) {
	return deciding(ctx, g.c, "heartbeat of "+req.Step, func(ctx context.Context) (gate.HeartbeatAnswer, error) {
		q, err := g.open(ctx, req.Call)
		if err != nil {
			return gate.HeartbeatAnswer{}, err
		}
		s := q.step()
		if !protocol.Owns(s, q.attempt, q.fence) || !q.run.Open() || q.Gen != q.run.Gen {
			return gate.HeartbeatAnswer{Stop: true}, nil
		}
		step := s.Clone()
		protocol.Beat(step, q.c.now(), q.c.cfg.Lease)
		if step.LeaseMs > s.LeaseMs {
			if err := q.c.write(ctx, step.Put()); err != nil {
				return gate.HeartbeatAnswer{}, err
			}
		}
		return gate.HeartbeatAnswer{Lease: time.UnixMilli(max(step.LeaseMs, s.LeaseMs)).UTC()}, nil
	})
}

// Abandon says that whoever had a delivery's step is certainly dead, and
// nothing of it can have an effect any more: an engine whose workers died with
// it calls it once for each delivery that was in a worker, before it delivers
// again. A running step is open again at once and counts a crash; its executing
// action is of unknown outcome at once; so are the tool calls that it was
// making. A step that nobody runs stays as it is. Never call it for workers
// that may live.
func (c *Coordinator) Abandon(ctx context.Context, in gate.Delivery) error {
	calls, err := c.runningCalls(ctx, in)
	if err != nil {
		return err
	}
	for _, call := range calls { // first: once the step is open, nobody asks again
		if err := c.Abandon(ctx, call); err != nil {
			return err
		}
	}
	_, err = deciding(ctx, c, "abandoning "+in.Step, func(ctx context.Context) (struct{}, error) {
		var none struct{}
		d, err := c.receive(ctx, in)
		if err != nil {
			return none, err
		}
		s := d.step()
		if s == nil || s.State != outerloop.StepRunning {
			return none, nil
		}
		ops, err := d.abandon(ctx, s)
		if err != nil || len(ops) == 0 {
			return none, err
		}
		if err := c.write(ctx, ops...); err != nil {
			return none, err
		}
		d.releaseResource(ctx, s)
		return none, nil
	})
	return err
}

// abandon are the writes that let go of a dead attempt's step. In a closed run
// no step changes; what its action came to is still to be found out.
func (d *delivered) abandon(ctx context.Context, s *record.Step) ([]store.Op, error) {
	var ops []store.Op
	action, err := d.lost(ctx, s, s.Nonce)
	if err != nil {
		return nil, err
	}
	if action != nil {
		ops = append(ops, *action)
	}
	if d.run.Status.Closed() {
		return ops, nil
	}
	step := d.record(ctx)
	step.Tries.Crash++
	runOp := d.returnReservationWhere(step, store.Equal(record.RunClosed, 0))
	protocol.Release(step, s.Gen)
	if step.Tries.Crash > d.c.cfg.CrashLimit {
		step.GaveUp = &record.Fault{Error: outerloop.ErrorCrashed, Cause: fmt.Sprintf("its worker died %d times without an answer", step.Tries.Crash)}
	}
	step.Note(record.Entry{At: d.c.now(), Kind: "abandoned", Worker: step.Worker, Outcome: outerloop.ErrorCrashed})
	return append(ops, step.Put(), runOp), nil
}

// lost makes the executing action of a dead attempt unknown.
func (d *delivered) lost(ctx context.Context, s *record.Step, owner string) (*store.Op, error) {
	if s.Entry == "" {
		return nil, nil
	}
	a, err := one(ctx, d.c, record.ActionKey(d.run.Loop, s.Entry), record.DecodeAction)
	if err != nil || a == nil || a.State != record.ActionExecuting || a.Owner != owner {
		return nil, err
	}
	protocol.Lost(a)
	op := a.Put()
	return &op, nil
}

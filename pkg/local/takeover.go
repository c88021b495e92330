package local

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/gate"
	"github.com/outerloop-dev/outerloop/pkg/local/durable"
)

// takeOver finds what was under way when the last owner ended. Its workers died
// with it, for the lock says that it is gone: what they held is free at once,
// and what they were doing is delivered again.
func (e *Engine) takeOver(ctx context.Context) error {
	if err := e.core.Recover(ctx); err != nil {
		return err
	}
	for _, call := range e.core.Calls() {
		e.line(call)
		if _, isWorker := workerOf(call.Function); !isWorker {
			continue
		}
		if err := e.abandon(ctx, call.Payload); err != nil {
			return err
		}
	}
	flight, err := e.core.InFlight(ctx)
	if err != nil {
		return err
	}
	for _, m := range flight {
		if err := e.abandon(ctx, m.Body); err != nil {
			return err
		}
	}
	return nil
}

// abandon lets go of the step of a delivery that died with its worker.
func (e *Engine) abandon(ctx context.Context, body json.RawMessage) error {
	var d gate.Delivery
	_ = json.Unmarshal(body, &d) // what cannot be read is no delivery of a loop
	if d.Run == "" {
		return nil
	}
	err := e.coord.Abandon(ctx, d)
	if coordinator.BelongsNowhere(err) { // who receives it says so
		return nil
	}
	if err != nil {
		return fmt.Errorf("taking over step %s of %s: %w", d.Step, d.Run, err)
	}
	return nil
}

// line puts a call in its line.
func (e *Engine) line(call durable.Call) {
	if _, isWorker := workerOf(call.Function); isWorker {
		e.direct = append(e.direct, call)
	} else {
		e.gates = append(e.gates, call)
	}
}

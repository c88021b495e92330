package coordinator

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/gate"
	"github.com/outerloop-dev/outerloop/pkg/loop"
)

// DefinitionOf is the definition that a run has pinned, for what a runtime has
// to give its worker beside the task. After a call of the run's gate it reads
// nothing. Errors: ErrNoRun, ErrNoDefinition.
func (c *Coordinator) DefinitionOf(ctx context.Context, run string) (*loop.Definition, error) {
	return c.definitionOf(ctx, run)
}

// ProbeTask is the envelope that a monitor's probe is run with, outside of any
// run: no input, facts or budget.
func ProbeTask(def *loop.Definition, probe *loop.Worker, now, deadline time.Time) gate.Task {
	return gate.Task{
		Run: "monitor", Loop: def.Loop.Name, Step: "monitor", Visit: 1, Attempt: 1, Fence: 1, Worker: probe.Charter.Worker,
		AsOf: now, Deadline: deadline, Lease: deadline, Charter: probe.Document, Input: json.RawMessage("{}"),
	}
}

// WatchRun compares one open run with its execution, as Watch does with all: for
// an engine that tells of an execution's end. A run that there is not, or that
// is closed, needs nothing.
func (c *Coordinator) WatchRun(ctx context.Context, run string) (Tick, error) {
	tick := Tick{Repaired: []string{}, Looked: 1}
	err := c.repairRun(ctx, record.RunKey(run), &tick)
	if errors.Is(err, ErrNoRun) {
		err = nil
	}
	return tick, err
}

// Drain answers a delivery that its queue has given up on, so that its machine
// need not wait for a time limit: with what was recorded where the step was
// settled after all, else with Worker.Crashed, upon which the step's rule
// decides. False: an attempt still runs, and the delivery is to be kept. Nobody
// may deliver it to a worker again.
func (c *Coordinator) Drain(ctx context.Context, in gate.Delivery) (bool, error) {
	d, err := c.receive(ctx, in)
	if errors.Is(err, ErrNoRun) { // removed since
		return true, nil
	}
	if err != nil {
		return false, err
	}
	verdict := gate.Verdict{Error: outerloop.ErrorCrashed, Cause: "its message was delivered as often as its queue allows, without an answer"}
	s := d.step()
	switch {
	case d.Gen != d.run.Gen: // its execution is over
		return true, nil
	case !d.run.Open():
		verdict = d.stop(c.now())
	case s == nil:
	case s.Live(c.now()):
		return false, nil
	case s.State == outerloop.StepSettled:
		out, err := d.recorded(ctx)
		if err != nil {
			return false, err
		}
		verdict = *out.Verdict
	}
	return true, c.complete(ctx, in.Token, verdict)
}

package coordinator

import (
	"context"
	"encoding/json"
	"time"

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

package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/gate"
)

// Probed is what a probe came to. Exit is as of Handled.
type Probed struct {
	Output json.RawMessage
	Exit   bool
}

// Probe runs a worker outside of any run, for a monitor (R6): it has no step,
// so it may do no action and make no tool call, and its output is checked by
// the monitor alone. Gate and delivery of the invocation are not used.
func Probe(ctx context.Context, inv Invocation, task gate.Task) (Probed, error) {
	g := &probeGate{task: task}
	inv.Gate, inv.Delivery = InProcess(g), gate.Delivery{Run: task.Run, Gen: 1, Step: task.Step}
	inv.Env.Run, inv.Held = nil, nil
	handled, err := Handle(ctx, inv)
	out := Probed{Exit: handled.Exit}
	name := inv.Worker.Name()
	switch {
	case err != nil:
		return out, fmt.Errorf("asking the probe %s: %w", name, err)
	case g.settled.Failure != nil:
		return out, fmt.Errorf("probe %s: %s: %s", name, g.settled.Failure.Class.ErrorName(), g.settled.Failure.Message)
	case g.settled.Result == nil:
		return out, fmt.Errorf("probe %s gave no result", name)
	}
	out.Output = g.settled.Result.Output
	return out, nil
}

// probeGate admits one probe and takes its result.
type probeGate struct {
	task    gate.Task
	settled gate.SettleRequest
}

var errProbe = errors.New("a probe does no actions")

// Admit lets the probe look.
func (g *probeGate) Admit(context.Context, gate.AdmitRequest) (gate.AdmitAnswer, error) {
	return gate.AdmitAnswer{Decision: gate.Go, Task: &g.task}, nil
}

// Begin refuses every action.
func (g *probeGate) Begin(context.Context, gate.BeginRequest) (gate.BeginAnswer, error) {
	return gate.BeginAnswer{Claim: gate.ClaimRefused, Class: outerloop.ClassRefused, Reason: errProbe.Error()}, nil
}

// Report has nothing to record.
func (g *probeGate) Report(context.Context, gate.ReportRequest) (gate.ReportAnswer, error) {
	return gate.ReportAnswer{}, errProbe
}

// Settle takes the result.
func (g *probeGate) Settle(_ context.Context, req gate.SettleRequest) (gate.SettleAnswer, error) {
	g.settled = req
	done := outerloop.OutcomeCompleted
	return gate.SettleAnswer{Answered: true, Verdict: gate.Verdict{Note: gate.Note{Outcome: &done}}}, nil
}

// Heartbeat never stops it before its time.
func (g *probeGate) Heartbeat(context.Context, gate.HeartbeatRequest) (gate.HeartbeatAnswer, error) {
	return gate.HeartbeatAnswer{Lease: g.task.Deadline}, nil
}

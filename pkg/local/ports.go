package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/gate"
	"github.com/outerloop-dev/outerloop/pkg/local/durable"
)

// executions is the coordinator's way to start and stop machines.
type executions struct{ e *Engine }

var _ coordinator.Executions = executions{}

// Start starts the machine that was committed with the definition.
func (x executions) Start(ctx context.Context, run coordinator.Execution) error {
	machine, err := x.e.machineOf(ctx, run.Definition)
	if err != nil {
		return fmt.Errorf("starting execution %s: %w", run.Name, err)
	}
	_, err = x.e.core.Start(ctx, durable.StartRequest{
		Name: run.Name, Machine: machine, MachineName: run.Loop, Input: run.Input,
	})
	if errors.Is(err, durable.ErrEnded) {
		return nil // the same execution, which has ended
	}
	x.e.kick(ctx)
	return err
}

// Stop ends an execution.
func (x executions) Stop(ctx context.Context, name, errorName, cause string) error {
	err := x.e.core.Stop(ctx, name, &errorName, &cause)
	if errors.Is(err, durable.ErrAbsent) {
		return nil
	}
	x.e.kick(ctx)
	return err
}

// Describe reads an execution.
func (x executions) Describe(ctx context.Context, name string) (coordinator.ExecutionState, error) {
	d, err := durable.Reader{Store: x.e.store}.Describe(ctx, name)
	if errors.Is(err, durable.ErrAbsent) {
		return coordinator.ExecutionState{Status: coordinator.ExecutionAbsent}, nil
	}
	if err != nil {
		return coordinator.ExecutionState{}, err
	}
	state := coordinator.ExecutionState{Status: coordinator.ExecutionRunning}
	if d.Status.Ended() {
		state.Status = coordinator.ExecutionEnded
	}
	if d.Error != nil {
		state.Error = *d.Error
	}
	if d.Cause != nil {
		state.Cause = *d.Cause
	}
	return state, nil
}

// tokens completes waiting tasks for the coordinator.
type tokens struct{ e *Engine }

var _ coordinator.Tokens = tokens{}

// Succeed completes a task.
func (t tokens) Succeed(ctx context.Context, token string, output json.RawMessage) error {
	return t.done(ctx, t.e.core.Succeed(ctx, token, output))
}

// Fail fails a task.
func (t tokens) Fail(ctx context.Context, token, errorName, cause string) error {
	return t.done(ctx, t.e.core.Fail(ctx, token, &errorName, &cause))
}

func (t tokens) done(ctx context.Context, err error) error {
	if errors.Is(err, durable.ErrTokenGone) || errors.Is(err, durable.ErrToken) {
		return fmt.Errorf("%w: %w", coordinator.ErrTokenGone, err)
	}
	t.e.kick(ctx)
	return err
}

// syncedGate lets nothing out of the process that is not durable: a handler
// starts, and an action's call is made, after a sync.
type syncedGate struct {
	gate.Gate
	sync func(context.Context) error
}

// Admit syncs before the handler starts.
func (g syncedGate) Admit(ctx context.Context, req gate.AdmitRequest) (gate.AdmitAnswer, error) {
	answer, err := g.Gate.Admit(ctx, req)
	if err == nil && answer.Decision == gate.Go {
		err = g.sync(ctx)
	}
	return answer, err
}

// Begin syncs before the action's call.
func (g syncedGate) Begin(ctx context.Context, req gate.BeginRequest) (gate.BeginAnswer, error) {
	answer, err := g.Gate.Begin(ctx, req)
	if err == nil && answer.Claim == gate.ClaimGo {
		err = g.sync(ctx)
	}
	return answer, err
}

// Call makes a tool call; the called worker's own admit and begin sync.
func (g syncedGate) Call(ctx context.Context, req gate.CallRequest) (gate.CallAnswer, error) {
	caller, ok := g.Gate.(gate.Caller)
	if !ok {
		return gate.CallAnswer{}, fmt.Errorf("calling %s: the coordinator makes no tool calls", req.Worker)
	}
	return caller.Call(ctx, req)
}

// The names of functions and queues in a local machine.
const (
	coordinatorFunction = "outerloop-coordinator"
	workerFunction      = "outerloop-worker-"
	queueURL            = "https://queue.local/"
)

// workerOf is the worker that a function name means.
func workerOf(function string) (name string, ok bool) {
	return strings.CutPrefix(function[strings.LastIndexByte(function, ':')+1:], workerFunction)
}

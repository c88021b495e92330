package worker

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/outerloop-dev/outerloop/pkg/gate"
)

// errNoCalls says that a gate knows no tool calls.
var errNoCalls = errors.New("this gate makes no tool calls")

// callRounds bounds how often one tool call is run before it counts as failed.
const callRounds = 5

// Call uses another worker as a tool (R8): its work is done under its own
// charter, with its limits, action key, approvals and log. What the gate or the
// worker said is the answer's outcome: done, refused, waiting or failed. An
// error means that the work must end: the attempt was stopped, the gate gave no
// answer, the worker could not be run now, or this runtime makes no tool calls.
func (t Task[In]) Call(ctx context.Context, worker string, input json.RawMessage) (gate.CallAnswer, error) {
	return t.attempt.callWorker(ctx, worker, input)
}

// CanCall tells whether this runtime makes tool calls.
func (t Task[In]) CanCall() bool { return t.attempt.inv.Env.Run != nil }

// callerOf is the gate's side of tool calls, if it has one.
func callerOf(g gate.Gate) (gate.Caller, bool) {
	if p, ok := g.(inProcess); ok {
		if _, ok := p.gate.(gate.Caller); !ok {
			return nil, false
		}
	}
	caller, ok := g.(gate.Caller)
	return caller, ok
}

func (a *attempt) callWorker(ctx context.Context, worker string, input json.RawMessage) (gate.CallAnswer, error) {
	caller, ok := callerOf(a.inv.Gate)
	if !ok || a.inv.Env.Run == nil {
		return gate.CallAnswer{}, Fatal("calling %s: %w", worker, errNoCalls)
	}
	for range callRounds {
		if a.ended() {
			return gate.CallAnswer{}, Transient("calling %s: %w", worker, ErrTimeUp)
		}
		req := gate.CallRequest{Call: a.next(), Worker: worker, Input: input}
		answer, err := ask(ctx, a, func(ctx context.Context) (gate.CallAnswer, error) { return caller.Call(ctx, req) })
		switch {
		case err != nil:
			return answer, Transient("calling %s: %w", worker, err)
		case answer.Outcome == gate.CallStopped:
			return answer, Transient("calling %s: %w: %s", worker, ErrStopped, answer.Says)
		case answer.Outcome != gate.CallRun || answer.Delivery == nil:
			return answer, nil
		}
		if err := a.inv.Env.Run(ctx, worker, *answer.Delivery); err != nil {
			return gate.CallAnswer{}, Transient("running %s: %w", worker, err)
		}
	}
	return gate.CallAnswer{Outcome: gate.CallFailed, Says: worker + " gave no answer"}, nil
}

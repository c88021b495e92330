package gate

import (
	"context"
	"encoding/json"
)

// Caller is the gate of workers that use other workers as tools (R8).
type Caller interface {
	// Call asks for another worker's work within the running attempt: under
	// that worker's own charter, limits, action key and log. The same worker
	// with the same input is the same call for one visit of the step, so an
	// attempt that is repeated gets what was recorded.
	Call(ctx context.Context, req CallRequest) (CallAnswer, error)
}

// CallRequest asks for a tool call.
type CallRequest struct {
	Call
	Worker string          `json:"worker"`
	Input  json.RawMessage `json:"input"`
}

// CallOutcome is a tool call's state in one word.
type CallOutcome string

// The states of a tool call.
const (
	// CallRun: the worker is to be run with Delivery, then the call is asked
	// for again.
	CallRun CallOutcome = "run"
	// CallDone: Output is the worker's accepted output.
	CallDone CallOutcome = "done"
	// CallRefused: a limit, a person or the worker itself refused; nothing was done.
	CallRefused CallOutcome = "refused"
	// CallWaiting: a person decides. Nothing was done yet; the step of the
	// caller is asked again after the decision.
	CallWaiting CallOutcome = "waiting"
	// CallFailed: the worker failed.
	CallFailed CallOutcome = "failed"
	// CallStopped: the calling attempt no longer owns its step.
	CallStopped CallOutcome = "stopped"
)

// CallAnswer tells what became of a tool call.
type CallAnswer struct {
	Outcome  CallOutcome     `json:"outcome"`
	Output   json.RawMessage `json:"output,omitempty"`
	Says     string          `json:"says,omitempty"`
	Delivery *Delivery       `json:"delivery,omitempty"`
}

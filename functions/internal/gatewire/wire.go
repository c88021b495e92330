// Package gatewire is how a worker's function and its gate's function talk: the
// envelopes around the gate's own types, and their limits. Both sides share it,
// so it is small.
package gatewire

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/outerloop-dev/outerloop/pkg/gate"
)

// The calls of a gate.
const (
	Admit     = "admit"
	Begin     = "begin"
	Report    = "report"
	Settle    = "settle"
	Heartbeat = "heartbeat"
	ToolCall  = "call"
)

// MaxPayload bounds a synchronous invocation's request and response, in bytes:
// Lambda's 6 MB less room for what it adds.
const MaxPayload = 6_000_000

// Request is one call.
type Request struct {
	Call    string          `json:"call"`
	Request json.RawMessage `json:"request"`
}

// Answer is what a gate's function answers: Answer, AnswerAt or Error.
type Answer struct {
	Answer json.RawMessage `json:"answer,omitempty"`
	// AnswerAt is where an answer over the limit can be fetched.
	AnswerAt *Fetch `json:"answer_at,omitempty"`
	Error    *Error `json:"error,omitempty"`
	// With is what an admitted task needs beside its envelope.
	With *Surroundings `json:"with,omitempty"`
}

// Error is why there is no answer. Repeating the call with the same nonce is right.
type Error struct {
	Name    string `json:"name"`
	Message string `json:"message"`
}

// Error is name and message.
func (e *Error) Error() string { return e.Name + ": " + e.Message }

// Fetch is a signed address of content in the bucket, good for one attempt.
type Fetch struct {
	Ref string `json:"ref"`
	URL string `json:"url"`
}

// Surroundings are what a task's charter and input name, as the run has pinned it.
type Surroundings struct {
	// Files are the inputs that are files, by reference.
	Files []Fetch `json:"files,omitempty"`
	// Connections are those of the charter's tools.
	Connections []Connection `json:"connections,omitempty"`
}

// Connection is a declared connection; its secret by name only.
type Connection struct {
	Name   string `json:"name"`
	Kind   string `json:"kind"`
	URL    string `json:"url,omitempty"`
	From   string `json:"from,omitempty"`
	Secret string `json:"secret,omitempty"`
}

// Probe asks a worker for a monitor, outside of any run.
type Probe struct {
	Task gate.Task    `json:"task"`
	With Surroundings `json:"with"`
}

// Probed is a probe's answer.
type Probed struct {
	Output json.RawMessage `json:"output"`
}

// ErrTooLarge says that a request is over what an invocation may carry.
var ErrTooLarge = errors.New("too_large")

// FunctionFailure is a function's error as Lambda reports it: a type by which
// the function, or the runtime, names it, and a message.
type FunctionFailure struct {
	Type    string `json:"errorType"`
	Message string `json:"errorMessage"`
}

// Error is type and message.
func (f *FunctionFailure) Error() string { return f.Type + ": " + f.Message }

// FunctionError reads the payload of an invocation that failed; errors.As gives
// *FunctionFailure.
func FunctionError(payload []byte) error {
	failure := &FunctionFailure{}
	if err := json.Unmarshal(payload, failure); err != nil || failure.Type == "" {
		failure.Type = "Unhandled"
		if failure.Message == "" {
			failure.Message = fmt.Sprintf("the function failed with %d bytes", len(payload))
		}
	}
	return failure
}

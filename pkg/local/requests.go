package local

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/coordinator"
)

// The operations that a visitor may send to the owner.
const (
	OpStart   = "start"
	OpDecide  = "decide"
	OpResolve = "resolve"
	OpCancel  = "cancel"
	OpRedrive = "redrive"
	// OpRollback undoes a run's actions.
	OpRollback = "rollback"
	OpBlob     = "blob"
	OpDrive    = "drive"
	OpPrune    = "prune"
	OpClean    = "clean"
	OpPause    = "pause"
	OpPublish  = "publish"
	OpWebhook  = "webhook"
)

// Request is one command of a visitor, one line of JSON on the socket.
type Request struct {
	Op string `json:"op"`
	// Body is the operation's own request.
	Body json.RawMessage `json:"body,omitempty"`
}

// Reply is one line of JSON from the owner: any number with Progress, then
// exactly one with Done.
type Reply struct {
	Progress *Progress       `json:"progress,omitempty"`
	Done     bool            `json:"done,omitempty"`
	Body     json.RawMessage `json:"body,omitempty"`
	Error    *RemoteError    `json:"error,omitempty"`
}

// RemoteError is an error of the owner as a visitor sees it. errors.Is works
// with the sentinels of package coordinator that it had there.
type RemoteError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Error is the owner's text.
func (e *RemoteError) Error() string { return e.Message }

// Is compares by code.
func (e *RemoteError) Is(target error) bool {
	sentinel, ok := codes[e.Code]
	return ok && sentinel == target
}

// codes are the errors that cross the socket by name.
var codes = map[string]error{
	"no_loop":       coordinator.ErrNoLoop,
	"no_run":        coordinator.ErrNoRun,
	"no_approval":   coordinator.ErrNoApproval,
	"no_exception":  coordinator.ErrNoException,
	"input":         coordinator.ErrInput,
	"other_input":   coordinator.ErrOtherInput,
	"overlap":       coordinator.ErrOverlap,
	"budget":        coordinator.ErrBudget,
	"decided":       coordinator.ErrDecided,
	"not_allowed":   coordinator.ErrNotAllowed,
	"run_closed":    coordinator.ErrRunClosed,
	"not_possible":  coordinator.ErrNotPossible,
	"conflict":      coordinator.ErrConflict,
	"no_definition": coordinator.ErrNoDefinition,
	"machine":       ErrMachine,
	"closed":        ErrClosed,
}

// remote wraps an error for the wire.
func remote(err error) *RemoteError {
	if err == nil {
		return nil
	}
	for code, sentinel := range codes {
		if errors.Is(err, sentinel) {
			return &RemoteError{Code: code, Message: err.Error()}
		}
	}
	return &RemoteError{Code: "failed", Message: err.Error()}
}

// startBody is a coordinator.StartRequest on the wire: all but its check, which
// the visitor has made.
type startBody struct {
	Loop    string          `json:"loop"`
	Input   json.RawMessage `json:"input,omitempty"`
	AsOf    time.Time       `json:"as_of,omitzero"`
	Rerun   bool            `json:"rerun,omitempty"`
	Trigger string          `json:"trigger,omitempty"`
	By      string          `json:"by,omitempty"`
}

// webhookBody is a delivery whose signature was verified.
type webhookBody struct {
	Name    string            `json:"name"`
	Body    json.RawMessage   `json:"body"`
	Headers map[string]string `json:"headers,omitempty"`
}

// pauseBody pauses a loop or resumes it.
type pauseBody struct {
	Loop   string `json:"loop"`
	Paused bool   `json:"paused"`
}

// pruneBody bounds what is pruned.
type pruneBody struct {
	Before time.Time `json:"before"`
}

// Idle says why nothing moves: everything waits for a person, an event or a time.
type Idle struct {
	// Next is when something is due by itself; zero: nothing is.
	Next time.Time `json:"next,omitzero"`
}

// String says it in one line.
func (i Idle) String() string {
	if i.Next.IsZero() {
		return "nothing is due by itself"
	}
	return "next due " + i.Next.UTC().Format(time.RFC3339)
}

package local

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/coordinator/remote"
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
	// OpStage and OpDid are about how far workers are trusted.
	OpStage = "stage"
	OpDid   = "did"
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

// RemoteError is an error of the owner as a visitor sees it: errors.Is and
// errors.As work with the coordinator's errors, and errors.Is with this package's.
type RemoteError struct{ wired }

// wired is an error with its name on the wire.
type wired = remote.Error

// own are the engine's errors that cross the socket by name.
var own = map[string]error{"machine": ErrMachine, "closed": ErrClosed}

// Is compares the engine's own errors by code.
func (e *RemoteError) Is(target error) bool {
	sentinel, ok := own[e.Code]
	return ok && sentinel == target
}

// far wraps an error for the wire.
func far(err error) *RemoteError {
	if err == nil {
		return nil
	}
	for code, sentinel := range own {
		if errors.Is(err, sentinel) {
			return &RemoteError{wired{Code: code, Message: err.Error()}}
		}
	}
	return &RemoteError{*remote.Wrap(err)}
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

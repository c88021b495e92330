package coordinator

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/outerloop-dev/outerloop"
)

// StartRequest asks for a run of a loop.
type StartRequest struct {
	Loop string
	// Input is the loop's input document; nil is {}. A property of format
	// "file" holds the reference of a blob that the caller has put.
	Input json.RawMessage
	// AsOf is the source time of the trigger; zero: now.
	AsOf time.Time
	// Rerun starts a run although one of this subject exists: the next free
	// SUBJECT#n. Action keys do not change.
	Rerun bool
	// Trigger says what started it, for the log: "manual", "schedule", "webhook", …
	Trigger string
	// By is the person or trigger's name, for the log.
	By string
	// Check is called before anything is written with what the run would get;
	// an error of it refuses the start. nil: no check.
	Check func(input json.RawMessage) error
}

// Started says which run a start led to.
type Started struct {
	Run     string
	Subject string
	// Duplicate: the run was there before, with the same input.
	Duplicate bool
	// Status is the run's as it stands now.
	Status outerloop.Status
}

// The verdicts of a decision.
const (
	Approve = "approve"
	Reject  = "reject"
)

// DecideRequest is a person's word on an approval.
type DecideRequest struct {
	Approval string
	// Verdict is Approve or Reject.
	Verdict string
	By      string
	Reason  string
	// Edit replaces the content that is approved; nil: as it stands. It is
	// checked as the worker's own work would be.
	Edit json.RawMessage `json:",omitempty"`
}

// The ways to resolve an exception (R39).
const (
	WayRetry      = "retry"
	WayEdit       = "edit"
	WaySkip       = "skip"
	WaySubstitute = "substitute"
	WayRollback   = "rollback"
	WayClose      = "close"
)

// ResolveRequest is a person's answer to an exception.
type ResolveRequest struct {
	Exception string
	// Way is one of the ways above; WayEdit is "edit and retry".
	Way    string
	By     string
	Reason string
	// Value is the new input of the step (WayEdit) or its output (WaySubstitute).
	Value json.RawMessage `json:",omitempty"`
	// Outcome says what became of an action whose outcome was unknown: "done"
	// or "failed"; empty where no action is asked about.
	Outcome string
}

// PersonRequest names a run and who acts on it: Cancel and Redrive.
type PersonRequest struct {
	Run    string
	By     string
	Reason string
}

// Errors of the use cases, to branch on.
var (
	ErrNoRun       = errors.New("no such run")
	ErrNoApproval  = errors.New("no such approval")
	ErrNoException = errors.New("no such exception")
	ErrInput       = errors.New("input is not valid")
	ErrOtherInput  = errors.New("the subject has a run with another input")
	ErrOverlap     = errors.New("another run of the loop is open")
	ErrDecided     = errors.New("already decided")
	ErrNotAllowed  = errors.New("not allowed to this person")
	ErrRunClosed   = errors.New("run is closed")
	ErrNotPossible = errors.New("not possible in this state")
	ErrConflict    = errors.New("changed too often at the same time")
)

// InputError lists what is wrong with a document. It unwraps to ErrInput.
type InputError struct {
	What   string
	Faults []string
}

// Error lists the faults.
func (e *InputError) Error() string { return e.What + ": " + strings.Join(e.Faults, "; ") }

// Unwrap makes errors.Is(err, ErrInput) true.
func (e *InputError) Unwrap() error { return ErrInput }

// OtherInputError is a start of a known subject with another input (R38). It
// unwraps to ErrOtherInput.
type OtherInputError struct {
	Run, Subject       string
	HaveHash, WantHash string
}

// Error shows both hashes and how to start anyway.
func (e *OtherInputError) Error() string {
	return fmt.Sprintf("%q has run %s with input %s; this input is %s: nothing was started (start anyway as a run of its own: --rerun)",
		e.Subject, e.Run, e.HaveHash, e.WantHash)
}

// Unwrap makes errors.Is(err, ErrOtherInput) true.
func (e *OtherInputError) Unwrap() error { return ErrOtherInput }

// OverlapError is a start that the loop's overlap policy skipped. It unwraps to ErrOverlap.
type OverlapError struct{ Loop, Open string }

// Error names the open run.
func (e *OverlapError) Error() string {
	return fmt.Sprintf("run %s of %s is still open: skipped (overlap: skip)", e.Open, e.Loop)
}

// Unwrap makes errors.Is(err, ErrOverlap) true.
func (e *OverlapError) Unwrap() error { return ErrOverlap }

// DecidedError tells a late decider who decided and when. It unwraps to ErrDecided.
type DecidedError struct {
	ID, Decision, By string
	At               time.Time
}

// Error names the first decision.
func (e *DecidedError) Error() string {
	return fmt.Sprintf("%s was already decided: %s by %s at %s", e.ID, e.Decision, e.By, e.At.UTC().Format(time.RFC3339))
}

// Unwrap makes errors.Is(err, ErrDecided) true.
func (e *DecidedError) Unwrap() error { return ErrDecided }

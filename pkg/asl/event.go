package asl

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"
)

// TaskID identifies one attempt of a Task state within its execution. A retry
// has a new id.
type TaskID int64

// TimerID identifies one timer within its execution.
type TimerID int64

// ChildID identifies one child execution of a distributed Map within its
// execution. A retry of the Map has new ids.
type ChildID int64

// EventKind says what happened to an execution.
type EventKind string

// The events an execution understands.
const (
	// Start begins the execution. It must be the first event and the only
	// one of its kind; it needs Start.
	Start EventKind = "start"
	// TaskStarted says that a worker took an activity task. Optional: an
	// answer implies it. Needs Task.
	TaskStarted EventKind = "task_started"
	// TaskSubmitted says that the service accepted the request of a task
	// that waits for more than the request's answer (.sync,
	// .waitForTaskToken). Optional: an answer implies it. Needs Task; Output
	// is the service's answer.
	TaskSubmitted EventKind = "task_submitted"
	// TaskSubmitFailed says that the request of such a task was refused.
	// Needs Task, Error, Cause.
	TaskSubmitFailed EventKind = "task_submit_failed"
	// TaskSucceeded carries a task's result. Needs Task and Output.
	TaskSucceeded EventKind = "task_succeeded"
	// TaskFailed carries a task's failure. Needs Task; Error and Cause may
	// be nil (a SendTaskFailure without them).
	TaskFailed EventKind = "task_failed"
	// TaskTimedOut says that a task passed its deadline or missed its
	// heartbeat. Needs Task.
	TaskTimedOut EventKind = "task_timed_out"
	// TimerFired says that a timer is due. Needs Timer.
	TimerFired EventKind = "timer_fired"
	// ChildEnded says that a child execution ended. Needs Child and Status;
	// Output when it succeeded, Error and Cause otherwise.
	ChildEnded EventKind = "child_ended"
	// Stop aborts the execution (StopExecution). Error and Cause may be nil.
	Stop EventKind = "stop"
)

// Event is one thing that happened to an execution, as journaled. Its JSON form
// is stable. Time must not run backwards between events.
type Event struct {
	Kind EventKind `json:"kind"`
	Time time.Time `json:"time"`
	// Seed is where all randomness of this transition comes from: jitter,
	// States.UUID, States.MathRandom without a seed, task tokens. Task tokens
	// are credentials, so a driver that lets others complete tasks takes the
	// seed from crypto/rand.
	Seed   Seed            `json:"seed"`
	Start  *StartDetails   `json:"start,omitempty"`
	Task   TaskID          `json:"task,omitempty"`
	Timer  TimerID         `json:"timer,omitempty"`
	Child  ChildID         `json:"child,omitempty"`
	Status Status          `json:"status,omitempty"`
	Output json.RawMessage `json:"output,omitempty"`
	Error  *string         `json:"error,omitempty"`
	Cause  *string         `json:"cause,omitempty"`
}

// StartDetails is what an execution knows about itself. Everything but Input is
// only shown in the context object and the history; empty strings are allowed.
type StartDetails struct {
	Input       json.RawMessage `json:"input,omitempty"`
	ID          string          `json:"id"`
	Name        string          `json:"name"`
	RoleARN     string          `json:"role_arn"`
	MachineID   string          `json:"machine_id"`
	MachineName string          `json:"machine_name"`
}

// Seed is 128 bits of randomness; its text form is 32 hexadecimal digits. The
// zero seed is allowed (and predictable).
type Seed [16]byte

// MarshalText returns the seed in hexadecimal.
func (s Seed) MarshalText() ([]byte, error) {
	return hex.AppendEncode(nil, s[:]), nil
}

// UnmarshalText reads 32 hexadecimal digits.
func (s *Seed) UnmarshalText(text []byte) error {
	if len(text) != hex.EncodedLen(len(s)) {
		return fmt.Errorf("reading seed: %d characters, want %d", len(text), hex.EncodedLen(len(s)))
	}
	_, err := hex.Decode(s[:], text)
	return err
}

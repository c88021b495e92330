package outerloop

import "slices"

// Status is where a run stands (R24). The text is what is stored and printed.
type Status string

// The six statuses. AwaitingApproval is an open run that waits for a person
// and is derived when a run is read: the stored status is InProgress.
// A cancelled run is Failed with the reason "cancelled".
const (
	StatusNew              Status = "new"
	StatusInProgress       Status = "in_progress"
	StatusBlocked          Status = "blocked"
	StatusAwaitingApproval Status = "awaiting_approval"
	StatusCompleted        Status = "completed"
	StatusFailed           Status = "failed"
)

// transitions is the one transition table of runs; every write of a run's
// status is conditional on a row of it.
var transitions = map[Status][]Status{
	StatusNew:              {StatusInProgress, StatusBlocked, StatusFailed},
	StatusInProgress:       {StatusAwaitingApproval, StatusBlocked, StatusCompleted, StatusFailed},
	StatusAwaitingApproval: {StatusInProgress, StatusBlocked, StatusCompleted, StatusFailed},
	StatusBlocked:          {StatusInProgress, StatusFailed},
	StatusFailed:           {StatusInProgress},
}

// Statuses lists every status in the order of a run's life.
func Statuses() []Status {
	return []Status{
		StatusNew, StatusInProgress, StatusBlocked,
		StatusAwaitingApproval, StatusCompleted, StatusFailed,
	}
}

// Closed tells whether a run of this status has ended. A closed run never
// changes, but for the redrive of a failed one.
func (s Status) Closed() bool { return s == StatusCompleted || s == StatusFailed }

// CanBecome tells whether a run may go from s to next. From failed only a
// redrive leads back, and not for a cancelled run.
func (s Status) CanBecome(next Status) bool { return slices.Contains(transitions[s], next) }

// Valid tells whether s is one of the six statuses.
func (s Status) Valid() bool { return slices.Contains(Statuses(), s) }

// StepState is where a step of a run stands in the store.
type StepState string

// The states of a step (PROTOCOL "Step"). A step that was never admitted has
// no record; it reads as the empty state.
const (
	StepOpen    StepState = "open"
	StepRunning StepState = "running"
	StepParked  StepState = "parked"
	StepSettled StepState = "settled"
)

// Outcome is how a settled step ended.
type Outcome string

// The outcomes of a step.
const (
	OutcomeCompleted   Outcome = "completed"
	OutcomeSubstituted Outcome = "substituted"
	OutcomeNotNeeded   Outcome = "not_needed"
	OutcomeSkipped     Outcome = "skipped"
	OutcomeDeclined    Outcome = "declined"
	OutcomeProposed    Outcome = "proposed"
	OutcomeCancelled   Outcome = "cancelled"
	OutcomeFailed      Outcome = "failed"
)

// HasOutput tells whether steps that read this one's output may run (R13).
func (o Outcome) HasOutput() bool { return o == OutcomeCompleted || o == OutcomeSubstituted }

// Missing tells whether an item of an `each` that ended a step so counts as
// missing in the join: skipped and failed do, not_needed and declined complete it.
func (o Outcome) Missing() bool { return o == OutcomeSkipped || o == OutcomeFailed }

package outerloop

import "slices"

// Class is a failure class: what a failure rule retries by (R29).
type Class string

// The failure classes of the loop language.
const (
	ClassTimeout       Class = "timeout"
	ClassTransient     Class = "transient"
	ClassRateLimited   Class = "rate_limited"
	ClassToolFailed    Class = "tool_failed"
	ClassInvalidOutput Class = "invalid_output"
	ClassMissingInput  Class = "missing_input"
	ClassConflict      Class = "conflict"
	ClassRefused       Class = "refused"
	ClassFatal         Class = "fatal"
)

// ClassAny stands for every class in a retry rule.
const ClassAny Class = "any"

// The names of errors that a state machine sees. Worker errors are retried as
// declared; the others never are, and stand first in a machine's retriers with
// no attempts, because Step Functions looks at Retry before Catch.
const (
	ErrorTimeout       = "Worker.Timeout"
	ErrorTransient     = "Worker.Transient"
	ErrorRateLimited   = "Worker.RateLimited"
	ErrorToolFailed    = "Worker.ToolFailed"
	ErrorInvalidOutput = "Worker.InvalidOutput"
	ErrorMissingInput  = "Worker.MissingInput"
	ErrorConflict      = "Worker.Conflict"
	ErrorRefused       = "Worker.Refused"
	ErrorFatal         = "Worker.Fatal"
	ErrorCrashed       = "Worker.Crashed"

	// ErrorRevise sends a step back to its worker with feedback.
	ErrorRevise = "Outerloop.Revise"
	// ErrorNeedsApproval leads to the step's approval state.
	ErrorNeedsApproval = "Outerloop.NeedsApproval"
	// ErrorHalt ends the execution; the run is blocked with one exception.
	ErrorHalt = "Outerloop.Halt"
	// ErrorGiveUp leads to the backup worker or the failure rule.
	ErrorGiveUp = "Outerloop.GiveUp"
	// ErrorAgain leads from the failure rule back to the step.
	ErrorAgain = "Outerloop.Again"
	// ErrorNotNow asks a directly invoked state to try again later.
	ErrorNotNow = "Outerloop.NotNow"
	// ErrorStop ends an execution whose run is closed, cancelled or of a newer generation.
	ErrorStop = "Outerloop.Stop"
)

var classErrors = map[Class]string{
	ClassTimeout:       ErrorTimeout,
	ClassTransient:     ErrorTransient,
	ClassRateLimited:   ErrorRateLimited,
	ClassToolFailed:    ErrorToolFailed,
	ClassInvalidOutput: ErrorInvalidOutput,
	ClassMissingInput:  ErrorMissingInput,
	ClassConflict:      ErrorConflict,
	ClassRefused:       ErrorRefused,
	ClassFatal:         ErrorFatal,
}

// Classes lists the failure classes in the order of the language's reference.
func Classes() []Class {
	return []Class{
		ClassTimeout, ClassTransient, ClassRateLimited, ClassToolFailed, ClassInvalidOutput,
		ClassMissingInput, ClassConflict, ClassRefused, ClassFatal,
	}
}

// Valid tells whether c is one of the classes; ClassAny is not.
func (c Class) Valid() bool { return slices.Contains(Classes(), c) }

// ErrorName is the class's name in a state machine, "Worker.Transient" for
// transient. An unknown class is fatal.
func (c Class) ErrorName() string {
	if name, ok := classErrors[c]; ok {
		return name
	}
	return ErrorFatal
}

// ClassOf is the class of an error name as a state machine reports it.
// States.Timeout and a crash are timeouts; every unknown name is fatal.
func ClassOf(errorName string) Class {
	switch errorName {
	case "States.Timeout", "States.HeartbeatTimeout", ErrorCrashed:
		return ClassTimeout
	}
	for class, name := range classErrors {
		if name == errorName {
			return class
		}
	}
	return ClassFatal
}

// Confidence is how sure a worker says it is of its output (R19, R45).
type Confidence string

// The three levels; a worker gives a reason with each.
const (
	ConfidenceHigh   Confidence = "high"
	ConfidenceMedium Confidence = "medium"
	ConfidenceLow    Confidence = "low"
)

// Valid tells whether c is one of the three levels.
func (c Confidence) Valid() bool {
	return c == ConfidenceHigh || c == ConfidenceMedium || c == ConfidenceLow
}

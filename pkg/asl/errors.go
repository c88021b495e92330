package asl

import (
	"errors"
	"fmt"
	"strings"
)

var (
	// ErrNotOpen says that an event names a task, timer or child that the
	// execution does not wait for (any more). Nothing changed.
	ErrNotOpen = errors.New("asl: not open")
	// ErrEnded says that the execution has ended. Nothing changed.
	ErrEnded = errors.New("asl: execution has ended")
	// ErrEvent says that an event is malformed or out of place: not JSON
	// where JSON is needed, no Start first, a second Start, an unknown kind.
	// Nothing changed.
	ErrEvent = errors.New("asl: invalid event")
	// ErrDefinition is what every *DefinitionError unwraps to.
	ErrDefinition = errors.New("asl: invalid definition")
	// ErrSnapshot says that a snapshot cannot be read or does not belong to
	// the machine.
	ErrSnapshot = errors.New("asl: invalid snapshot")
)

// Diagnostic is one error of a definition.
type Diagnostic struct {
	// Code is SCHEMA_VALIDATION_FAILED, DUPLICATE_STATE_NAME,
	// MISSING_TRANSITION_TARGET, MISSING_END_STATE, INVALID_JSON_DESCRIPTION,
	// INVALID_PATH, UNSUPPORTED or EVENT_BOUND.
	Code string `json:"code"`
	// Message says what is wrong, in Step Functions' words where known.
	Message string `json:"message"`
	// Path is the place in the definition, as in /States/Wait/Seconds.
	Path string `json:"path"`
}

// String returns the diagnostic in the form Step Functions prints it.
func (d Diagnostic) String() string {
	return fmt.Sprintf("%s: %s at %s", d.Code, d.Message, d.Path)
}

// DefinitionError holds every error found in a definition, in the order of the
// definition. errors.Is(err, ErrDefinition) holds.
type DefinitionError struct{ Diagnostics []Diagnostic }

// Error returns all diagnostics on one line, as Step Functions does.
func (e *DefinitionError) Error() string {
	parts := make([]string, len(e.Diagnostics))
	for i, d := range e.Diagnostics {
		parts[i] = d.String()
	}
	return "Invalid State Machine Definition: '" + strings.Join(parts, ", ") + "'"
}

// Unwrap returns ErrDefinition.
func (e *DefinitionError) Unwrap() error { return ErrDefinition }

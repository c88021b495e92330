package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/outerloop-dev/outerloop/pkg/asl"
	"github.com/outerloop-dev/outerloop/pkg/coordinator"
)

// The exit codes of every command.
const (
	// ExitDone: the work is done, or the decision recorded.
	ExitDone = 0
	// ExitFailed: the work failed, is blocked, or came too late.
	ExitFailed = 1
	// ExitUsage: the command line or what it names is not valid; nothing was done.
	ExitUsage = 2
	// ExitWaiting: an approval or a question waits for a person.
	ExitWaiting = 3
)

// exit is an error that knows its exit code. A nil err prints nothing: the
// command has said everything already.
type exit struct {
	code int
	err  error
	// remedies are lines that say what to do, printed below the error.
	remedies []string
}

func (e *exit) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit %d", e.code)
	}
	return e.err.Error()
}

func (e *exit) Unwrap() error { return e.err }

// silent ends the program with a code and says no more.
func silent(code int) error {
	if code == ExitDone {
		return nil
	}
	return &exit{code: code}
}

// usage is an error of the command line, with what to write instead.
func usage(message string, remedies ...string) error {
	return &exit{code: ExitUsage, err: errors.New(message), remedies: remedies}
}

// exitCode is the one mapping of errors to exit codes.
func exitCode(err error) int {
	var e *exit
	switch {
	case err == nil:
		return ExitDone
	case errors.As(err, &e):
		return e.code
	case errors.Is(err, coordinator.ErrInput), errors.Is(err, coordinator.ErrOtherInput),
		errors.Is(err, coordinator.ErrNoLoop), errors.Is(err, coordinator.ErrNoRun),
		errors.Is(err, coordinator.ErrNoApproval), errors.Is(err, coordinator.ErrNoException),
		errors.Is(err, asl.ErrDefinition):
		return ExitUsage
	}
	return ExitFailed
}

// remediesOf are the lines to print below an error.
func remediesOf(err error) []string {
	var e *exit
	switch {
	case errors.As(err, &e):
		return e.remedies
	case errors.Is(err, coordinator.ErrNoRun):
		return []string{"outerloop runs   lists the runs"}
	case errors.Is(err, coordinator.ErrNoApproval):
		return []string{"outerloop approvals   lists what waits for a person"}
	case errors.Is(err, coordinator.ErrNoException):
		return []string{"outerloop exceptions   lists what needs a decision"}
	case errors.Is(err, asl.ErrDefinition):
		return []string{"outerloop asl validate FILE   checks a machine; outerloop compile writes it anew"}
	case errors.Is(err, context.Canceled):
		return []string{"nothing is lost: the same command goes on from here"}
	}
	return nil
}

package worker

import (
	"context"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/gate"
)

// Error is an error of a failure class. Make one with the constructors below;
// wrap it freely, since the class is found with errors.As.
type Error struct {
	Class outerloop.Class
	// RetryAfter is the earliest time of the next try; zero: no floor.
	RetryAfter time.Time

	notDone bool
	err     error
}

// Error is the cause's text; without a cause, the class.
func (e *Error) Error() string {
	if e.err == nil {
		return string(e.Class)
	}
	return e.err.Error()
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.err }

func classed(class outerloop.Class, format string, args []any) *Error {
	return &Error{Class: class, err: fmt.Errorf(format, args...)}
}

// Transient is a failure that another try may not meet: a lost connection, a
// provider that is down.
func Transient(format string, args ...any) error {
	return classed(outerloop.ClassTransient, format, args)
}

// RateLimited is a provider's 429: nothing was done. retryAfter is its
// Retry-After as a time; zero when it gave none.
func RateLimited(retryAfter time.Time, format string, args ...any) error {
	e := classed(outerloop.ClassRateLimited, format, args)
	e.RetryAfter, e.notDone = retryAfter, true
	return e
}

// ToolFailed is a tool that answered with a failure of its own.
func ToolFailed(format string, args ...any) error {
	return classed(outerloop.ClassToolFailed, format, args)
}

// Refused is a provider or a model that will not do it: nothing was done, and
// asking again does not help.
func Refused(format string, args ...any) error {
	e := classed(outerloop.ClassRefused, format, args)
	e.notDone = true
	return e
}

// MissingInput is an input that lacks what the work needs, or holds it unusably.
func MissingInput(format string, args ...any) error {
	return classed(outerloop.ClassMissingInput, format, args)
}

// InvalidOutput is an output that the worker itself knows to be unusable.
func InvalidOutput(format string, args ...any) error {
	return classed(outerloop.ClassInvalidOutput, format, args)
}

// Conflict is a record that has changed since it was read.
func Conflict(format string, args ...any) error {
	return classed(outerloop.ClassConflict, format, args)
}

// Fatal is a failure that no further try can mend.
func Fatal(format string, args ...any) error {
	return classed(outerloop.ClassFatal, format, args)
}

// NotDone says of an action's call that its effect certainly does not exist
// and will not come into being, so that the action may be tried again. The
// class of err is kept; without one it is transient.
func NotDone(err error) error {
	f := FailureOf(err)
	if !hasClass(err) {
		f.Class = outerloop.ClassTransient
	}
	return &Error{Class: f.Class, RetryAfter: f.RetryAfter, notDone: true, err: err}
}

// Reasons why a task's context ended, as context.Cause gives them.
var (
	// ErrStopped: the run was closed or cancelled, or another attempt took over.
	ErrStopped = errors.New("the gate told this attempt to stop")
	// ErrLeaseLost: the lease ended because no heartbeat came through.
	ErrLeaseLost = errors.New("the attempt's lease ended")
	// ErrTimeUp: the invocation's time limit is near.
	ErrTimeUp = errors.New("the attempt's time is up")
)

// messageLimit is the longest message of a failure, in bytes.
const messageLimit = 2000

// FailureOf is the one mapping from errors to failures. A classed error (the
// outermost one) has its class; a deadline or anything that calls itself a
// timeout is timeout; a cancelled context is transient; every other error is
// fatal. Messages are cut to 2,000 bytes.
func FailureOf(err error) gate.Failure {
	f := gate.Failure{Class: outerloop.ClassFatal, Message: cut(err.Error(), messageLimit)}
	var e *Error
	var timeout interface{ Timeout() bool }
	switch {
	case errors.As(err, &e):
		f.Class, f.RetryAfter = e.Class, e.RetryAfter
		if !f.Class.Valid() {
			f.Class = outerloop.ClassFatal
		}
	case errors.Is(err, ErrTimeUp), errors.Is(err, context.DeadlineExceeded),
		errors.As(err, &timeout) && timeout.Timeout():
		f.Class = outerloop.ClassTimeout
	case errors.Is(err, context.Canceled), errors.Is(err, ErrStopped), errors.Is(err, ErrLeaseLost):
		f.Class = outerloop.ClassTransient
	}
	return f
}

func hasClass(err error) bool {
	var e *Error
	return errors.As(err, &e)
}

// certainlyNotDone tells whether a call's error rules out its effect.
func certainlyNotDone(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.notDone
}

// cut shortens text to at most limit bytes without splitting a character.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	const mark = " …"
	end := limit - len(mark)
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + mark
}

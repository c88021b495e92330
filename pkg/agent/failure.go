package agent

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// Failed makes an error of a class with the earliest time of the next try (zero:
// no floor), for adapters. Its message ends with the class.
func Failed(class outerloop.Class, retryAfter time.Time, format string, args ...any) error {
	return fmt.Errorf("%w (%w)", fmt.Errorf(format, args...), &worker.Error{Class: class, RetryAfter: retryAfter})
}

// ErrUsageUnknown says of a failed call that the provider may have worked, and
// may bill it, though nothing was reported.
var ErrUsageUnknown = errors.New("its usage was not reported")

// Interrupted is the error of a call that gave no whole answer: because its
// context ended, or because of err, a broken connection. It keeps why the
// context ended: the call's time was up, or the worker was told to stop.
// Unless the connection was never made, ErrUsageUnknown is in it.
func Interrupted(ctx context.Context, name string, err error) error {
	var dialing *net.OpError
	if errors.As(err, &dialing) && dialing.Op == "dial" && ctx.Err() == nil {
		return Failed(outerloop.ClassTransient, time.Time{}, "asking %s: %w", name, err)
	}
	if ctx.Err() != nil {
		return fmt.Errorf("asking %s: %w (%w)", name, context.Cause(ctx), ErrUsageUnknown)
	}
	return Failed(outerloop.ClassTransient, time.Time{}, "asking %s: %w (%w)", name, err, ErrUsageUnknown)
}

// callTimeout is the cause of a context that Bounded ended.
type callTimeout struct{ after time.Duration }

func (e callTimeout) Error() string {
	return fmt.Sprintf("the model did not answer within %s", e.after)
}

// Timeout makes it a failure of class timeout.
func (callTimeout) Timeout() bool { return true }

// Bounded is the context of one call: it ends after the request's own timeout,
// if there is one. For adapters.
func Bounded(ctx context.Context, req Request) (context.Context, context.CancelFunc) {
	if req.Timeout <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, req.Timeout, callTimeout{req.Timeout})
}

// Rejection is a provider's error answer.
type Rejection struct {
	// Status is the HTTP status, Code the provider's own word, Message its text.
	Status        int
	Code, Message string
	RetryAfter    time.Time
}

// tooLong are words by which providers say that the context is too long.
var tooLong = []string{
	"context length", "context_length", "maximum context", "context window", "context size", "too long", "too many tokens", "too many input tokens",
}

// filtered are words by which providers say that they withhold content.
var filtered = []string{"content_filter", "content filter", "content management policy", "responsibleaipolicyviolation", "guardrail"}

// Rejected is the one mapping from providers' error answers to classes. The
// provider's text is cut, and left out where it may tell of a key.
func Rejected(name string, r Rejection) error {
	words := strings.ToLower(r.Code + " " + r.Message)
	text := cutText(r.Message, 300)
	switch {
	case r.Status == 401 || r.Status == 403:
		return Failed(outerloop.ClassFatal, time.Time{}, "asking %s: it refuses the key or the permission (HTTP %d)", name, r.Status)
	case r.Status == 429 || r.Status == 529 || r.Status == 503 && !r.RetryAfter.IsZero():
		return Failed(outerloop.ClassRateLimited, r.RetryAfter, "asking %s: it is asked too much or its quota is used up (HTTP %d): %s", name, r.Status, text)
	case r.Status == 408 || r.Status == 504:
		return Failed(outerloop.ClassTimeout, time.Time{}, "asking %s: it did not answer in time (HTTP %d, %w)", name, r.Status, ErrUsageUnknown)
	case r.Status >= 500 || r.Status == 409 || r.Status == 424 || r.Status == 425:
		return Failed(outerloop.ClassTransient, r.RetryAfter, "asking %s: it failed (HTTP %d): %s", name, r.Status, text)
	case says(words, filtered):
		return Failed(outerloop.ClassRefused, time.Time{}, "asking %s: it withholds content (HTTP %d): %s", name, r.Status, text)
	case r.Status == 413 || says(words, tooLong):
		return Failed(outerloop.ClassMissingInput, time.Time{}, "asking %s: the context is too long for it (HTTP %d): %s", name, r.Status, text)
	}
	return Failed(outerloop.ClassFatal, time.Time{}, "asking %s: it does not accept the request (HTTP %d): %s", name, r.Status, text)
}

func says(text string, words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text, w) })
}

func cutText(text string, limit int) string {
	text = strings.Join(strings.Fields(text), " ")
	if r := []rune(text); len(r) > limit {
		return string(r[:limit]) + "…"
	}
	return text
}

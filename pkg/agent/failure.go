package agent

import (
	"context"
	"errors"
	"fmt"
	"net"
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

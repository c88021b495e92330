package agent

import (
	"context"
	"fmt"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// Failed makes an error of a class with the earliest time of the next try (zero:
// no floor), for adapters. Its message ends with the class.
func Failed(class outerloop.Class, retryAfter time.Time, format string, args ...any) error {
	return fmt.Errorf("%w (%w)", fmt.Errorf(format, args...), &worker.Error{Class: class, RetryAfter: retryAfter})
}

// Interrupted is the error of a call that ended because its context did, or
// because of err. It keeps why: the worker's time is up, or it was told to stop.
func Interrupted(ctx context.Context, name string, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("asking %s: %w", name, context.Cause(ctx))
	}
	return Failed(outerloop.ClassTransient, time.Time{}, "asking %s: %w", name, err)
}

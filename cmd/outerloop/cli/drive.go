package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/local"
)

const (
	// mostRounds bounds how often the watch is asked again after it repaired something.
	mostRounds = 10
	// lookAgain and lookFor are how often and how long the watch is asked about a
	// run whose machine ended without it: the watch itself waits some seconds,
	// since what an engine says about its executions may lag behind.
	lookAgain = 500 * time.Millisecond
	lookFor   = 15 * time.Second
)

// drive works until nothing more can move. As the owner it also lets the watch
// look: what expired, passed its deadline or disagrees with its machine is
// repaired, and what that sets free is driven on. run may be empty.
func drive(ctx context.Context, s *local.Session, run string) (local.Idle, error) {
	started := time.Now()
	for round := 0; ; {
		idle, err := s.Drive(ctx)
		if err != nil || s.Owner() == nil {
			return idle, err
		}
		c := s.Owner().Coordinator()
		tick, err := c.Watch(ctx)
		if err := errors.Join(err, s.Owner().Sync(ctx)); err != nil {
			return idle, fmt.Errorf("looking for what needs repair: %w", err)
		}
		switch round++; {
		case len(tick.Repaired) > 0 && round < mostRounds:
			continue
		case run == "" || !idle.Next.IsZero() || time.Since(started) > lookFor:
			return idle, nil
		}
		view, err := c.Run(ctx, run)
		if err != nil || view.Status != outerloop.StatusInProgress || len(view.Waiting) > 0 {
			return idle, err
		}
		select {
		case <-time.After(lookAgain):
		case <-ctx.Done():
			return idle, ctx.Err()
		}
	}
}

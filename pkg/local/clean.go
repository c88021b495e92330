package local

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/store/sweep"
)

// CleanRequest says what may go.
type CleanRequest struct {
	// Before is the time before which it must have ended; zero: what the watch
	// removes by itself, 90 days ago unless Limits.Keep says otherwise.
	Before time.Time `json:"before,omitzero"`
	// Loop names the only loop whose runs may go; empty: every loop's.
	Loop string `json:"loop,omitempty"`
	// Histories: only executions with their histories go, the runs stay.
	Histories bool `json:"histories,omitempty"`
}

// Cleaned is what was removed, and by how many bytes the file shrank.
type Cleaned struct {
	Runs       int   `json:"runs"`
	Executions int   `json:"executions"`
	Items      int   `json:"items"`
	Blobs      int   `json:"blobs"`
	Bytes      int64 `json:"bytes"`
}

const (
	expiredAtOnce = 1000
	shrinkAtOnce  = 4 << 20
	// shrinkFrom is how much free space is worth giving back by the way.
	shrinkFrom = 16 << 20
	// blobGrace is how long a blob is kept that nothing refers to (yet).
	blobGrace = 24 * time.Hour
	// sweepEvery is how often blobs are looked through by the way, which reads
	// all items; the first time after sweepFirst, so never by a short command.
	sweepEvery = 24 * time.Hour
	sweepFirst = time.Hour
)

// Clean removes runs and executions that ended long ago, and whatever only
// they referred to, and gives the space back. It works in batches between which
// other work goes on. What is open, and the action log, always stay.
func (e *Engine) Clean(ctx context.Context, req CleanRequest) (out Cleaned, err error) {
	size, err := e.store.Size(ctx)
	if err != nil {
		return out, err
	}
	before := req.Before
	if before.IsZero() {
		before = e.cfg.Clock.Now().Add(-e.keep())
	}
	if !req.Histories {
		if err := e.cleanRuns(ctx, req, &out); err != nil {
			return out, err
		}
	}
	if req.Loop == "" {
		if out.Executions, err = e.Prune(ctx, before); err != nil {
			return out, err
		}
	}
	if err := e.cleanExpired(ctx, &out); err != nil {
		return out, err
	}
	if out.Blobs, err = e.sweep(ctx); err != nil {
		return out, fmt.Errorf("removing blobs: %w", err)
	}
	for left := int64(1); left > 0 && err == nil; {
		next, shrinkErr := e.store.Shrink(ctx, shrinkAtOnce)
		if err = shrinkErr; next == left {
			break // a reader is in the way
		}
		left = next
	}
	now, sizeErr := e.store.Size(ctx)
	out.Bytes = max(size.File-now.File, 0)
	return out, errors.Join(err, sizeErr)
}

// keep is how long executions and their histories are kept: as the project says
// for runs. A loop's own `keep` holds for its runs only.
func (e *Engine) keep() time.Duration {
	if e.cfg.Limits.Keep > 0 {
		return e.cfg.Limits.Keep
	}
	var longest time.Duration
	for _, l := range e.cfg.Loops {
		if p := l.Definition.Project; p != nil {
			longest = max(longest, p.Keep)
		}
	}
	if longest > 0 {
		return longest
	}
	return coordinator.DefaultKeep
}

func (e *Engine) cleanRuns(ctx context.Context, req CleanRequest, out *Cleaned) error {
	for more := true; more; {
		removed, err := e.coord.Retain(ctx, coordinator.Retention{Before: req.Before, Loop: req.Loop})
		out.Runs, out.Items, more = out.Runs+removed.Runs, out.Items+removed.Items, removed.More
		if err := errors.Join(err, e.store.Sync(ctx)); err != nil {
			return err
		}
	}
	return nil
}

func (e *Engine) cleanExpired(ctx context.Context, out *Cleaned) error {
	for {
		n, err := e.store.RemoveExpired(ctx, e.cfg.Clock.Now(), expiredAtOnce)
		if out.Items += n; err != nil || n < expiredAtOnce {
			return err
		}
	}
}

// tidy is a little of Clean, by the way: the watch has removed runs.
func (e *Engine) tidy(ctx context.Context) error {
	now := e.cfg.Clock.Now()
	_, pruned := e.core.Prune(ctx, now.Add(-e.keep()), pruneAtOnce)
	_, expired := e.store.RemoveExpired(ctx, now, expiredAtOnce)
	e.mu.Lock()
	due := !e.sweepDue.IsZero() && !now.Before(e.sweepDue)
	switch {
	case due:
		e.sweepDue = now.Add(sweepEvery)
	case e.sweepDue.IsZero():
		e.sweepDue = now.Add(sweepFirst)
	}
	e.mu.Unlock()
	var swept error
	if due {
		_, swept = e.sweep(ctx)
	}
	size, err := e.store.Size(ctx)
	if err == nil && size.Free > shrinkFrom && size.Free > size.File/4 {
		_, err = e.store.Shrink(ctx, shrinkAtOnce)
	}
	return errors.Join(pruned, expired, swept, err)
}

// sweep removes blobs that no item refers to and that were not put lately.
func (e *Engine) sweep(ctx context.Context) (int, error) {
	return sweep.Blobs(ctx, e.store, e.cfg.Clock.Now().Add(-blobGrace), 0)
}

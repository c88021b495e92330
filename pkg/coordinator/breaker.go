package coordinator

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/gate"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// brokenClasses speak of a worker and what it depends on, not of one input.
// Being asked too often is no failure: everyone on that provider waits.
var brokenClasses = []outerloop.Class{outerloop.ClassTimeout, outerloop.ClassTransient, outerloop.ClassToolFailed, outerloop.ClassFatal}

// passBreaker lets the attempt through while its worker's breaker is closed,
// and as the one probe when it is half-open. While it is open, a step that has a
// backup worker gives up on this one, so that the machine goes to the backup;
// any other waits. Neither is an attempt (R31).
func (q *call) passBreaker(ctx context.Context, now, limit time.Time) (*admission, error) {
	b, err := one(ctx, q.c, record.BreakerKey(q.worker.Charter.Worker), record.DecodeBreaker)
	if err != nil {
		return nil, fmt.Errorf("reading the breaker of %s: %w", q.worker.Charter.Worker, err)
	}
	if b == nil {
		return nil, nil
	}
	q.doubted = b.Fails > 0 || b.IsOpen()
	free, probe, until := b.Pass(q.attempt, now, limit)
	switch {
	case free && probe:
		return nil, q.c.write(ctx, b.Put())
	case free:
		return nil, nil
	}
	why := fmt.Sprintf("the breaker of %s is %s (%s)", b.Worker, b.State(now), b.Cause)
	if _, backup := q.workers(); backup != nil && !q.backup {
		out, err := q.refuse(ctx, &fault{class: outerloop.ClassTransient, cause: why, final: true})
		return &out, err
	}
	out := later(until, why)
	return &out, nil
}

// worked tells the worker's breaker what an attempt came to. Where it cannot be
// told, a later attempt tells it.
func (q *call) worked(ctx context.Context, step *record.Step, failure *gate.Failure) {
	switch {
	case failure == nil && !step.Doubted:
		return
	case failure == nil:
		q.changeBreaker(ctx, func(b *record.Breaker) (bool, bool) { return b.Succeeded(), false })
	case slices.Contains(brokenClasses, failure.Class):
		q.failedAttempt(ctx, q.attempt, string(failure.Class)+": "+q.veiledText(ctx, failure.Message))
	case step.Doubted: // it answered, if not as hoped
		q.changeBreaker(ctx, func(b *record.Breaker) (bool, bool) { return b.Succeeded(), false })
	}
}

// failedAttempt counts a failure of the worker; a crash is told by who finds it.
func (q *call) failedAttempt(ctx context.Context, attempt, cause string) {
	q.changeBreaker(ctx, func(b *record.Breaker) (bool, bool) {
		return true, b.Failed(attempt, cut(cause, logText), q.c.now())
	})
}

// changeBreaker changes the worker's breaker, and tells the worker's owner once
// when that opens it.
func (q *call) changeBreaker(ctx context.Context, change func(*record.Breaker) (changed, opens bool)) {
	name := q.worker.Charter.Worker
	opened, err := deciding(ctx, q.c, "changing the breaker of "+name, func(ctx context.Context) (*record.Breaker, error) {
		b, err := one(ctx, q.c, record.BreakerKey(name), record.DecodeBreaker)
		if err != nil {
			return nil, err
		}
		if b == nil {
			b = &record.Breaker{Worker: name}
		}
		changed, opens := change(b)
		if !changed {
			return nil, nil
		}
		if err := q.c.write(ctx, b.Put()); err != nil || !opens {
			return nil, err
		}
		return b, nil
	})
	if err != nil {
		q.c.cfg.Log.Warn("breaker not told", "worker", name, "err", err)
	}
	if opened == nil {
		return
	}
	q.c.cfg.Notify(ctx, Alert{
		To: q.worker.Charter.Owner, Kind: KindBreaker, ID: record.ShortID("breaker", name, opened.Opened.String()), Run: q.run.ID, Step: q.Step, at: spot{q.Step, q.Item},
		Text: fmt.Sprintf("the breaker of %s has opened after %d failures in a row, the last: %s", name, opened.Fails, opened.Cause),
	})
}

// probeNow lets workers whose breaker is open be tried by the next attempt: a
// person who has a run tried again has seen to them. One attempt at a time is
// let through, as ever. Where it cannot be written, the breaker's own time counts.
func (c *Coordinator) probeNow(ctx context.Context, run string) {
	def, err := c.definitionOf(ctx, run)
	if err != nil {
		c.cfg.Log.Warn("breakers not told of a retry", "run", run, "err", err)
		return
	}
	for _, name := range slices.Sorted(maps.Keys(def.Workers)) {
		_, err := deciding(ctx, c, "letting "+name+" be tried", func(ctx context.Context) (struct{}, error) {
			b, err := one(ctx, c, record.BreakerKey(name), record.DecodeBreaker)
			if err != nil || b == nil || !b.Probeable(c.now()) {
				return struct{}{}, err
			}
			return struct{}{}, c.write(ctx, b.Put())
		})
		if err != nil {
			c.cfg.Log.Warn("breaker not told of a retry", "worker", name, "err", err)
		}
	}
}

// BreakerView is a worker's breaker (R31).
type BreakerView struct {
	Worker string `json:"worker"`
	// State is closed, open or half-open.
	State string `json:"state"`
	// Fails are the failures in a row.
	Fails int64  `json:"fails"`
	Cause string `json:"cause,omitempty"`
	// OpenedAt is when the incident began, Until when the next attempt is let through; null while closed.
	OpenedAt *time.Time `json:"opened_at"`
	Until    *time.Time `json:"until"`
}

// Breakers lists the breakers of all workers that ever failed, by name.
func (c *Coordinator) Breakers(ctx context.Context) ([]BreakerView, error) {
	out := []BreakerView{}
	now := c.now()
	err := c.each(ctx, store.Query{Index: store.ByList, Part: record.BreakersPart}, func(item *store.Item) error {
		b, err := one(ctx, c, item.Key, record.DecodeBreaker)
		if err != nil || b == nil {
			return err
		}
		view := BreakerView{Worker: b.Worker, State: b.State(now), Fails: b.Fails, Cause: b.Cause}
		if b.IsOpen() {
			opened, until := b.Opened, time.UnixMilli(b.UntilMs).UTC()
			view.OpenedAt, view.Until = &opened, &until
		}
		out = append(out, view)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("listing breakers: %w", err)
	}
	return out, nil
}

package local

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/local/durable"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// RunUntilIdle works until nothing more can move without a person, an event or
// a time beyond the patience, and everything is durable. It answers what it
// would wait for. Where something is overdue, a decision of before a crash that
// no machine was told, it lets the watch look once. Several callers share the
// work. Errors: the context's, ErrClosed, and what stopped the engine: the
// state file is then to be opened anew.
func (e *Engine) RunUntilIdle(ctx context.Context) (Idle, error) {
	for looked := false; ; {
		next, idle, err := e.step(ctx)
		switch {
		case err != nil:
			return Idle{}, err
		case !idle:
			continue
		case !looked:
			looked = true
			overdue, err := e.overdue(ctx)
			if err != nil {
				return Idle{}, fmt.Errorf("running until idle: %w", err)
			}
			if overdue {
				e.lookAround(ctx)
				continue
			}
		}
		if err := e.store.Sync(ctx); err != nil {
			return Idle{}, fmt.Errorf("running until idle: %w", err)
		}
		return Idle{Next: next}, nil
	}
}

// overdue tells whether the coordinator's watch has something to do: it looks
// at all open runs, which is not worth it otherwise.
func (e *Engine) overdue(ctx context.Context) (bool, error) {
	now := store.TimeKey(e.soon(time.Millisecond))
	page, err := e.store.List(ctx, store.Query{Index: store.ByDue, Part: record.DuePart, To: now, Limit: 1})
	return len(page.Items) > 0, err
}

func (e *Engine) patience() time.Duration { return max(e.cfg.Patience, 0) }

// step starts what can start, fires what is due, and waits for the next change.
// idle: nothing was under way or due.
func (e *Engine) step(ctx context.Context) (next time.Time, idle bool, err error) {
	fired, err := e.core.Fire(ctx)
	if err != nil {
		return next, false, err
	}
	e.mu.Lock()
	e.spawn(ctx)
	busy, changed, failed := e.busy, e.changed, e.failed
	e.mu.Unlock()
	switch {
	case failed != nil:
		return next, false, failed
	case fired > 0:
		return next, false, nil
	}
	if next, err = e.core.NextDue(ctx); err != nil {
		return next, false, err
	}
	if busy == 0 && (next.IsZero() || next.After(e.soon(e.patience()))) {
		return next, true, nil
	}
	return next, false, e.wait(ctx, changed, next)
}

// wait returns at a change, at a time (zero: none), or with the context's error.
func (e *Engine) wait(ctx context.Context, changed <-chan struct{}, until time.Time) error {
	var alarm <-chan time.Time
	if !until.IsZero() {
		alarm = e.cfg.Clock.After(max(until.Sub(e.cfg.Clock.Now()), 0))
	}
	select {
	case <-changed:
	case <-alarm:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// progress shows a transition to whoever watches.
func (e *Engine) progress(t durable.Transition) {
	e.watching.Lock()
	watchers := make([]func(Progress), 0, len(e.watchers))
	for _, w := range e.watchers {
		watchers = append(watchers, w)
	}
	e.watching.Unlock()
	if len(watchers) == 0 {
		return
	}
	run := runOf(t.Execution)
	for _, event := range t.History {
		p := Progress{At: event.Time, Run: run, Event: string(event.Type)}
		if d := event.Details; d != nil {
			p.State = d.Name
			if d.Error != nil {
				p.Error = *d.Error
			}
		}
		for _, watch := range watchers {
			watch(p)
		}
	}
}

// runOf is the run of an execution's name: RUN-gGENERATION, children after a colon.
func runOf(execution string) string {
	name, _, _ := strings.Cut(execution, ":")
	if i := strings.LastIndex(name, "-g"); i > 0 {
		return name[:i]
	}
	return name
}

// watch adds a receiver of progress until the returned function is called.
func (e *Engine) watch(f func(Progress)) (stop func()) {
	e.watching.Lock()
	defer e.watching.Unlock()
	id := e.watcher
	e.watcher++
	e.watchers[id] = f
	return func() {
		e.watching.Lock()
		defer e.watching.Unlock()
		delete(e.watchers, id)
	}
}

package coordinator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// DefaultKeep is how long a closed run is kept where nothing else is said.
const DefaultKeep = 90 * 24 * time.Hour

// removedInARound bounds the items that one round of the watch removes.
const removedInARound = 1000

// Retention says what may go.
type Retention struct {
	// Before is the time before which a run must have ended; zero: as long ago as
	// each loop's runs are kept (its `keep`, Config.Keep, Config.KeepOf, DefaultKeep).
	Before time.Time
	// Loop names the only loop whose runs may go; empty: every loop's.
	Loop string
	// Items bounds how many items one call removes; 0: 1,000.
	Items int
}

// Removed is what a call of Retain removed. More: its bound ended it.
type Removed struct {
	Runs  int  `json:"runs"`
	Items int  `json:"items"`
	More  bool `json:"more,omitempty"`
}

// Retain removes runs that were closed long ago: their records, steps, visits
// and late results, and their decided requests and exceptions. A run goes step
// by step, its own record last, so that a call that broke off is finished by
// the next; from the first step on it cannot be redriven. Kept are the action
// log, so that an action is never done again, quotas, facts, events,
// definitions and the days' figures. Resolved exceptions of messages that
// belonged to no run go when they are older than Config.Keep.
func (c *Coordinator) Retain(ctx context.Context, r Retention) (Removed, error) {
	var out Removed
	if r.Items <= 0 {
		r.Items = removedInARound
	}
	err := c.eachLoop(ctx, func(name string) error {
		if r.Loop != "" && r.Loop != name || out.More {
			return nil
		}
		before := r.Before
		if before.IsZero() {
			before = c.now().Add(-c.keepOf(ctx, name))
		}
		return c.retainLoop(ctx, name, before, &retaining{Retention: r, Removed: &out})
	})
	if err == nil && r.Loop == "" && !out.More {
		err = c.retainLoose(ctx, &retaining{Retention: r, Removed: &out})
	}
	if err != nil {
		err = fmt.Errorf("removing old runs: %w", err)
	}
	return out, err
}

// keepOf is how long a loop's closed runs are kept: as the configuration says for
// it, as its newest version or the project says, as the configuration says for all.
func (c *Coordinator) keepOf(ctx context.Context, name string) time.Duration {
	if keep := c.cfg.KeepOf[name]; keep > 0 {
		return keep
	}
	def, _, err := c.latest(ctx, name)
	if err == nil && def.Keep > 0 {
		return def.Keep
	}
	if c.cfg.Keep > 0 {
		return c.cfg.Keep
	}
	return DefaultKeep
}

type retaining struct {
	Retention
	*Removed
}

// full tells whether the bound is reached.
func (r *retaining) full() bool {
	r.More = r.Removed.Items >= r.Retention.Items
	return r.More
}

// errFull ends a walk at the bound.
var errFull = errors.New("bound reached")

func (c *Coordinator) retainLoop(ctx context.Context, name string, before time.Time, r *retaining) error {
	q := store.Query{Index: store.ByList, Part: record.RunListPart(name, false), To: store.TimeKey(before)}
	err := c.each(ctx, q, func(item *store.Item) error {
		run, err := record.DecodeRun(item)
		if err != nil || !run.Status.Closed() || !run.Ended.Before(before) {
			return err
		}
		if r.full() {
			return errFull
		}
		return c.removeRun(ctx, run, r)
	})
	if errors.Is(err, errFull) {
		return nil
	}
	return err
}

// removeRun removes a run as far as the bound allows. One that somebody has
// redriven meanwhile stays.
func (c *Coordinator) removeRun(ctx context.Context, run *record.Run, r *retaining) error {
	if !run.Cancelling { // nobody can redrive it from now on
		run.Cancelling = true
		run.Note(record.Entry{At: c.now(), Kind: "removing", Rule: "ended " + run.Ended.Format(time.RFC3339)})
		if err := c.write(ctx, run.Put()); err != nil {
			return raced(err)
		}
		run.Stored++
	}
	key := record.RunKey(run.ID)
	for {
		page, err := c.cfg.Store.List(ctx, store.Query{Part: key.Part, Limit: 100})
		if err != nil {
			return err
		}
		for i := range page.Items {
			if page.Items[i].Key == key {
				continue
			}
			if r.full() {
				return errFull
			}
			if err := c.removeBeside(ctx, &page.Items[i], r); err != nil {
				return err
			}
		}
		if page.Next == "" && len(page.Items) <= 1 {
			break
		}
	}
	if err := c.removeException(ctx, run.Exception, r); err != nil {
		return err
	}
	if err := c.write(ctx, store.Remove(key, run.Stored)); err != nil {
		return raced(err)
	}
	r.Runs++
	r.Removed.Items++
	return nil
}

// raced: a condition that failed means that somebody else was there first.
func raced(err error) error {
	if errors.Is(err, store.ErrCondition) {
		return nil
	}
	return err
}

// removeBeside removes an item of a run's partition, after what it names.
func (c *Coordinator) removeBeside(ctx context.Context, item *store.Item, r *retaining) error {
	if strings.HasPrefix(item.Sort, record.StepsPrefix("")) || strings.HasPrefix(item.Sort, record.VisitsPrefix()) {
		step, err := record.DecodeStep(item)
		if err != nil {
			return err
		}
		if step.Approval != "" {
			if err := c.removeOne(ctx, record.ApprovalKey(step.Approval), r); err != nil {
				return err
			}
		}
		if err := c.removeException(ctx, step.Exception, r); err != nil {
			return err
		}
	}
	return c.removeOne(ctx, item.Key, r)
}

// removeException keeps one that still needs a person.
func (c *Coordinator) removeException(ctx context.Context, id string, r *retaining) error {
	if id == "" {
		return nil
	}
	exc, err := one(ctx, c, record.ExceptionKey(id), record.DecodeException)
	if err != nil || exc == nil || !exc.Resolved() {
		return err
	}
	return c.removeOne(ctx, record.ExceptionKey(id), r)
}

// looseEvery is how often the watch looks for resolved exceptions without a run.
const looseEvery = time.Hour

// retainLoose removes resolved exceptions that no run's removal finds: those of
// messages, and of runs that have gone. The watch looks once in a while.
func (c *Coordinator) retainLoose(ctx context.Context, r *retaining) error {
	before := r.Before
	if before.IsZero() {
		if !c.loose.due("", c.now()) {
			return nil
		}
		c.loose.next("", c.now().Add(looseEvery))
		before = c.now().Add(-cmp.Or(c.cfg.Keep, DefaultKeep))
	}
	q := store.Query{Index: store.ByList, Part: record.ExceptionsResolved, To: store.TimeKey(before)}
	err := c.each(ctx, q, func(item *store.Item) error {
		exc, err := record.DecodeException(item)
		if err != nil || !exc.Resolved() || !exc.At.Before(before) {
			return err
		}
		if r.full() {
			return errFull
		}
		if exc.Run != "" {
			run, err := one(ctx, c, record.RunKey(exc.Run), record.DecodeRun)
			if err != nil || run != nil {
				return err
			}
		}
		return c.removeOne(ctx, item.Key, r)
	})
	if errors.Is(err, errFull) {
		return nil
	}
	return err
}

func (c *Coordinator) removeOne(ctx context.Context, key store.Key, r *retaining) error {
	err := c.write(ctx, store.Remove(key, 0))
	if err == nil {
		r.Removed.Items++
	}
	return raced(err)
}

// watchRetention removes a little of what is old.
func (c *Coordinator) watchRetention(ctx context.Context, tick *Tick) error {
	out, err := c.Retain(ctx, Retention{})
	if out.Runs > 0 {
		tick.repaired("%d runs removed, their time is over", out.Runs)
	}
	return err
}

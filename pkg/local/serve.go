package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/local/sfnapi"
	"github.com/outerloop-dev/outerloop/pkg/loop"
	"github.com/outerloop-dev/outerloop/pkg/schedule"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

const (
	// watchEvery is how often the coordinator's watch looks, as on AWS.
	watchEvery = time.Minute
	// foldAtOnce bounds housekeeping between two looks.
	foldAtOnce = 200
)

// Serve works until the context ends: it moves runs, fires schedules, asks the
// monitors' probes, and lets the coordinator's watch look every minute. It answers nil at the context's
// end, else what stopped the engine.
func (e *Engine) Serve(ctx context.Context) error {
	timers, probes := schedules{e: e}, &monitors{e: e}
	defer probes.looks.Wait()
	ctx, stop := context.WithCancel(ctx)
	defer e.post.wait()
	defer stop()
	e.post.serve(ctx)
	look := e.cfg.Clock.Now()
	for {
		now := e.cfg.Clock.Now()
		next, err := timers.fire(ctx, now)
		if err != nil {
			return stopped(ctx, err)
		}
		probe, err := probes.look(ctx, now)
		if err != nil {
			return stopped(ctx, err)
		}
		if !probe.IsZero() && (next.IsZero() || probe.Before(next)) {
			next = probe
		}
		if !look.After(now) {
			e.lookAround(ctx)
			look = now.Add(watchEvery)
		}
		if next.IsZero() || look.Before(next) {
			next = look
		}
		if err := e.serveUntil(ctx, next); err != nil {
			return stopped(ctx, err)
		}
	}
}

func stopped(ctx context.Context, err error) error {
	if ctx.Err() != nil && (errors.Is(err, ctx.Err()) || errors.Is(err, context.Cause(ctx))) {
		return nil
	}
	return err
}

// serveUntil moves runs until a time.
func (e *Engine) serveUntil(ctx context.Context, until time.Time) error {
	for e.cfg.Clock.Now().Before(until) {
		e.mu.Lock()
		changed := e.changed
		e.mu.Unlock()
		next, idle, err := e.step(ctx)
		if err != nil {
			return err
		}
		if !idle {
			continue
		}
		if next.IsZero() || until.Before(next) {
			next = until
		}
		if err := e.wait(ctx, changed, next); err != nil {
			return err
		}
	}
	return nil
}

// lookAround does the watch and the housekeeping.
func (e *Engine) lookAround(ctx context.Context) {
	tick, err := e.coord.Watch(ctx)
	if err != nil && ctx.Err() == nil {
		e.cfg.Log.Error("the watch could not look", "error", err)
	}
	e.post.digests(ctx)
	for _, repaired := range tick.Repaired {
		e.cfg.Log.Info("repaired", "what", repaired)
	}
	if err := e.buryDead(ctx); err != nil && ctx.Err() == nil {
		e.cfg.Log.Error("dead letters were not looked at", "error", err)
	}
	if _, err := e.core.Fold(ctx, foldAtOnce); err != nil && ctx.Err() == nil {
		e.cfg.Log.Error("histories were not folded", "error", err)
	}
	if err := e.tidy(ctx); err != nil && ctx.Err() == nil {
		e.cfg.Log.Error("what is old was not removed", "error", err)
	}
	e.kick(ctx)
}

// pruneAtOnce bounds the executions that are deleted in one turn.
const pruneAtOnce = 100

// Prune deletes the executions that ended before a time, in batches between
// which other work goes on, and answers how many it deleted.
func (e *Engine) Prune(ctx context.Context, before time.Time) (int, error) {
	for done := 0; ; {
		n, err := e.core.Prune(ctx, before, pruneAtOnce)
		done += n
		if err != nil || n < pruneAtOnce {
			return done, errors.Join(err, e.store.Sync(ctx))
		}
		if err := e.store.Sync(ctx); err != nil {
			return done, err
		}
	}
}

// API is the Step Functions API over this engine's machines and executions; the
// loops' own machines are among them. Serve it on sfnapi.Listen only.
func (e *Engine) API() http.Handler {
	return sfnapi.New(sfnapi.Config{
		Core: e.core, Store: e.store, Blobs: e.store, Clock: e.cfg.Clock.Now,
		Settle: func(ctx context.Context) error {
			e.kick(ctx)
			return e.store.Sync(ctx)
		},
	})
}

// schedules fires the loops' schedules. What has fired is kept in the store;
// when one fires next follows from that, the definition and the time.
type schedules struct{ e *Engine }

// fired is what is kept of a schedule.
type fired struct {
	Last time.Time `json:"last"`
}

func scheduleKey(loopName, expression string) store.Key {
	return store.Key{Part: "SCHEDULE", Sort: loopName + "/" + expression}
}

// fire starts what is due and answers when something is due next.
func (s schedules) fire(ctx context.Context, now time.Time) (next time.Time, err error) {
	if s.e.cfg.Scheduled == nil {
		return next, nil
	}
	for _, l := range s.e.cfg.Loops {
		for number, trigger := range l.Definition.Triggers {
			if trigger.Schedule == nil {
				continue
			}
			at, err := s.fireOne(ctx, timed{l.Definition, trigger, number}, now)
			if err != nil {
				return next, fmt.Errorf("firing schedule %s of %s: %w", trigger.Schedule, l.Definition.Loop.Name, err)
			}
			if !at.IsZero() && (next.IsZero() || at.Before(next)) {
				next = at
			}
		}
	}
	return next, nil
}

// timed is a loop's schedule.
type timed struct {
	def     *loop.Definition
	trigger loop.TriggerRule
	// number is the trigger's among the loop's.
	number int
}

// fireOne makes up for what a schedule missed, within its policy.
func (s schedules) fireOne(ctx context.Context, t timed, now time.Time) (next time.Time, err error) {
	def, trigger := t.def, t.trigger
	key := scheduleKey(def.Loop.Name, trigger.Schedule.String())
	items, err := s.e.store.Get(ctx, key, record.LoopKey(def.Loop.Name))
	if err != nil {
		return next, err
	}
	slot, err := record.DecodeLoop(items[1])
	if err != nil {
		return next, err
	}
	last := fired{Last: now}
	if items[0] == nil {
		return s.after(trigger, now), s.keep(ctx, key, nil, last)
	}
	if err := json.Unmarshal(items[0].Body, &last); err != nil {
		return next, err
	}
	if slot != nil && slot.Paused {
		// What a paused loop misses is made up for, within its policy, when it goes on.
		return s.after(trigger, now), nil
	}
	due, dropped := dueNow(trigger, last.Last, now)
	if dropped > 0 {
		s.e.cfg.Log.Warn("missed fires are not made up for", "loop", def.Loop.Name, "schedule", trigger.Schedule.String(), "dropped", dropped)
	}
	for _, f := range due {
		s.start(ctx, t, f)
	}
	if len(due)+dropped > 0 {
		err = s.keep(ctx, key, items[0], fired{Last: now})
	}
	return s.after(trigger, now), err
}

// after is the next fire; zero: there is none any more.
func (s schedules) after(trigger loop.TriggerRule, now time.Time) time.Time {
	f, ok := trigger.Schedule.Next(now)
	if !ok {
		return time.Time{}
	}
	return f.At
}

// punctual is how late a fire may be and still counts as on time, not as missed.
const punctual = 2 * time.Minute

// dueNow are the fires to start: those to be made up for, and the latest when
// it is due just now, whatever the policy says about missed ones. dropped counts
// the others, at least.
func dueNow(trigger loop.TriggerRule, last, now time.Time) (due []schedule.Fire, dropped int) {
	missed := trigger.Schedule.Missed(last, now, max(trigger.CatchUp, 0))
	if len(missed.Due) > 0 || missed.Dropped == 0 {
		return missed.Due, missed.Dropped
	}
	recent := now.Add(-punctual)
	if recent.Before(last) {
		recent = last
	}
	due = trigger.Schedule.Missed(recent, now, 1).Due
	return due, missed.Dropped - len(due)
}

// start starts one fire's run. What cannot start is logged: the next fire is
// not held up by it.
func (s schedules) start(ctx context.Context, t timed, f schedule.Fire) {
	name := t.def.Loop.Name
	log := s.e.cfg.Log.With("loop", name, "fire", f.At.UTC())
	out, err := s.e.coord.Fire(ctx, coordinator.FireRequest{
		Loop: name, Trigger: t.number, At: f.At, By: t.trigger.Name,
		Files: func(ctx context.Context, input json.RawMessage) (json.RawMessage, error) {
			return s.e.cfg.Scheduled(ctx, Scheduled{Definition: t.def, Trigger: t.trigger, At: f.At, Input: input, PutBlob: s.e.store.PutBlob})
		},
	})
	switch {
	case errors.Is(err, coordinator.ErrOverlap):
		log.Info("skipped", "reason", err)
	case err != nil:
		log.Error("a scheduled run was not started", "error", err)
	case out.NotDue != "":
		log.Info("not due", "reason", out.NotDue)
	case out.Duplicate:
		log.Info("duplicate", "run", out.Run)
	default:
		log.Info("started", "run", out.Run)
	}
}

func (s schedules) keep(ctx context.Context, key store.Key, have *store.Item, last fired) error {
	body, err := json.Marshal(last)
	if err != nil {
		return err
	}
	op := store.Create(store.Item{Key: key, Body: body})
	if have != nil {
		op = store.Replace(store.Item{Key: key, Version: have.Version, Body: body})
	}
	return s.e.store.Write(ctx, s.e.id(), op)
}

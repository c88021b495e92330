package coordinator

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/protocol"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/gate"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// startGrace is how long a new execution may stay unseen before the watch
// starts it again, and an ended one unfinished before its run is blocked: what
// an engine says about itself lags behind.
const startGrace = 10 * time.Second

// Watch does one round (R41): it starts executions that were not started,
// blocks runs whose execution ended without finish, ends runs past their
// deadline, finishes cancelling, reminds of approvals, expires and delivers them,
// makes actions past their limit unknown, and removes runs that were closed long
// ago (Retain). Every repair is idempotent; one
// that fails is tried again in the next round, and does not stop the others:
// their errors are joined.
func (c *Coordinator) Watch(ctx context.Context) (Tick, error) {
	tick := Tick{Repaired: []string{}}
	err := errors.Join(c.watchDue(ctx, &tick), c.watchEvents(ctx, &tick), c.watchRuns(ctx, &tick), c.watchChildren(ctx, &tick), c.watchExceptions(ctx), c.watchRequests(ctx), c.watchRetention(ctx, &tick))
	return tick, err
}

func (t *Tick) repaired(format string, args ...any) {
	t.Repaired = append(t.Repaired, fmt.Sprintf(format, args...))
}

func (t *Tick) next(at time.Time) {
	if t.Next.IsZero() || at.Before(t.Next) {
		t.Next = at
	}
}

// watchDue goes through what is due by time.
func (c *Coordinator) watchDue(ctx context.Context, tick *Tick) error {
	now := c.now()
	var failed []error
	q := store.Query{Index: store.ByDue, Part: record.DuePart, To: store.TimeKey(now.Add(time.Millisecond))}
	err := c.each(ctx, q, func(item *store.Item) error {
		tick.Looked++
		failed = append(failed, c.repair(ctx, item.Key, tick))
		return nil
	})
	first, nextErr := c.cfg.Store.List(ctx, store.Query{Index: store.ByDue, Part: record.DuePart, From: store.TimeKey(now.Add(time.Millisecond)), Limit: 1})
	if nextErr == nil && len(first.Items) > 0 && first.Items[0].Due != nil {
		stamp, _, _ := strings.Cut(first.Items[0].Due.Sort, "#")
		if at, parseErr := time.Parse("2006-01-02T15:04:05.000Z", stamp); parseErr == nil {
			tick.next(at)
		}
	}
	return errors.Join(append(failed, err, nextErr)...)
}

// repair looks at one due record as it stands now.
func (c *Coordinator) repair(ctx context.Context, key store.Key, tick *Tick) error {
	kind, _, _ := strings.Cut(key.Part, "#")
	var err error
	switch kind {
	case "ACT":
		err = c.repairAction(ctx, key, tick)
	case "APPROVAL":
		err = c.repairApproval(ctx, key, tick)
	case "EXC":
		err = c.repairException(ctx, key, tick)
	case "RUN":
		err = c.repairDeadline(ctx, key, tick)
	case "WAITER":
		err = c.repairWaiter(ctx, key)
	}
	if errors.Is(err, store.ErrCondition) {
		return nil // somebody else was quicker
	}
	return err
}

func (c *Coordinator) repairAction(ctx context.Context, key store.Key, tick *Tick) error {
	a, err := one(ctx, c, key, record.DecodeAction)
	if err != nil || a == nil || a.State != record.ActionExecuting || c.now().UnixMilli() < a.UntilMs {
		return err
	}
	protocol.Lost(a)
	if err := c.write(ctx, a.Put()); err != nil {
		return err
	}
	tick.repaired("action %s: outcome unknown", a.Entry)
	return nil
}

func (c *Coordinator) repairApproval(ctx context.Context, key store.Key, tick *Tick) error {
	ap, err := one(ctx, c, key, record.DecodeApproval)
	if err != nil || ap == nil || ap.Void || ap.Delivered {
		return err
	}
	if !ap.Decided() {
		return c.repairExpiry(ctx, ap, tick)
	}
	if ap.Token == "" {
		return nil // the state that asked has not registered yet
	}
	if err := c.deliver(ctx, ap); err != nil {
		return err
	}
	tick.repaired("approval %s: %s delivered", ap.ID, ap.Decision)
	return nil
}

func (c *Coordinator) repairExpiry(ctx context.Context, ap *record.Approval, tick *Tick) error {
	if c.now().Before(ap.Expires) {
		return c.nudge(ctx, ap, tick)
	}
	d, err := c.receive(ctx, gate.Delivery{Run: ap.Run, Gen: ap.Gen, Step: ap.Path, Item: itemOf(ap.Address)})
	if err != nil {
		return err
	}
	switch {
	case d.run.Status.Closed():
		ap.Void = true
		if err := c.write(ctx, ap.Put()); err != nil {
			return err
		}
		tick.repaired("approval %s: closed with its run", ap.ID)
		return nil
	case !d.run.Open():
		return nil
	}
	if err := d.expire(ctx, d.node, ap); err != nil {
		return err
	}
	tick.repaired("approval %s: %s", ap.ID, ap.Decision)
	return c.deliver(ctx, ap)
}

func (c *Coordinator) repairException(ctx context.Context, key store.Key, tick *Tick) error {
	exc, err := one(ctx, c, key, record.DecodeException)
	if err != nil || exc == nil || exc.Delivered {
		return err
	}
	if exc.Resolution == WayRollback {
		if err := c.rollbackOf(ctx, exc); err != nil {
			return err
		}
		tick.repaired("exception %s: rollback made", exc.ID)
		return nil
	}
	if err := c.deliverException(ctx, exc); err != nil {
		return err
	}
	tick.repaired("exception %s: answer delivered", exc.ID)
	return nil
}

// deadlinePassed begins the reason of every run that failed by its deadline.
const deadlinePassed = "deadline passed"

// repairDeadline ends a run at its deadline: the only thing that fails a run
// that nobody cancelled or closed. A run that is acting gets the action's time.
func (c *Coordinator) repairDeadline(ctx context.Context, key store.Key, tick *Tick) error {
	run, err := one(ctx, c, key, record.DecodeRun)
	if err == nil && run != nil && run.Status == outerloop.StatusFailed && !run.Followed {
		tick.repaired("run %s: what follows its end", run.ID)
		return c.settleRun(ctx, run.ID)
	}
	if err != nil || run == nil || run.Status.Closed() || run.Cancelling || run.Queued || c.now().Before(run.Deadline) {
		return err
	}
	if busy, err := c.acting(ctx, run); err != nil || busy {
		return err
	}
	reason := deadlinePassed
	if run.Reason != "" {
		reason += " while blocked: " + run.Reason
	}
	c.closeRun(run, outerloop.StatusFailed, reason)
	if err := c.write(ctx, run.Closing()...); err != nil {
		return err
	}
	tick.repaired("run %s: failed, deadline passed", run.ID)
	c.tellOf(ctx, run, Alert{Kind: KindDeadline, ID: run.ID, Since: run.Ended, Text: reason})
	return c.settleRun(ctx, run.ID)
}

// watchRuns compares open runs with their executions.
func (c *Coordinator) watchRuns(ctx context.Context, tick *Tick) error {
	var failed []error
	err := c.eachLoop(ctx, func(name string) error {
		q := store.Query{Index: store.ByList, Part: record.RunListPart(name, true)}
		return c.each(ctx, q, func(item *store.Item) error {
			tick.Looked++
			failed = append(failed, c.repairRun(ctx, item.Key, tick))
			return nil
		})
	})
	return errors.Join(append(failed, err)...)
}

func (c *Coordinator) eachLoop(ctx context.Context, visit func(name string) error) error {
	var names []string
	err := c.each(ctx, store.Query{Part: record.LoopsPart}, func(item *store.Item) error {
		names = append(names, item.Sort)
		return nil
	})
	for _, name := range names {
		if err != nil {
			return err
		}
		err = visit(name)
	}
	return err
}

func (c *Coordinator) repairRun(ctx context.Context, key store.Key, tick *Tick) error {
	run, err := one(ctx, c, key, record.DecodeRun)
	if err != nil || run == nil || run.Status.Closed() {
		return err
	}
	if run.Queued && !run.Cancelling {
		return c.freeSlots(ctx, run.Loop)
	}
	if run.Cancelling {
		closed, err := c.finishCancel(ctx, run.ID)
		if closed {
			tick.repaired("run %s: cancelled", run.ID)
		}
		return err
	}
	if run.Rollback != nil {
		return c.driveRollback(ctx, run.ID)
	}
	state, err := c.cfg.Executions.Describe(ctx, executionName(run.ID, run.Gen))
	if err != nil {
		return fmt.Errorf("describing the execution of %s: %w", run.ID, err)
	}
	switch {
	case !run.Open() && state.Status == ExecutionRunning:
		tick.repaired("run %s: execution of a blocked run stopped", run.ID)
		return c.cfg.Executions.Stop(ctx, executionName(run.ID, run.Gen), outerloop.ErrorStop, "run is "+string(run.Status))
	case !run.Open() || c.now().Sub(lastEntry(run)) < startGrace:
		return nil
	case state.Status == ExecutionAbsent || run.Status == outerloop.StatusNew && state.Status == ExecutionRunning:
		if err := c.startExecution(ctx, run.ID); err != nil {
			return err
		}
		tick.repaired("run %s: execution started", run.ID)
	case state.Status == ExecutionEnded:
		return c.repairEnded(ctx, run, state, tick)
	}
	return errors.Join(c.tellStall(ctx, run), c.tellCost(ctx, run))
}

// lastEntry is when something was last decided about the run itself.
func lastEntry(run *record.Run) time.Time {
	at := run.Started
	if n := len(run.Log); n > 0 {
		at = run.Log[n-1].At
	}
	return at
}

// repairEnded blocks a run whose execution ended without finish.
func (c *Coordinator) repairEnded(ctx context.Context, run *record.Run, state ExecutionState, tick *Tick) error {
	def, err := c.definitionOf(ctx, run.ID)
	if err != nil {
		return err
	}
	v := &view{c: c, def: def, run: run, steps: map[record.Address]*record.Step{}}
	cause := "its execution ended without finishing the run"
	if state.Error != "" {
		cause += ": " + state.Error + ": " + cut(state.Cause, logText)
	}
	ops, exc, err := v.block(ctx, incident{
		name: "the run", cause: cause, class: state.Error, blocks: true, tried: "the watch compared run and execution",
		ways: []string{WayRetry, WayClose},
	})
	if err != nil {
		return err
	}
	if err := c.write(ctx, ops...); err != nil {
		if errors.Is(err, store.ErrCondition) {
			return nil
		}
		return err
	}
	c.alert(ctx, exc, def)
	tick.repaired("run %s: blocked, its execution had ended", run.ID)
	return nil
}

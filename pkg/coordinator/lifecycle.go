package coordinator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// executionName is the name of a generation's execution.
func executionName(run string, gen int) string { return fmt.Sprintf("%s-g%d", run, gen) }

// machineInput is the whole input of an execution, canonical.
func machineInput(run string, gen int) (json.RawMessage, error) {
	return canonical(map[string]any{"run": run, "gen": gen, "item": "", "o": nil})
}

// startExecution starts the execution of the run's generation, if the run is
// open; once started, a new run is in progress. It may be called any number of times.
func (c *Coordinator) startExecution(ctx context.Context, id string) error {
	run, err := one(ctx, c, record.RunKey(id), c.records.Run)
	if err != nil || run == nil {
		return err
	}
	if !run.Open() || run.Queued {
		return nil
	}
	if run.Rollback != nil {
		return c.driveRollback(ctx, id)
	}
	if err := c.stopOlder(ctx, run); err != nil {
		return err
	}
	input, err := machineInput(run.ID, run.Gen)
	if err != nil {
		return err
	}
	err = c.cfg.Executions.Start(ctx, Execution{Name: executionName(id, run.Gen), Loop: run.Loop, Definition: run.Definition, Input: input})
	if err != nil {
		return fmt.Errorf("starting the execution of %s: %w", id, err)
	}
	if run.Status != outerloop.StatusNew {
		return nil
	}
	run.Status = outerloop.StatusInProgress
	if err := c.write(ctx, c.records.PutRun(run)); err != nil && !errors.Is(err, store.ErrCondition) {
		return fmt.Errorf("noting the start of %s: %w", id, err)
	}
	return nil
}

// closeRun makes the run closed: its reservations come back, its money stays as it is from then on.
func (c *Coordinator) closeRun(run *record.Run, status outerloop.Status, reason string) {
	run.Numbers = cloneNumbers(run.Numbers)
	run.Fold()
	run.Status, run.Reason, run.Ended, run.Cancelling = status, reason, c.now(), false
	run.Numbers[record.RunAwaiting], run.Numbers[record.RunQuestions] = 0, 0
	run.Note(record.Entry{At: run.Ended, Kind: "closed", Outcome: string(status), Rule: cut(reason, logText), Ms: run.Ended.Sub(run.Started).Milliseconds()})
}

// stopOlder ends the execution of the generation before: a run may have been
// blocked by a call that came late, while its machine still waits.
func (c *Coordinator) stopOlder(ctx context.Context, run *record.Run) error {
	if run.Gen == 1 {
		return nil
	}
	why := fmt.Sprintf("generation %d of the run began", run.Gen)
	if err := c.cfg.Executions.Stop(ctx, executionName(run.ID, run.Gen-1), outerloop.ErrorStop, why); err != nil {
		return fmt.Errorf("stopping the older execution of %s: %w", run.ID, err)
	}
	return nil
}

// settleRun does what follows the end of a run: its execution stops, its slot
// is free, its open requests are void. It may be called any number of times;
// until it has been done once, the watch does it.
func (c *Coordinator) settleRun(ctx context.Context, id string) error {
	run, err := one(ctx, c, record.RunKey(id), c.records.Run)
	if err != nil || run == nil || !run.Status.Closed() {
		return err
	}
	stopped := c.cfg.Executions.Stop(ctx, executionName(id, run.Gen), outerloop.ErrorStop, "run is "+string(run.Status))
	err = errors.Join(stopped, c.cancelChildren(ctx, run.ID, "run "+run.ID+" is "+string(run.Status)),
		c.releaseSlot(ctx, run), c.voidRequests(ctx, run), c.tellParent(ctx, run.ID))
	if err != nil || run.Followed || run.Status != outerloop.StatusFailed {
		return err
	}
	run.Followed = true
	if err := c.write(ctx, run.Put()); err != nil && !errors.Is(err, store.ErrCondition) {
		return fmt.Errorf("noting that the end of %s is done with: %w", id, err)
	}
	return nil
}

// voidRequests takes what still waits for a person out of the lists: when a run
// ends, its requests close.
func (c *Coordinator) voidRequests(ctx context.Context, run *record.Run) error {
	if run.Exception != "" {
		if err := c.voidException(ctx, run.Exception, run); err != nil {
			return err
		}
	}
	return c.each(ctx, store.Query{Part: record.RunKey(run.ID).Part, Prefix: record.StepsPrefix("")}, func(item *store.Item) error {
		step, err := record.DecodeStep(item)
		if err != nil {
			return err
		}
		if step.Approval != "" && step.State != outerloop.StepSettled {
			if err := c.voidApproval(ctx, step.Approval, run); err != nil {
				return err
			}
		}
		if step.Exception != "" && step.State != outerloop.StepSettled {
			return c.voidException(ctx, step.Exception, run)
		}
		return nil
	})
}

func (c *Coordinator) voidApproval(ctx context.Context, id string, run *record.Run) error {
	_, err := deciding(ctx, c, "closing request "+id, func(ctx context.Context) (struct{}, error) {
		var none struct{}
		ap, err := one(ctx, c, record.ApprovalKey(id), record.DecodeApproval)
		if err != nil || ap == nil || ap.Void || ap.Decided() {
			return none, err
		}
		ap.Void = true
		return none, c.write(ctx, ap.Put(), stillClosed(run))
	})
	return err
}

func (c *Coordinator) voidException(ctx context.Context, id string, run *record.Run) error {
	_, err := deciding(ctx, c, "closing exception "+id, func(ctx context.Context) (struct{}, error) {
		var none struct{}
		exc, err := one(ctx, c, record.ExceptionKey(id), record.DecodeException)
		if err != nil || exc == nil || exc.Resolved() {
			return none, err
		}
		exc.Resolution, exc.By, exc.At, exc.Reason, exc.Delivered = WayClose, "the run's end", c.now(), "run is "+string(run.Status), true
		return none, c.write(ctx, exc.Put(), stillClosed(run))
	})
	return err
}

// stillClosed demands that nobody has redriven the run meanwhile.
func stillClosed(run *record.Run) store.Op {
	return store.Check(record.RunKey(run.ID), store.Equal(record.RunClosed, 1), store.Equal(record.RunGen, int64(run.Gen)))
}

// Cancel marks the run, so that every gate call answers stop from then on, stops
// its execution, and closes it as soon as no action is executing; else the
// watch does. Cancelling again is no error. Errors: ErrNoRun, ErrNotAllowed,
// ErrRunClosed.
func (c *Coordinator) Cancel(ctx context.Context, req PersonRequest) (RunView, error) {
	if err := c.mayAct(ctx, req.Run, req.By); err != nil {
		return RunView{}, err
	}
	return c.cancel(ctx, req)
}

// cancelled begins the reason of every cancelled run.
const cancelled = "cancelled"

// wasCancelled tells whether the run ended, or is about to end, by a cancel.
func wasCancelled(run *record.Run) bool {
	return run.Cancelling || run.Status == outerloop.StatusFailed && strings.HasPrefix(run.Reason, cancelled)
}

// cancel is Cancel for a person, or for what cancels by itself.
func (c *Coordinator) cancel(ctx context.Context, req PersonRequest) (RunView, error) {
	_, err := deciding(ctx, c, "cancelling "+req.Run, func(ctx context.Context) (struct{}, error) {
		run, err := c.runOf(ctx, req.Run)
		switch {
		case err != nil:
			return struct{}{}, err
		case run.Status.Closed():
			return struct{}{}, fmt.Errorf("run %s is %s: %w", run.ID, run.Status, ErrRunClosed)
		case run.Cancelling:
			return struct{}{}, nil
		}
		run.Cancelling, run.Reason = true, cancelled+" by "+req.By+reasonText(cut(req.Reason, logText))
		run.Note(record.Entry{At: c.now(), Kind: "cancelling", By: req.By, Rule: cut(req.Reason, logText)})
		return struct{}{}, c.write(ctx, run.Put())
	})
	if err != nil {
		return RunView{}, err
	}
	if err := c.cancelChildren(ctx, req.Run, "run "+req.Run+" is being cancelled"); err != nil {
		c.cfg.Log.Warn("cancelling the sub-loops goes on with the watch", "run", req.Run, "err", err)
	}
	if _, err := c.finishCancel(ctx, req.Run); err != nil {
		c.cfg.Log.Warn("cancelling goes on with the watch", "run", req.Run, "err", err)
	}
	return c.Run(ctx, req.Run)
}

// finishCancel stops the execution and closes the run when no action is
// executing within its limit; false: one is.
func (c *Coordinator) finishCancel(ctx context.Context, id string) (bool, error) {
	closed, err := deciding(ctx, c, "closing "+id, func(ctx context.Context) (bool, error) {
		run, err := c.runOf(ctx, id)
		if err != nil || !run.Cancelling {
			return false, err
		}
		if err := c.cfg.Executions.Stop(ctx, executionName(id, run.Gen), outerloop.ErrorStop, cancelled); err != nil {
			return false, fmt.Errorf("stopping the execution: %w", err)
		}
		busy, err := c.acting(ctx, run)
		if err != nil || busy {
			return false, err
		}
		reason := run.Reason
		if !strings.HasPrefix(reason, cancelled) { // by an older version
			reason = cancelled
		}
		c.closeRun(run, outerloop.StatusFailed, reason)
		return true, c.write(ctx, run.Closing()...)
	})
	if err != nil || !closed {
		return false, err
	}
	return true, c.settleRun(ctx, id)
}

// acting tells whether an action of the run is executing within its limit.
func (c *Coordinator) acting(ctx context.Context, run *record.Run) (bool, error) {
	busy := false
	now := c.now().UnixMilli()
	err := c.each(ctx, store.Query{Part: record.RunKey(run.ID).Part, Prefix: record.StepsPrefix("")}, func(item *store.Item) error {
		step, err := record.DecodeStep(item)
		if err != nil || step.Entry == "" || busy {
			return err
		}
		a, err := one(ctx, c, record.ActionKey(run.Loop, step.Entry), record.DecodeAction)
		if err == nil && a != nil && a.Run == run.ID && a.State == record.ActionExecuting && now < a.UntilMs {
			busy = true
		}
		return err
	})
	return busy, err
}

// Redrive raises the generation of a blocked or failed run and starts it again:
// settled steps answer from their records, done actions stay done, a rejected or
// expired approval gets a new visit (R33). A cancelled run stays cancelled.
// Errors: ErrNoRun, ErrNotAllowed, ErrNotPossible.
func (c *Coordinator) Redrive(ctx context.Context, req PersonRequest) (RunView, error) {
	if err := c.mayAct(ctx, req.Run, req.By); err != nil {
		return RunView{}, err
	}
	c.probeNow(ctx, req.Run)
	return c.redrive(ctx, req)
}

// redrive is Redrive for a person, or for the parent of a sub-loop.
func (c *Coordinator) redrive(ctx context.Context, req PersonRequest) (RunView, error) {
	_, err := deciding(ctx, c, "redriving "+req.Run, func(ctx context.Context) (struct{}, error) {
		var none struct{}
		run, err := c.runOf(ctx, req.Run)
		if err != nil {
			return none, err
		}
		redrivable := run.Status == outerloop.StatusBlocked || run.Status == outerloop.StatusFailed
		if !redrivable || wasCancelled(run) {
			return none, fmt.Errorf("run %s is %s (%s): %w", run.ID, run.Status, run.Reason, ErrNotPossible)
		}
		if run.Status.Closed() && !run.Followed { // what it left open must not reach into the next generation
			if err := c.settleRun(ctx, run.ID); err != nil {
				return none, err
			}
			if run, err = c.runOf(ctx, req.Run); err != nil {
				return none, err
			}
		}
		ops, err := c.resolvedByRedrive(ctx, run, req)
		if err != nil {
			return none, err
		}
		if now := c.now(); !now.Before(run.Deadline) {
			run.Deadline = now.Add(run.Deadline.Sub(run.Started))
		}
		if run.Status.Closed() && len(run.Drawn) > 0 { // what it gave back
			draws, err := c.drawAgain(ctx, run)
			if err != nil {
				return none, err
			}
			ops = append(ops, draws...)
		}
		run.Status, run.Reason, run.Exception = outerloop.StatusInProgress, "", ""
		run.Gen++
		run.Ended, run.Counts, run.Output, run.Followed = time.Time{}, nil, record.Value{}, false
		run.Note(record.Entry{At: c.now(), Kind: "redriven", By: req.By, Rule: cut(req.Reason, logText)})
		return none, c.write(ctx, append(ops, run.Put())...)
	})
	if err != nil {
		return RunView{}, err
	}
	if err := c.startExecution(ctx, req.Run); err != nil {
		c.cfg.Log.Warn("the watch will start the execution", "run", req.Run, "err", err)
	}
	return c.Run(ctx, req.Run)
}

// resolvedByRedrive answers the exception that blocks the run.
func (c *Coordinator) resolvedByRedrive(ctx context.Context, run *record.Run, req PersonRequest) ([]store.Op, error) {
	if run.Exception == "" {
		return nil, nil
	}
	exc, err := one(ctx, c, record.ExceptionKey(run.Exception), record.DecodeException)
	if err != nil || exc == nil || exc.Resolved() {
		return nil, err
	}
	exc.Resolution, exc.By, exc.Reason, exc.At, exc.Delivered = WayRetry, req.By, req.Reason, c.now(), true
	return []store.Op{exc.Put()}, nil
}

// runOf reads a run that must exist.
func (c *Coordinator) runOf(ctx context.Context, id string) (*record.Run, error) {
	run, err := one(ctx, c, record.RunKey(id), c.records.Run)
	if err != nil {
		return nil, err
	}
	if run == nil {
		return nil, fmt.Errorf("%s: %w", id, ErrNoRun)
	}
	return run, nil
}

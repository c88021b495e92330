package coordinator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/protocol"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/gate"
	"github.com/outerloop-dev/outerloop/pkg/loop"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// Resolve records a person's answer to an exception and lets the run go on, or
// ends it (R39). The first answer wins; a later one is told whose it was
// (*DecidedError). Errors: ErrNoException, ErrDecided, ErrNotAllowed,
// ErrRunClosed, ErrNotPossible, *InputError.
func (c *Coordinator) Resolve(ctx context.Context, req ResolveRequest) (ExceptionView, error) {
	if req.By == "" {
		return ExceptionView{}, &InputError{What: "resolution", Faults: []string{"by whom?"}}
	}
	exc, err := deciding(ctx, c, "resolving "+req.Exception, func(ctx context.Context) (*record.Exception, error) {
		return c.resolve(ctx, req)
	})
	if err != nil {
		return ExceptionView{}, err
	}
	if exc.Resolution == WayRollback {
		err = c.rollbackOf(ctx, exc)
	} else if err := c.afterResolve(ctx, exc); err != nil {
		c.cfg.Log.Warn("resolution not carried out yet, the watch will", "exception", exc.ID, "err", err)
	}
	view, viewErr := c.exceptionView(ctx, exc)
	return view, errors.Join(err, viewErr)
}

// rollbackOf makes the rollback that a person has decided on; where this process
// dies before it has, the watch does.
func (c *Coordinator) rollbackOf(ctx context.Context, exc *record.Exception) error {
	_, err := c.Rollback(ctx, PersonRequest{Run: exc.Run, By: exc.By, Reason: exc.Reason})
	if err != nil && !errors.Is(err, ErrNotPossible) {
		return err
	}
	exc.Delivered = true // made, or never to be
	if noted := c.write(ctx, exc.Put()); noted != nil && !errors.Is(noted, store.ErrCondition) {
		return fmt.Errorf("noting the rollback: %w", noted)
	}
	return err
}

// afterResolve tells the engine: the waiting state, the next generation's
// execution, or the end.
func (c *Coordinator) afterResolve(ctx context.Context, exc *record.Exception) error {
	if standsAlone(exc) {
		return nil // nothing waits for it
	}
	if exc.Resolution == WayClose {
		return c.settleRun(ctx, exc.Run)
	}
	if exc.Resolution == WayRetry || exc.Resolution == WayEdit {
		c.probeNow(ctx, exc.Run)
	}
	if exc.Blocks {
		return c.startExecution(ctx, exc.Run)
	}
	return c.deliverException(ctx, exc)
}

// deliverException completes the token of the state that asked.
func (c *Coordinator) deliverException(ctx context.Context, exc *record.Exception) error {
	if !exc.Resolved() || exc.Token == "" || exc.Delivered {
		return nil
	}
	verdict := gate.Verdict{Error: exc.Error, Cause: "resolved by " + exc.By}
	if exc.Error == "" {
		var err error
		if verdict, err = c.resolvedVerdict(ctx, exc); err != nil {
			return err
		}
	}
	if err := c.completeAll(ctx, verdict, append(exc.Before, exc.Token)...); err != nil {
		return err
	}
	exc.Delivered = true
	if err := c.write(ctx, exc.Put()); err != nil && !errors.Is(err, store.ErrCondition) {
		return fmt.Errorf("noting the delivery: %w", err)
	}
	return nil
}

func (c *Coordinator) resolve(ctx context.Context, req ResolveRequest) (*record.Exception, error) {
	exc, err := one(ctx, c, record.ExceptionKey(req.Exception), record.DecodeException)
	switch {
	case err != nil:
		return nil, err
	case exc == nil:
		return nil, ErrNoException
	case exc.Resolved():
		return nil, &DecidedError{ID: exc.ID, Decision: exc.Resolution, By: exc.By, At: exc.At}
	case !slices.Contains(exc.Ways, req.Way):
		return nil, fmt.Errorf("%s is none of its ways, which are %s: %w", req.Way, strings.Join(exc.Ways, ", "), ErrNotPossible)
	}
	def, err := c.definitionOfException(ctx, exc)
	if err != nil {
		return nil, err
	}
	if err := mayActIn(def, req.By); err != nil {
		return nil, err
	}
	exc.Resolution, exc.By, exc.Reason, exc.At = req.Way, req.By, req.Reason, c.now()
	if standsAlone(exc) {
		return exc, c.writeRecord(ctx, exc.Put(), &exc.Stored)
	}
	r := &resolution{req: req, exc: exc}
	if r.delivered, err = c.exceptionSubject(ctx, def, exc); err != nil {
		return nil, err
	}
	if r.run.Status.Closed() || r.run.Cancelling {
		return nil, fmt.Errorf("run %s is %s: %w", r.run.ID, r.run.Status, ErrRunClosed)
	}
	if exc.Blocks && r.run.Status != outerloop.StatusBlocked || r.run.Exception != exc.ID && exc.Blocks {
		return nil, fmt.Errorf("run %s is not blocked by this exception: %w", r.run.ID, ErrNotPossible)
	}
	return exc, r.carryOut(ctx)
}

func (c *Coordinator) writeRecord(ctx context.Context, op store.Op, version *int64) error {
	if err := c.write(ctx, op); err != nil {
		return err
	}
	*version++
	return nil
}

// exceptionSubject reads what an exception is about: a step, a block, or the run alone.
func (c *Coordinator) exceptionSubject(ctx context.Context, def *loop.Definition, exc *record.Exception) (*delivered, error) {
	if exc.Path == "" {
		v, err := c.look(ctx, exc.Run, def)
		if err != nil {
			return nil, err
		}
		return &delivered{view: v, Delivery: gate.Delivery{Run: exc.Run, Gen: exc.Gen}}, nil
	}
	return c.receive(ctx, gate.Delivery{Run: exc.Run, Gen: exc.Gen, Step: exc.Path, Item: itemOf(exc.Address), Next: exc.Next})
}

// resolution is one answer being carried out.
type resolution struct {
	*delivered
	req ResolveRequest
	exc *record.Exception
	ops []store.Op
}

func (r *resolution) carryOut(ctx context.Context) error {
	if err := r.sayOutcome(ctx); err != nil {
		return err
	}
	run := *r.run
	run.Numbers = cloneNumbers(run.Numbers)
	run.Note(record.Entry{At: r.c.now(), Kind: "resolved", Rule: cut(r.exc.Cause, logText), Outcome: r.req.Way, By: r.req.By})
	if !r.exc.Blocks {
		run.Numbers[record.RunQuestions]--
	}
	if r.req.Way == WayRollback {
		if _, _, err := r.c.undoable(ctx, r.run); err != nil {
			return err
		}
	}
	if r.req.Way == WayClose || r.req.Way == WayRollback {
		r.c.closeRun(&run, outerloop.StatusFailed, "closed by "+r.req.By+reasonText(r.req.Reason))
		r.exc.Delivered = r.req.Way == WayClose
		return r.commit(ctx, append(run.Closing(), r.exc.Put())...)
	}
	if r.exc.Blocks {
		run.Status, run.Reason, run.Exception = outerloop.StatusInProgress, "", ""
		run.Gen++
	}
	r.run = &run
	r.Gen = run.Gen
	if r.node == nil || r.node.Step == nil || r.node.Kind == loop.KindEach || r.node.Kind == loop.KindBranches || r.node.Kind == loop.KindSwitch {
		return r.onBlock(ctx)
	}
	return r.onStep(ctx)
}

func reasonText(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + reason
}

func (r *resolution) commit(ctx context.Context, ops ...store.Op) error {
	if err := r.c.write(ctx, append(ops, r.ops...)...); err != nil {
		return err
	}
	r.exc.Stored++
	return nil
}

// sayOutcome records what a person found out about an action of unknown outcome.
// Nobody passes over an action that is open: not one that the question was about,
// nor one that an attempt began after the question was asked.
func (r *resolution) sayOutcome(ctx context.Context) error {
	a, err := r.undecidedAction(ctx)
	passes := r.req.Way == WaySkip || r.req.Way == WaySubstitute
	switch {
	case err != nil || r.req.Way == WayClose && r.req.Outcome == "":
		return err
	case a != nil && a.State == record.ActionExecuting && passes:
		until := time.UnixMilli(a.UntilMs).UTC().Format(time.RFC3339)
		return fmt.Errorf("%s: its action %s is executing until %s, resolve it after that: %w", r.req.Way, a.Entry, until, ErrNotPossible)
	case r.exc.Entry == "" && (a == nil || a.State != record.ActionUnknown || !passes):
		return nil
	case r.req.Outcome != string(gate.ActionDone) && r.req.Outcome != string(gate.ActionFailed):
		return &InputError{What: "resolution of " + r.exc.Step, Faults: []string{"say what became of its action " + r.entry() + ": done or failed"}}
	case a == nil || a.State != record.ActionUnknown:
		return nil // its owner has reported after all
	}
	protocol.Reported(a, gate.ActionReport{Outcome: gate.ActionOutcome(r.req.Outcome), Result: r.req.Value, Reason: "said by " + r.req.By}, r.c.now())
	r.ops = append(r.ops, a.Put())
	return nil
}

// entry names the action that the question is about, or the step's own.
func (r *resolution) entry() string {
	if s := r.step(); r.exc.Entry == "" && s != nil && !r.review {
		return s.Entry
	}
	return r.exc.Entry
}

// undecidedAction is the action whose outcome is open, nil where there is none. One
// whose time is over is of unknown outcome.
func (r *resolution) undecidedAction(ctx context.Context) (*record.Action, error) {
	if r.entry() == "" {
		return nil, nil
	}
	a, err := one(ctx, r.c, record.ActionKey(r.run.Loop, r.entry()), record.DecodeAction)
	if err != nil || protocol.Passable(a) || a.Run != r.run.ID || a.Address != r.exc.Address {
		return nil, err
	}
	if a.State == record.ActionExecuting && r.c.now().UnixMilli() >= a.UntilMs {
		protocol.Lost(a)
	}
	return a, nil
}

// onBlock goes on after a join, a rule or the run's own end did not hold.
func (r *resolution) onBlock(ctx context.Context) error {
	switch {
	case r.req.Way == WayRetry && r.node != nil:
		if err := r.reopenMissing(ctx); err != nil {
			return err
		}
		r.exc.Error = outerloop.ErrorAgain
	case r.req.Way == WaySkip && r.node != nil && r.node.Join != nil:
		head := r.blockRecord(ctx, r.node, r.index)
		head.Accepted = true
		head.Note(record.Entry{At: r.c.now(), Kind: "accepted", By: r.req.By, Rule: cut(r.exc.Cause, logText)})
		r.ops = append(r.ops, head.Put())
	}
	return r.commit(ctx, r.run.Put(), r.exc.Put())
}

// reopenBatch is how many steps one write reopens: each takes two operations, the run one.
const reopenBatch = 10

// reopenMissing gives the steps that made parts of a block missing a new visit,
// while the run is blocked, whose generation is raised after them, or while the
// block's state waits for this answer.
func (r *resolution) reopenMissing(ctx context.Context) error {
	still := r.checkRun()
	if r.exc.Blocks {
		still = store.Check(record.RunKey(r.run.ID), store.Equal(record.RunOpen, 0), store.Equal(record.RunClosed, 0), store.Equal(record.RunGen, int64(r.run.Gen-1)))
	}
	ops := []store.Op{still}
	q := store.Query{Part: record.RunKey(r.run.ID).Part, Prefix: record.StepsPrefix(address(r.node, r.index))}
	err := r.c.each(ctx, q, func(item *store.Item) error {
		step, err := record.DecodeStep(item)
		if err != nil || step.State != outerloop.StepSettled {
			return err
		}
		again := step.Outcome.Missing() || step.Outcome == outerloop.OutcomeNotNeeded && step.Missing != ""
		if !again {
			return nil
		}
		archive := step.Archive()
		next := step.Clone()
		protocol.Revisit(next, r.run.Gen)
		next.Note(record.Entry{At: r.c.now(), Kind: "reopened", By: r.req.By})
		if ops = append(ops, next.Put(), archive); len(ops) > 2*reopenBatch {
			err = r.c.write(ctx, ops...)
			ops = []store.Op{still}
		}
		return err
	})
	if err != nil || len(ops) == 1 {
		return err
	}
	return r.c.write(ctx, ops...)
}

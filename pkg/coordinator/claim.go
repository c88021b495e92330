package coordinator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/protocol"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/gate"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

const (
	// deployGrace is how soon a worker that speaks another contract is asked again.
	deployGrace = 30 * time.Second
	// longestAttempt bounds an attempt whose worker names no limit.
	longestAttempt = 15 * time.Minute
)

// prepareAndClaim does the rest of admit in the order that leaves nothing to
// undo: due, input, limits, approval, rate, resource, and the claim last.
func (q *call) prepareAndClaim(ctx context.Context, at protocol.Standing, req gate.AdmitRequest) (admission, error) {
	if want := q.worker.Charter.Contract; req.Contract != 0 && req.Contract != want {
		return later(at.Now.Add(deployGrace), fmt.Sprintf("worker speaks contract %d, the run needs %d", req.Contract, want)), nil
	}
	p, out, err := q.prepare(ctx, at)
	if err != nil || out != nil {
		return deref(out), err
	}
	if protocol.Admit(at) == protocol.AdmitSameGrant {
		return q.grant(ctx, q.step(), p)
	}
	payer, out, err := q.payer(ctx, at.Now, len(p.raw))
	if err != nil || out != nil {
		return deref(out), err
	}
	lease, out, err := q.freeLease(ctx, p.resource, at.Now)
	if err != nil || out != nil {
		return deref(out), err
	}
	limit := q.limit(at.Now, req.Limit)
	if out, err := q.passBreaker(ctx, at.Now, limit); err != nil || out != nil {
		return deref(out), err
	}
	if out, err := q.turn(ctx, at.Now, limit, len(p.raw)); err != nil || out != nil {
		return deref(out), err
	}
	fence, err := q.takeLease(ctx, lease, limit)
	if err != nil {
		return admission{}, err
	}
	return q.claim(ctx, at, p, claimed{limit: limit, resourceFence: fence, payer: payer})
}

func deref(out *admission) admission {
	if out == nil {
		return admission{}
	}
	return *out
}

// prepare resolves everything the attempt needs. An admission instead says that
// nothing is to be run.
func (q *call) prepare(ctx context.Context, at protocol.Standing) (*prepared, *admission, error) {
	p := &prepared{}
	err := q.resolveAll(ctx, p, at)
	var door *atDoor
	switch {
	case err == nil:
		return p, nil, nil
	case errors.As(err, &door):
		out, err := q.settleAtDoor(ctx, door)
		return nil, &out, err
	case errors.Is(err, errNewVisit):
		out, err := q.reopen(ctx)
		return nil, &out, err
	}
	if out, ok := notDue(err); ok {
		return nil, &out, nil
	}
	if f, ok := faultOf(err); ok {
		out, err := q.refuse(ctx, f)
		return nil, &out, err
	}
	var ask *approvalNeeded
	if errors.As(err, &ask) {
		out, err := q.park(ctx, ask)
		return nil, &out, err
	}
	var halts *joinError
	if errors.As(err, &halts) {
		out, err := q.blockedBy(ctx, err)
		return nil, &out, err
	}
	return nil, nil, err
}

// atDoor says that the step ends without an attempt.
type atDoor struct {
	outcome         outerloop.Outcome
	missing, reason string
}

// Error is the reason.
func (e *atDoor) Error() string { return e.reason }

func unneeded(missing, reason string) error {
	return &atDoor{outcome: outerloop.OutcomeNotNeeded, missing: missing, reason: reason}
}

func (q *call) resolveAll(ctx context.Context, p *prepared, at protocol.Standing) error {
	missing, reason, err := q.due(ctx)
	if err != nil {
		return err
	}
	if reason != "" {
		return unneeded(missing, reason)
	}
	if end, bounded := q.withinEnds(); bounded && !at.Now.Before(end) {
		return &fault{class: outerloop.ClassTimeout, final: true, cause: fmt.Sprintf("not done within %s", q.node.Within)}
	}
	if err := q.readFacts(ctx, p); err != nil {
		return err
	}
	if !q.review {
		if reason, err = q.notWhen(ctx, q.node, q.index); err != nil {
			return err
		}
		if reason != "" {
			return unneeded("", reason)
		}
	}
	var approved *record.Approval
	if at.Approval != nil && at.Approval.Decision == record.DecisionApproved {
		approved = at.Approval
	}
	if err := q.resolve(ctx, p, approved); err != nil {
		return err
	}
	if p.reasons, err = q.checkLimits(ctx, nil, approved != nil); err != nil {
		return err
	}
	if q.node.Action == nil || q.review {
		return nil
	}
	return q.resolveAction(ctx, p, at.Approval)
}

func (q *call) settleAtDoor(ctx context.Context, why *atDoor) (admission, error) {
	if f, until, err := q.openAction(ctx); err != nil {
		return admission{}, err
	} else if f != nil {
		return q.refuse(ctx, f)
	} else if !until.IsZero() {
		return later(until, "its action may still be executing"), nil
	}
	step := q.record(ctx)
	step.Missing, step.Reason = why.missing, why.reason
	runOp := q.returnReservation(step)
	verdict, err := q.conclude(ctx, step, ending{outcome: why.outcome, rule: why.reason, run: &runOp})
	if err != nil {
		return admission{}, err
	}
	return answered(verdict), nil
}

// refuse records a failure found at the door; the call gets the same answer again.
func (q *call) refuse(ctx context.Context, f *fault) (admission, error) {
	step := q.record(ctx)
	if q.backup && !step.Backup {
		step.Backup, step.Tries, step.GaveUp = true, record.Tries{}, nil
	}
	runOp := q.returnReservation(step)
	verdict := q.failed(step, f)
	step.LastNonce = q.attempt
	if err := q.c.write(ctx, step.Put(), runOp); err != nil {
		return admission{}, err
	}
	if f.breach {
		q.breached(ctx, f.cause)
	}
	return answered(verdict), nil
}

// limit is when the attempt must have ended: the invocation's end, the
// charter's time-out, the run's deadline.
func (q *call) limit(now, invocation time.Time) time.Time {
	limit := now.Add(longestAttempt)
	if !invocation.IsZero() {
		limit = invocation
	}
	if timeout := q.worker.Charter.Dispatch.Timeout; timeout > 0 && now.Add(timeout).Before(limit) {
		limit = now.Add(timeout)
	}
	if q.run.Deadline.Before(limit) {
		limit = q.run.Deadline
	}
	if end, bounded := q.withinEnds(); bounded && end.Before(limit) {
		limit = end
	}
	return limit.UTC().Truncate(time.Millisecond)
}

// withinEnds is when all attempts and waits of the step together must be over.
func (q *call) withinEnds() (time.Time, bool) {
	s := q.step()
	if q.node.Within == 0 || s == nil || s.Started.IsZero() {
		return time.Time{}, false
	}
	return s.Started.Add(q.node.Within), true
}

// claimed is what a claim takes over from the reads before it.
type claimed struct {
	limit         time.Time
	resourceFence int64
	payer         string
}

// claim makes the attempt the step's owner. Without money it is one write of
// the step; with money claim and reservation are one transaction.
func (q *call) claim(ctx context.Context, at protocol.Standing, p *prepared, with claimed) (admission, error) {
	step := q.record(ctx)
	previous := step.ReservedAs()
	wasRunning := step.State == outerloop.StepRunning
	protocol.Claim(step, at, at.Now.Add(q.c.cfg.Lease), with.limit)
	step.Worker, step.Payer = q.worker.Charter.Worker, with.payer
	step.Entry, step.Resource, step.ResourceFence = p.entry, p.resource, with.resourceFence
	step.Facts, step.Doubted = p.versions, q.doubted
	step.Input = record.Value{Hash: p.hash, Size: len(p.raw)}
	step.Note(record.Entry{At: at.Now, Kind: "admitted", Worker: step.Worker, Input: p.hash})
	if none := q.noMoney(with.payer, step.Input.Size); none != nil {
		return q.refuse(ctx, none)
	}
	runOp := q.reserve(step, previous)
	ops := []store.Op{q.c.records.PutStep(step)} // with what was reserved, so that it comes back
	switch {
	case runOp != nil:
		ops = append(ops, *runOp)
	case q.run.Status == outerloop.StatusNew:
		run := *q.run
		run.Status = outerloop.StatusInProgress
		ops = append(ops, q.c.records.PutRun(&run))
	}
	if err := q.c.write(ctx, ops...); err != nil {
		return admission{}, err
	}
	if wasRunning {
		q.failedAttempt(ctx, q.before.Nonce, "its attempt died without an answer")
		q.tellRetries(ctx, step, gate.Verdict{})
	}
	return q.grant(ctx, step, p)
}

// grant is the task of an attempt that owns the step.
func (q *call) grant(ctx context.Context, step *record.Step, p *prepared) (admission, error) {
	task, err := q.task(ctx, step, p)
	if err != nil {
		return admission{}, err
	}
	return admission{AdmitAnswer: gate.AdmitAnswer{Decision: gate.Go, Task: task}}, nil
}

// freeLease reads the lease that an action's step needs (R26), nil where it
// needs none. It is free when nobody holds it, when its time is over, or when
// this very step holds it.
func (q *call) freeLease(ctx context.Context, resource string, now time.Time) (*record.Lease, *admission, error) {
	if resource == "" {
		return nil, nil, nil
	}
	lease, err := one(ctx, q.c, record.LeaseKey(resource), record.DecodeLease)
	if err != nil {
		return nil, nil, fmt.Errorf("reading lease of %s: %w", resource, err)
	}
	if lease == nil {
		lease = &record.Lease{Resource: resource}
	}
	mine := lease.Run == q.run.ID && lease.Address == q.at
	if !mine && now.UnixMilli() < lease.UntilMs {
		until := time.UnixMilli(lease.UntilMs)
		if soon := now.Add(q.c.cfg.ResourcePoll); soon.Before(until) {
			until = soon
		}
		out := later(until.UTC(), resource+" is held by "+lease.Step)
		return nil, &out, nil
	}
	return lease, nil, nil
}

// takeLease takes the lease as it was read, and answers its fence.
func (q *call) takeLease(ctx context.Context, lease *record.Lease, limit time.Time) (int64, error) {
	if lease == nil {
		return 0, nil
	}
	lease.Run, lease.Address, lease.Step, lease.Nonce = q.run.ID, q.at, q.Step, q.attempt
	lease.Fence++
	lease.UntilMs = limit.Add(q.c.cfg.ActionGrace).UnixMilli()
	return lease.Fence, q.c.write(ctx, lease.Put())
}

// releaseResource frees the lease of a step that is done with it. When it does
// not come to that, the lease runs out; so it does while the step's action may
// still have its effect, whatever became of the attempt.
func (q *delivered) releaseResource(ctx context.Context, step *record.Step) {
	if step.Resource == "" || q.mayStillAct(ctx, step) {
		return
	}
	lease, err := one(ctx, q.c, record.LeaseKey(step.Resource), record.DecodeLease)
	if err != nil || lease == nil || lease.Fence != step.ResourceFence || lease.UntilMs == 0 {
		return
	}
	lease.UntilMs = 0
	if err := q.c.write(ctx, lease.Put()); err != nil && !errors.Is(err, store.ErrCondition) {
		q.c.cfg.Log.Warn("lease not released, it will run out", "resource", step.Resource, "err", err)
	}
}

// mayStillAct tells whether the outcome of the step's action is open: executing,
// or not readable now.
func (q *delivered) mayStillAct(ctx context.Context, step *record.Step) bool {
	if step.Entry == "" {
		return false
	}
	action, err := one(ctx, q.c, record.ActionKey(q.run.Loop, step.Entry), record.DecodeAction)
	return err != nil || action != nil && action.State == record.ActionExecuting
}

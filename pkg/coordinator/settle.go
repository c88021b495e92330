package coordinator

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/protocol"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/gate"
	"github.com/outerloop-dev/outerloop/pkg/registry"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// Settle takes over the work of an attempt: it validates and records, and tells
// the machine (PROTOCOL "Step").
func (g *workerGate) Settle(ctx context.Context, req gate.SettleRequest) (gate.SettleAnswer, error) {
	if (req.Result == nil) == (req.Failure == nil) {
		return gate.SettleAnswer{}, fmt.Errorf("settling %s: exactly one of result and failure must be given: %w", req.Step, ErrInput)
	}
	req = credible(req)
	var done *record.Step
	var rollback bool
	out, err := deciding(ctx, g.c, "settling "+req.Step, func(ctx context.Context) (gate.SettleAnswer, error) {
		q, err := g.open(ctx, req.Call)
		if err != nil {
			return gate.SettleAnswer{}, err
		}
		done, rollback = q.step(), q.run.Rollback != nil
		if err := q.holdBack(ctx, req.Failure); err != nil {
			return gate.SettleAnswer{}, err
		}
		answer, err := q.settle(ctx, req)
		if err == nil && done != nil && protocol.Owns(done, q.attempt, q.fence) {
			q.releaseResource(ctx, done)
			q.releaseTurns(ctx, usedTokens(req))
			q.worked(ctx, done, req.Failure)
			q.seen(ctx, usedTokens(req))
		}
		return answer, err
	})
	if err != nil {
		return gate.SettleAnswer{}, err
	}
	if rollback {
		if err := g.c.driveRollback(ctx, req.Run); err != nil {
			g.c.cfg.Log.Warn("the watch goes on with the rollback", "run", req.Run, "err", err)
		}
	}
	if out.Answered {
		if err := g.c.complete(ctx, req.Token, out.Verdict); err != nil {
			return gate.SettleAnswer{}, err
		}
	}
	return out, nil
}

func (q *call) settle(ctx context.Context, req gate.SettleRequest) (gate.SettleAnswer, error) {
	s := q.step()
	if !protocol.Owns(s, q.attempt, q.fence) {
		if s != nil && s.LastNonce == q.attempt && s.LastVerdict != nil {
			return gate.SettleAnswer{Answered: true, Verdict: *s.LastVerdict}, nil
		}
		return q.late(ctx, req)
	}
	if !q.run.Open() || q.Gen != q.run.Gen {
		return q.late(ctx, req)
	}
	actions, err := q.reports(ctx, req.Actions)
	if err != nil {
		return gate.SettleAnswer{}, err
	}
	verdict, err := q.judge(ctx, req, actions)
	if err != nil {
		return gate.SettleAnswer{}, err
	}
	if err := q.duplicates(ctx, req.Actions); err != nil {
		return gate.SettleAnswer{}, err
	}
	return gate.SettleAnswer{Answered: true, Verdict: verdict}, nil
}

// judge decides what the work leads to: settled, parked, open again, or a
// failure that its rule decides.
func (q *call) judge(ctx context.Context, req gate.SettleRequest, actions []store.Op) (gate.Verdict, error) {
	step := q.step().Clone()
	if req.Failure != nil {
		step.Tokens = summed(step.Tokens, req.Failure.Tokens)
		cost := q.cost(req.Failure.Cost, req.Failure.Tokens)
		return q.fail(ctx, step, &fault{class: req.Failure.Class, cause: req.Failure.Message, reported: true}, failing{cost: cost, more: actions})
	}
	step.Tokens = summed(step.Tokens, req.Result.Tokens)
	cost := q.cost(req.Result.Cost, req.Result.Tokens)
	if waits, err := q.waitingCall(ctx, step); err != nil {
		return gate.Verdict{}, err
	} else if waits != nil {
		return q.settleWaiting(ctx, step, waits, cost)
	}
	work, err := q.assess(ctx, step, req)
	var need *approvalNeeded
	if err == nil && q.review {
		return q.settleReview(ctx, step, work, cost)
	}
	if err == nil {
		runOp := q.spend(step, cost)
		var verdict gate.Verdict
		verdict, err = q.conclude(ctx, step, ending{
			outcome: outerloop.OutcomeCompleted, work: work, run: &runOp, more: actions, input: step.Input.Hash,
		})
		if err == nil {
			return verdict, nil
		}
		step = q.afterFailedConclusion(ctx)
	}
	if errors.As(err, &need) {
		return q.settleParked(ctx, step, need, cost)
	}
	if f, ok := faultOf(err); ok {
		return q.fail(ctx, step, f, failing{cost: cost, more: actions, detail: req.Result.Output})
	}
	return gate.Verdict{}, err
}

// afterFailedConclusion gives the record as it stood before conclude changed its copy.
func (q *call) afterFailedConclusion(ctx context.Context) *record.Step {
	q.steps[q.at] = q.before
	return q.record(ctx)
}

// settleParked parks the step with its output as what is to be approved. An
// action that was done is never parked: it was approved before.
func (q *call) settleParked(ctx context.Context, step *record.Step, need *approvalNeeded, cost int64) (gate.Verdict, error) {
	runOp := q.spend(step, cost)
	ops, verdict, err := q.parkOps(ctx, step, need)
	if err != nil {
		return gate.Verdict{}, err
	}
	ops[2] = mergeRun(ops[2], runOp)
	if err := q.c.write(ctx, ops...); err != nil {
		return gate.Verdict{}, fmt.Errorf("parking: %w", err)
	}
	return verdict, nil
}

// mergeRun joins two operations on the run into one: an addition keeps its own
// and the other's numbers.
func mergeRun(a, b store.Op) store.Op {
	if b.Kind != store.KindAdd {
		return a
	}
	for name, delta := range b.Deltas {
		a.Deltas[name] += delta
	}
	for _, cond := range b.Where {
		if !slices.Contains(a.Where, cond) {
			a.Where = append(a.Where, cond)
		}
	}
	return a.Dropping(b.Drop...)
}

// failing is what goes with a failure.
type failing struct {
	cost   int64
	more   []store.Op
	detail []byte
}

// fail opens the step again or gives up, by its class (R28, R29).
func (q *call) fail(ctx context.Context, step *record.Step, f *fault, with failing) (gate.Verdict, error) {
	runOp := q.spend(step, with.cost)
	if f.class == outerloop.ClassInvalidOutput {
		step.Feedback = append(step.Feedback, gate.Feedback{From: "gate", Faults: []string{cut(f.cause, 4*causeLimit)}})
		step.Feedback = lastFeedback(step.Feedback)
	}
	verdict := q.failed(step, f)
	if err := q.c.write(ctx, append([]store.Op{step.Put(), runOp}, with.more...)...); err != nil {
		return gate.Verdict{}, fmt.Errorf("recording the failure: %w", err)
	}
	q.tellRetries(ctx, step, verdict)
	if f.breach {
		q.breached(ctx, f.cause)
	}
	return verdict, nil
}

// feedbackKept bounds what an attempt is told of earlier ones.
const feedbackKept = 5

func lastFeedback(list []gate.Feedback) []gate.Feedback {
	if len(list) > feedbackKept {
		return list[len(list)-feedbackKept:]
	}
	return list
}

// failed applies a failure to the step's record and says what the machine sees.
func (q *call) failed(step *record.Step, f *fault) gate.Verdict {
	class := f.class
	if !class.Valid() {
		class = outerloop.ClassFatal
	}
	cause := q.declaredCause(f, class)
	retries := q.retries(class)
	if f.final {
		retries = -1
	}
	step.Worker = q.worker.Charter.Worker
	verdict := protocol.Fail(step, class, cause, retries)
	step.Reason, step.Cause = "", class.ErrorName()+": "+cause
	if step.GaveUp != nil {
		step.GaveUp.Ask, step.GaveUp.Halt, step.GaveUp.To = f.ask, f.halt, f.to
	}
	step.Note(record.Entry{At: q.c.now(), Kind: "failed", Worker: step.Worker, Rule: cut(cause, logText), Outcome: verdict.Error})
	return verdict
}

// declaredCause is a failure's cause; where the worker reports a class that its
// charter does not declare, it says so, and the class's rule holds as for a
// declared one (R17).
func (q *call) declaredCause(f *fault, class outerloop.Class) string {
	if !f.reported || q.worker.Charter.Declares(class) {
		return cut(f.cause, causeLimit)
	}
	flag := fmt.Sprintf(" (the charter of %s does not declare %s under fails_with)", q.worker.Charter.Worker, class)
	return cut(f.cause, logText/2) + flag
}

// retries is how many further tries the step's rule gives a class.
func (q *delivered) retries(class outerloop.Class) int {
	if q.node.Failure == nil {
		return 0
	}
	times := 0
	for _, r := range q.node.Failure.Retry {
		if r.Class == class {
			return r.Times
		}
		if r.Class == outerloop.ClassAny {
			times = r.Times
		}
	}
	return times
}

// cost is what an attempt cost: as reported, or by its model's price.
func (q *call) cost(reported int64, used gate.Tokens) int64 {
	if reported > 0 || q.worker.Charter.Agent == nil || q.def.Project == nil {
		return reported
	}
	for _, m := range q.def.Project.Models {
		if m.Name == q.worker.Charter.Agent.Model {
			return priced(m.Price, used)
		}
	}
	return reported
}

// priced is what tokens cost, rounded up. Where the price list does not say, a
// token read from a cache costs as much as one sent and one written to it 1.25
// times as much, so that nothing is counted too low.
func priced(p registry.Price, used gate.Tokens) int64 {
	read, write := p.CacheRead.Micro, p.CacheWrite.Micro
	if p.CacheRead.Currency == "" {
		read = p.Input.Micro
	}
	if p.CacheWrite.Currency == "" {
		write = p.Input.Micro + p.Input.Micro/4
	}
	total := used.Input*p.Input.Micro + used.Output*p.Output.Micro + used.CacheRead*read + used.CacheWrite*write
	return (total + million - 1) / million
}

// mostTokens bounds each count of a report, and mostCost what it says to have
// cost in micro-units, so that no sum overflows.
const (
	mostTokens = 1 << 30
	mostCost   = 1 << 40
)

// credible is a report with what it used as far as that can be: nobody earns
// money for a run.
func credible(req gate.SettleRequest) gate.SettleRequest {
	if req.Result != nil {
		r := *req.Result
		r.Tokens, r.Cost = counted(r.Tokens), min(max(r.Cost, 0), mostCost)
		req.Result = &r
	}
	if req.Failure != nil {
		f := *req.Failure
		f.Tokens, f.Cost = counted(f.Tokens), min(max(f.Cost, 0), mostCost)
		req.Failure = &f
	}
	return req
}

// counted are the tokens of a report as far as they can be.
func counted(used gate.Tokens) gate.Tokens {
	for _, n := range []*int64{&used.Input, &used.Output, &used.CacheRead, &used.CacheWrite} {
		*n = min(max(*n, 0), mostTokens)
	}
	used.Model = cut(used.Model, logText)
	return used
}

// late records a result that nobody waits for any more. What the step came to
// is answered where it stands; an action's outcome is recorded all the same.
func (q *call) late(ctx context.Context, req gate.SettleRequest) (gate.SettleAnswer, error) {
	if err := q.lateReports(ctx, req.Actions); err != nil {
		return gate.SettleAnswer{}, err
	}
	entry := record.Late{Run: q.run.ID, Step: q.Step, Worker: q.worker.Charter.Worker, Nonce: req.Nonce, At: q.c.now(), Reason: "superseded"}
	s := q.step()
	answer := gate.SettleAnswer{}
	switch {
	case s != nil && s.State == outerloop.StepSettled:
		answer = gate.SettleAnswer{Answered: true, Verdict: *s.LastVerdict}
		entry.Reason = "the step was settled before"
	case !q.run.Open() || q.Gen != q.run.Gen:
		answer = gate.SettleAnswer{Answered: true, Verdict: q.stop(q.c.now())}
		entry.Reason = answer.Verdict.Cause
	}
	if req.Result != nil && len(req.Result.Output) <= record.InlineLimit {
		entry.Result = req.Result.Output
	}
	if err := q.c.write(ctx, entry.Create()); err != nil && !errors.Is(err, store.ErrCondition) {
		return gate.SettleAnswer{}, fmt.Errorf("recording a late result: %w", err)
	}
	return answer, nil
}

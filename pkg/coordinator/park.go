package coordinator

import (
	"context"
	"encoding/json"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/protocol"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/gate"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// approvalNeeded says that a person must look first, with all reasons in one request.
type approvalNeeded struct {
	content   json.RawMessage
	hash      string
	action    bool
	reasons   []string
	entry     string
	ask       string
	approvers []string
	never     []string
	// again is a request that exists already.
	again *record.Approval
}

// Error names the reasons.
func (e *approvalNeeded) Error() string { return "needs approval: " + join(e.reasons) }

// askLimit bounds the question that a person is asked, in bytes; the content
// stands beside it in full.
const askLimit = 2000

// needApproval completes the request by the step's rule; a step that has none
// raises an exception instead.
func (q *delivered) needApproval(ctx context.Context, need approvalNeeded, work *after) error {
	rule := q.node.Approval
	if rule == nil || len(rule.Approvers)+len(need.approvers) == 0 {
		return &fault{class: outerloop.ClassRefused, final: true, ask: true, cause: "a person must look: " + join(need.reasons)}
	}
	if left, bounded := q.run.Numbers[record.RunApprovalsLeft]; bounded && left < 1 {
		return q.exhausted("the budget allows no more requests to people; reason for this one: " + join(need.reasons))
	}
	ask, err := q.text(ctx, rule.Ask, q.index, work, join(need.reasons))
	if err != nil {
		ask = join(need.reasons)
	}
	need.ask = cut(ask, askLimit)
	need.approvers = append(need.approvers, rule.Approvers...)
	for _, tree := range rule.Never {
		who, err := q.text(ctx, tree, q.index, work, "")
		if err != nil {
			return err
		}
		need.never = append(need.never, who)
	}
	return &need
}

// approvalRecord is the request of a visit of a step.
func (q *delivered) approvalRecord(ctx context.Context, step *record.Step, need *approvalNeeded) (*record.Approval, error) {
	if need.again != nil {
		return need.again, nil
	}
	content, err := q.c.keepRaw(ctx, need.content)
	if err != nil {
		return nil, err
	}
	rule, now := q.node.Approval, q.c.now()
	ap := &record.Approval{
		ID: record.ApprovalID(q.run.ID, q.at, step.Visit), Run: q.run.ID, Loop: q.run.Loop, Address: q.at,
		Path: q.Step, Step: step.Name, Visit: step.Visit, Hash: content.Hash, Content: content, Action: need.action,
		Ask: need.ask, Reasons: need.reasons, Approvers: need.approvers, Never: need.never, People: max(rule.People, 1),
		Since: now, Expires: now.Add(rule.Within), Gen: q.run.Gen,
	}
	ap.Nudge = nextNudge(rule, ap, now)
	return ap, nil
}

// park makes an action's step wait for its approval, before any handler.
func (q *call) park(ctx context.Context, need *approvalNeeded) (admission, error) {
	step := q.record(ctx)
	step.Worker = q.worker.Charter.Worker
	runOp := q.returnReservation(step)
	ops, verdict, err := q.parkOps(ctx, step, need)
	if err != nil {
		return admission{}, err
	}
	step.LastNonce = q.attempt
	ops[0] = step.Put()
	if last := len(ops) - 1; ops[last].Kind == store.KindAdd {
		ops[last] = mergeRun(ops[last], runOp)
	} else {
		ops[last] = runOp
	}
	if err := q.c.write(ctx, ops...); err != nil {
		return admission{}, err
	}
	return answered(verdict), nil
}

// parkOps are the writes that park a step with its request: the step, the
// request, and the run that must be open; the first is the step's.
func (q *delivered) parkOps(ctx context.Context, step *record.Step, need *approvalNeeded) ([]store.Op, gate.Verdict, error) {
	ap, err := q.approvalRecord(ctx, step, need)
	if err != nil {
		return nil, gate.Verdict{}, err
	}
	verdict := protocol.Park(step, ap.ID, ap.Ask)
	step.Gen, step.Reasons, step.Entry = q.run.Gen, ap.Reasons, need.entry
	step.Note(record.Entry{At: q.c.now(), Kind: "parked", Rule: join(ap.Reasons), Outcome: outerloop.ErrorNeedsApproval, Input: ap.Hash})
	if need.again != nil {
		return []store.Op{step.Put(), q.checkRun()}, verdict, nil
	}
	deltas := map[string]int64{record.RunAwaiting: 1}
	where := record.OpenAt(q.run.Gen)
	if _, bounded := q.run.Numbers[record.RunApprovalsLeft]; bounded {
		deltas[record.RunApprovalsLeft] = -1
		where = append(where, store.AtLeast(record.RunApprovalsLeft, 1))
	}
	return []store.Op{step.Put(), ap.Put(), store.Add(record.RunKey(q.run.ID), deltas, where...)}, verdict, nil
}

// settleApproved settles the approved, perhaps edited, output without running
// the handler again. It was checked when it was decided.
func (q *call) settleApproved(ctx context.Context, ap *record.Approval) (admission, error) {
	step := q.record(ctx)
	output, err := q.c.value(ctx, ap.Content)
	if err != nil {
		return admission{}, err
	}
	step.Output, step.Approved, step.DecidedBy = ap.Content, true, ap.By
	step.Started = earliest(step.Started, ap.Since)
	work := workOf(step, output)
	if q.review {
		work = workOf(q.steps[address(q.node, q.index)], output)
	}
	verdict, err := q.conclude(ctx, step, ending{
		outcome: outerloop.OutcomeCompleted, work: work, by: ap.By, rule: "approved: " + ap.Ask,
	})
	if err != nil {
		return admission{}, err
	}
	return answered(verdict), nil
}

func earliest(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}

// approvedBy words who approved, for facts.
func approvedBy(step *record.Step) string {
	if step.Approved {
		return step.DecidedBy
	}
	return ""
}

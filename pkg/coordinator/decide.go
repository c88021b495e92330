package coordinator

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/protocol"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/gate"
	"github.com/outerloop-dev/outerloop/pkg/loop"
	"github.com/outerloop-dev/outerloop/pkg/registry"
	"github.com/outerloop-dev/outerloop/pkg/schema"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// Decide records a person's word on an approval: the first decision wins, and a
// later one is told whose it was (*DecidedError). An edit is checked as the
// worker's own work would be; only what a limit refuses binds a person too.
// Errors: ErrNoApproval, ErrDecided, ErrNotAllowed, ErrRunClosed, *InputError.
func (c *Coordinator) Decide(ctx context.Context, req DecideRequest) (ApprovalView, error) {
	if req.Verdict != Approve && req.Verdict != Reject || req.By == "" {
		return ApprovalView{}, &InputError{What: "decision", Faults: []string{"approve or reject, and by whom"}}
	}
	if bytes.Contains(req.Edit, []byte(`"`+schema.Redacted+`"`)) {
		return ApprovalView{}, &InputError{What: "edit", Faults: []string{
			schema.Redacted + " stands where a sensitive value was: edit what outerloop approvals --reveal -o json shows",
		}}
	}
	ap, err := deciding(ctx, c, "deciding "+req.Approval, func(ctx context.Context) (*record.Approval, error) { return c.decide(ctx, req) })
	if err != nil {
		return ApprovalView{}, err
	}
	if err := c.deliver(ctx, ap); err != nil {
		c.cfg.Log.Warn("decision not delivered yet, the watch will", "approval", ap.ID, "err", err)
	}
	return c.approvalView(ctx, ap)
}

func (c *Coordinator) decide(ctx context.Context, req DecideRequest) (*record.Approval, error) {
	ap, err := one(ctx, c, record.ApprovalKey(req.Approval), record.DecodeApproval)
	switch {
	case err != nil:
		return nil, err
	case ap == nil:
		return nil, ErrNoApproval
	case ap.Decided():
		return nil, &DecidedError{ID: ap.ID, Decision: ap.Decision, By: ap.By, At: ap.At}
	}
	d, err := c.receive(ctx, gate.Delivery{Run: ap.Run, Gen: ap.Gen, Step: ap.Path, Item: itemOf(ap.Address)})
	if err != nil {
		return nil, err
	}
	if d.run.Status.Closed() || d.run.Cancelling || ap.Void {
		return nil, fmt.Errorf("run %s is %s: %w", d.run.ID, d.run.Status, ErrRunClosed)
	}
	who := personNamed(d.def.Project, req.By)
	if err := mayDecide(d.def.Project, ap, who); err != nil {
		return nil, err
	}
	if err := d.vote(ctx, ap, req, who); err != nil {
		return nil, err
	}
	ops := []store.Op{ap.Put(), store.Check(record.RunKey(ap.Run), store.Equal(record.RunClosed, 0), store.Equal(record.RunCancelling, 0))}
	if ap.Decided() {
		ops[1] = store.Add(record.RunKey(ap.Run), map[string]int64{record.RunAwaiting: -1}, ops[1].Where...)
	}
	if result, ok := d.counts(ap); ok {
		add, err := c.measure(ctx, result)
		if err != nil {
			return nil, err
		}
		ops = append(ops, add)
	}
	if err := c.write(ctx, ops...); err != nil {
		return nil, err
	}
	ap.Stored++
	return ap, nil
}

// counts is what a decision on an action measures, where the charter names a
// measure: whether people took it as it was (R43).
func (d *delivered) counts(ap *record.Approval) (measured, bool) {
	primary, _ := d.workers()
	if !ap.Action || !ap.Decided() || d.node.Action == nil || primary == nil || primary.Charter.Autonomy.Promote == nil {
		return measured{}, false
	}
	m := measured{worker: primary.Charter.Worker, action: d.node.Action.Declared.Name, reviewed: 1}
	if ap.Decision == record.DecisionApproved && !ap.Edited {
		m.accepted = 1
	}
	return m, true
}

func (d *delivered) vote(ctx context.Context, ap *record.Approval, req DecideRequest, who string) error {
	now := d.c.now()
	if req.Verdict == Reject {
		protocol.Decide(ap, record.DecisionRejected, who, req.Reason, now)
		return nil
	}
	if ap.Answer {
		content, err := d.checkAnswer(ctx, req)
		if err == nil {
			ap.Content, ap.Hash, ap.Edited = content, content.Hash, true
			protocol.Decide(ap, record.DecisionApproved, who, req.Reason, now)
		}
		return err
	}
	var edit *record.Value
	if len(req.Edit) > 0 {
		value, err := d.checkEdit(ctx, ap, req)
		if err != nil {
			return err
		}
		edit = &value
	}
	if protocol.Vote(ap, record.Vote{By: who, At: now, Reason: req.Reason}, edit) == protocol.VotedAuthor {
		return fmt.Errorf("%s edited the content and cannot approve it: %w", who, ErrNotAllowed)
	}
	return nil
}

// checkEdit checks an edited content by the schema, the conditions and the
// limits that hold for the worker's own.
func (d *delivered) checkEdit(ctx context.Context, ap *record.Approval, req DecideRequest) (record.Value, error) {
	author := &call{delivered: d, worker: d.node.Worker}
	if primary, _ := d.workers(); author.worker == nil {
		author.worker = primary
	}
	if d.review {
		copied := *d
		copied.review, copied.at = false, address(d.node, d.index)
		author.delivered = &copied
	}
	if d.node.Kind == loop.KindLoop {
		return d.checkAnswer(ctx, req)
	}
	if author.worker == nil {
		return record.Value{}, fmt.Errorf("step %s has no worker: %w", ap.Step, ErrNotPossible)
	}
	schema := author.worker.Output
	if ap.Action {
		schema = author.worker.Input
	}
	value, faults := schema.Check(req.Edit)
	if len(faults) > 0 {
		return record.Value{}, &InputError{What: "edited content", Faults: faultTexts(faults)}
	}
	if err := author.checkEdited(ctx, ap, value); err != nil {
		if f, ok := faultOf(err); ok {
			return record.Value{}, &InputError{What: "edited content", Faults: []string{f.cause}}
		}
		return record.Value{}, err
	}
	return d.c.keep(ctx, value)
}

func (q *call) checkEdited(ctx context.Context, ap *record.Approval, value any) error {
	if err := q.readFacts(ctx, &prepared{}); err != nil {
		return err
	}
	if ap.Action {
		if err := q.keepsWhom(ctx, ap, value); err != nil {
			return err
		}
		q.work = value
		_, err := q.checkLimits(ctx, nil, true)
		return err
	}
	if err := q.resolve(ctx, &prepared{}, nil); err != nil {
		return err
	}
	work := workOf(q.step(), value)
	if err := q.checkAccept(ctx, q.node.Accept, work); err != nil {
		return err
	}
	_, err := q.checkLimits(ctx, work, true)
	return err
}

// personNamed is the name of the person that a name or e-mail address means.
func personNamed(p *registry.Project, who string) string {
	if p != nil {
		for _, person := range p.People {
			if person.Name == who || person.Email != "" && strings.EqualFold(person.Email, who) {
				return person.Name
			}
		}
	}
	return who
}

// mayAct tells whether who acts is someone of the project that the run has
// pinned. Error: ErrNotAllowed, as of a decision.
func (c *Coordinator) mayAct(ctx context.Context, run, who string) error {
	def, err := c.definitionOf(ctx, run)
	if err != nil {
		return err
	}
	return mayActIn(def, who)
}

func mayActIn(def *loop.Definition, who string) error {
	if def.Project != nil {
		if _, known := def.Project.Person(personNamed(def.Project, who)); known {
			return nil
		}
	}
	return fmt.Errorf("%s is nobody of the project: %w", who, ErrNotAllowed)
}

// mayDecide tells whether a person is among the approvers and not among those
// who never may.
func mayDecide(p *registry.Project, ap *record.Approval, who string) error {
	for _, never := range ap.Never {
		if never != "" && personNamed(p, never) == who {
			return fmt.Errorf("%s may not decide this one: %w", who, ErrNotAllowed)
		}
	}
	for _, approver := range ap.Approvers {
		if personNamed(p, approver) == who || slices.Contains(members(p, approver), who) {
			return nil
		}
	}
	return fmt.Errorf("%s is none of the approvers (%s): %w", who, strings.Join(ap.Approvers, ", "), ErrNotAllowed)
}

func members(p *registry.Project, group string) []string {
	if p == nil {
		return nil
	}
	for _, g := range p.Groups {
		if g.Name == group {
			return g.Members
		}
	}
	return nil
}

// itemOf is the machine's item address in a record's.
func itemOf(a record.Address) string {
	var items []int
	for _, part := range strings.Split(string(a), "/") {
		if digits, ok := strings.CutPrefix(part, "@"); ok {
			n := 0
			for _, d := range digits {
				n = n*10 + int(d-'0')
			}
			items = append(items, n)
		}
	}
	return outerloop.FormatItem(items)
}

// declinedEnding is what a rejection or expiry leads to.
func declinedEnding(n *loop.Node, ap *record.Approval) (loop.Ending, outerloop.Outcome) {
	ending, outcome := loop.EndingSkip, outerloop.OutcomeDeclined
	if ap.Decision == record.DecisionExpired {
		outcome = outerloop.OutcomeSkipped
	}
	if n.Approval != nil {
		ending = n.Approval.Rejected
		if ap.Decision == record.DecisionExpired {
			ending = n.Approval.Expired
		}
	}
	return ending, outcome
}

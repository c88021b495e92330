package coordinator

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/charter"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/loop"
)

// errNewVisit says that a decision of an older generation must not bind: the
// step gets a new visit and with it a new request.
var errNewVisit = errors.New("a new visit is needed")

// resolveAction computes an action's key and resource and tells whether a
// person must approve it first (R46): the resolved input is what is approved.
func (q *call) resolveAction(ctx context.Context, p *prepared, approval *record.Approval) error {
	action := q.node.Action
	var err error
	if u := q.run.Undoes(q.at); u != nil { // a person has decided on the rollback
		p.key, p.entry, p.resource = u.Key, u.Entry, u.Resource
		return nil
	}
	if p.key, err = q.actionKey(ctx, action); err != nil {
		return err
	}
	if p.entry, err = keyed("action key", outerloop.ActionEntry(p.key, action.Declared.Name)); err != nil {
		return err
	}
	if p.resource, err = q.keyText(ctx, "resource", action.Resource, texting{items: q.index}); err != nil {
		return err
	}
	stage, err := q.stage(ctx, action)
	if err != nil {
		return err
	}
	if why := onlyProposed(q.worker.Charter, action, stage); why != "" {
		if err := q.propose(ctx, p, stage); err != nil {
			return err
		}
		return &atDoor{outcome: outerloop.OutcomeProposed, reason: why}
	}
	if approval != nil {
		return q.standing(p, approval)
	}
	if err := q.actionReasons(ctx, p, stage); err != nil {
		return err
	}
	if len(p.reasons) == 0 {
		return nil
	}
	if done, err := q.alreadyDone(ctx, p); err != nil || done {
		return err
	}
	return q.needApproval(ctx, approvalNeeded{content: p.raw, hash: p.hash, action: true, reasons: p.reasons, entry: p.entry}, nil)
}

// alreadyDone tells whether the action log has this very action, done with this
// very payload: then nobody is asked, since begin gives the recorded result and
// never executes it, whatever started the run.
func (q *call) alreadyDone(ctx context.Context, p *prepared) (bool, error) {
	a, err := one(ctx, q.c, record.ActionKey(q.run.Loop, p.entry), record.DecodeAction)
	if err != nil {
		return false, fmt.Errorf("reading action %s: %w", p.entry, err)
	}
	if a == nil || a.State != record.ActionDone || a.Hash != p.hash {
		return false, nil
	}
	p.reasons = nil
	return true, nil
}

// standing tells what an approval that exists already means for the input as it
// is resolved now.
func (q *call) standing(p *prepared, approval *record.Approval) error {
	switch {
	case approval.Decision == record.DecisionApproved && approval.Hash == p.hash:
		p.reasons = nil
		return nil
	case approval.Decided() && approval.Decision != record.DecisionApproved && approval.Gen < q.run.Gen:
		return errNewVisit
	case approval.Hash != p.hash:
		return &fault{class: outerloop.ClassConflict, final: true, cause: fmt.Sprintf(
			"approval %s is of input %s, the step now resolves to %s", approval.ID, approval.Hash, p.hash)}
	case !approval.Decided():
		return &approvalNeeded{content: p.raw, hash: p.hash, action: true, again: approval}
	}
	return &fault{class: outerloop.ClassRefused, final: true, cause: declined(approval)}
}

// actionKey is the declared key, else subject and item key.
func (q *call) actionKey(ctx context.Context, action *loop.ActionRule) (string, error) {
	if action.Key != nil {
		return q.text(ctx, action.Key, q.index, nil, "")
	}
	parts := []string{q.run.Subject}
	for _, block := range enclosing(q.node) {
		parts = append(parts, q.itemKey(ctx, block, q.index))
	}
	return strings.Join(parts, "/"), nil
}

// onlyProposed tells why an action is stored and not done (R42, R43).
func onlyProposed(c *charter.Charter, action *loop.ActionRule, stage charter.Stage) string {
	switch {
	case c.Authority == charter.AuthorityRecommend:
		return fmt.Sprintf("worker %s may only recommend", c.Worker)
	case !stage.AtLeast(charter.StageApproval):
		return fmt.Sprintf("action %s is in stage %s", action.Declared.Name, stage)
	}
	return ""
}

// actionReasons adds why a person must approve before the action.
func (q *call) actionReasons(ctx context.Context, p *prepared, stage charter.Stage) error {
	action := q.node.Action
	switch {
	case stage == charter.StageApproval && q.worker.Charter.Authority != charter.AuthorityPrepare:
		p.reasons = append(p.reasons, fmt.Sprintf("every %s asks (stage approval)", action.Declared.Name))
	case q.worker.Charter.Authority == charter.AuthorityPrepare:
		p.reasons = append(p.reasons, fmt.Sprintf("worker %s only prepares", q.worker.Charter.Worker))
	}
	reason, err := q.declaredReason(ctx, nil)
	if err != nil {
		return err
	}
	if reason != "" {
		p.reasons = append(p.reasons, reason)
	}
	return nil
}

// declaredReason is the reason of the step's own `approval`, empty when it does not ask.
func (q *delivered) declaredReason(ctx context.Context, work *after) (string, error) {
	rule := q.node.Approval
	if rule == nil || !rule.Declared {
		return "", nil
	}
	if rule.When == nil {
		return "declared: always", nil
	}
	yes, text, err := q.truth(ctx, rule.When, q.index, work)
	if err != nil || !yes {
		return "", err
	}
	return text, nil
}

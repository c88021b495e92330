package coordinator

import (
	"context"
	"errors"
	"fmt"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/charter"
	"github.com/outerloop-dev/outerloop/pkg/loop"
)

// limits are the step's own and the charter's of the worker that does it. A
// reviewer and a backup have their own charter's.
func (q *call) limits() []loop.LimitRule {
	if q.review {
		return q.worker.Limits
	}
	if q.worker == q.node.Worker {
		return q.node.Limits
	}
	var out []loop.LimitRule
	for _, l := range q.node.Limits {
		if !l.FromCharter {
			out = append(out, l)
		}
	}
	return append(out, q.worker.Limits...)
}

// checkLimits applies the hard limits that can be checked now (R44): before the
// work those without its output, after it the others. The strictest wins; what
// a person may pass is added to the reasons. passed: a person has passed them.
func (q *call) checkLimits(ctx context.Context, work *after, passed bool) ([]string, error) {
	var reasons []string
	var escalated *fault
	_, _, asTool := callPath(q.Step) // its input is an agent's work
	for _, l := range q.limits() {
		if l.Before != (work == nil) {
			continue
		}
		holds, text, err := q.expect(ctx, true, l.Rule, q.index, work)
		if err != nil {
			return nil, limitError(err, l)
		}
		if holds {
			continue
		}
		say, err := q.text(ctx, l.Say, q.index, work, text)
		if err != nil {
			say = text
		}
		switch l.Otherwise {
		case charter.OtherwiseRefuse:
			return nil, &fault{class: outerloop.ClassRefused, cause: say, final: true, breach: asTool || work != nil}
		case charter.OtherwiseEscalate:
			escalated = &fault{class: outerloop.ClassRefused, cause: say, final: true, ask: true, breach: asTool || work != nil}
		default:
			reasons = append(reasons, say)
		}
	}
	if passed {
		return nil, nil
	}
	if escalated != nil {
		return nil, escalated
	}
	return reasons, nil
}

// limitError refuses work whose limit cannot be computed: what is not known to
// be within the limit is not.
func limitError(err error, l loop.LimitRule) error {
	var said *ruleError
	if !errors.As(err, &said) {
		return err
	}
	return &fault{class: outerloop.ClassRefused, final: true, cause: fmt.Sprintf("limit %s cannot be checked: %v", l.Rule.Source(), said)}
}

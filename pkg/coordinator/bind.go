package coordinator

import (
	"context"
	"fmt"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/gate"
	"github.com/outerloop-dev/outerloop/pkg/loop"
	"github.com/outerloop-dev/outerloop/pkg/rule"
)

// micro is how many units of money one unit of a currency has.
const micro = 1_000_000

// after holds the names that exist only once the work is done.
type after struct {
	output     any
	confidence any
	evidence   []gate.Evidence
	unresolved []string
	verdict    any
	event      any
}

// bind gives a rule or value exactly the names it uses: what others put out
// only where it was put out, so that a rule that reads more finds it absent.
func (v *view) bind(ctx context.Context, uses loop.Uses, items []int, work *after) (rule.Vars, error) {
	vars := rule.Vars{}
	for _, n := range uses.Outputs {
		out, err := v.outcomeOf(ctx, n, items)
		if err != nil {
			return nil, err
		}
		if !out.settled {
			return nil, fmt.Errorf("%s %w", n.Path, errNotSettled)
		}
		if !out.outcome.HasOutput() {
			continue
		}
		if vars[n.Name], err = v.c.value(ctx, out.output); err != nil {
			return nil, fmt.Errorf("reading output of %s: %w", n.Path, err)
		}
	}
	if err := v.bindAbout(ctx, vars, uses.About, items); err != nil {
		return nil, err
	}
	for _, block := range uses.Items {
		item, err := v.item(ctx, block, items)
		if err != nil {
			return nil, err
		}
		vars[block.Step.Each.As] = item
	}
	if err := v.bindInput(ctx, vars, uses); err != nil {
		return nil, err
	}
	if uses.Run {
		vars["run"] = v.runValue()
	}
	if len(uses.Facts) > 0 {
		vars["facts"] = v.facts
	}
	if work != nil {
		bindWork(vars, uses, work)
	}
	return vars, nil
}

func bindWork(vars rule.Vars, uses loop.Uses, work *after) {
	set := func(used bool, name string, value any) {
		if used {
			vars[name] = value
		}
	}
	set(uses.Output, "output", work.output)
	set(uses.Confidence, "confidence", work.confidence)
	set(uses.Evidence, "evidence", evidenceValue(work.evidence))
	set(uses.Unresolved, "unresolved", texts(work.unresolved))
	set(uses.Verdict, "verdict", work.verdict)
	set(uses.Event, "event", work.event)
}

func (v *view) bindInput(ctx context.Context, vars rule.Vars, uses loop.Uses) error {
	if uses.Work {
		work, err := v.ownInput(ctx)
		if err != nil {
			return err
		}
		vars["input"] = work
	}
	if !uses.Input {
		return nil
	}
	input, err := v.loopInput(ctx)
	if err != nil {
		return err
	}
	vars["input"] = input
	return nil
}

// ownInput is the worker's own input, resolved when it is first asked for.
func (v *view) ownInput(ctx context.Context) (any, error) {
	if v.work == nil && v.resolveWork != nil {
		if err := v.resolveWork(ctx); err != nil {
			return nil, err
		}
	}
	return v.work, nil
}

func (v *view) loopInput(ctx context.Context) (any, error) {
	if v.input == nil {
		input, err := v.c.value(ctx, v.run.Input)
		if err != nil {
			return nil, fmt.Errorf("reading the run's input: %w", err)
		}
		v.input = input
	}
	return v.input, nil
}

func (v *view) runValue() map[string]any {
	return map[string]any{
		"id": v.run.ID, "subject": v.run.Subject, "as_of": v.run.AsOf, "started_at": v.run.Started,
		"deadline": v.run.Deadline, "spent": float64(v.run.Numbers[record.RunSpent]) / micro,
	}
}

func (v *view) bindAbout(ctx context.Context, vars rule.Vars, nodes []*loop.Node, items []int) error {
	if len(nodes) == 0 {
		return nil
	}
	about := map[string]any{}
	for _, n := range nodes {
		out, err := v.outcomeOf(ctx, n, items)
		if err != nil {
			return err
		}
		if !out.settled {
			return fmt.Errorf("%s %w", n.Path, errNotSettled)
		}
		about[n.Name] = aboutValue(out)
	}
	vars["about"] = about
	return nil
}

func aboutValue(out result) map[string]any {
	s := out.step
	if s == nil {
		s = &record.Step{}
	}
	about := map[string]any{
		"status": string(out.outcome), "confidence": optional(string(s.Confidence)), "reason": optional(out.reason),
		"evidence": evidenceValue(s.Evidence), "attempts": int64(s.Attempts), "cost": float64(s.Cost) / micro,
		"started_at": moment(s.Started), "ended_at": moment(s.Ended), "decided_by": optional(s.DecidedBy),
	}
	return about
}

func optional(text string) any {
	if text == "" {
		return nil
	}
	return text
}

func moment(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t
}

func texts(list []string) []any {
	out := make([]any, len(list))
	for i, text := range list {
		out[i] = text
	}
	return out
}

func evidenceValue(list []gate.Evidence) []any {
	out := make([]any, len(list))
	for i, e := range list {
		out[i] = map[string]any{"claim": e.Claim, "source": e.Source, "at": e.At}
	}
	return out
}

// ruleError is what a rule or value of the loop said, not the store.
type ruleError struct{ err error }

// Error is the rule's own.
func (e *ruleError) Error() string { return e.err.Error() }

// Unwrap gives the rule's own error.
func (e *ruleError) Unwrap() error { return e.err }

func ruleFault(format string, args ...any) error { return &ruleError{fmt.Errorf(format, args...)} }

// truth evaluates a rule and words the decision for the log.
func (v *view) truth(ctx context.Context, r *loop.Rule, items []int, work *after) (bool, string, error) {
	vars, err := v.bind(ctx, r.Uses, items, work)
	if err != nil {
		return false, "", err
	}
	decision, err := r.Decide(ctx, vars)
	if err != nil {
		return false, "", &ruleError{err}
	}
	return decision.Result, ruleText(decision), nil
}

// expect is truth for a rule that nearly always comes out the usual way: only
// the other way is worded.
func (v *view) expect(ctx context.Context, usual bool, r *loop.Rule, items []int, work *after) (bool, string, error) {
	vars, err := v.bind(ctx, r.Uses, items, work)
	if err != nil {
		return false, "", err
	}
	if result, err := r.EvalBool(ctx, vars); err == nil && result == usual {
		return result, "", nil
	}
	decision, err := r.Decide(ctx, vars)
	if err != nil {
		return false, "", &ruleError{err}
	}
	return decision.Result, ruleText(decision), nil
}

// tree evaluates a value.
func (v *view) tree(ctx context.Context, t *loop.Tree, items []int, work *after) (any, error) {
	vars, err := v.bind(ctx, t.Uses, items, work)
	if err != nil {
		return nil, err
	}
	value, err := t.Eval(ctx, vars)
	if err != nil {
		return nil, &ruleError{err}
	}
	return value, nil
}

// compute evaluates a rule that is no yes or no.
func (v *view) compute(ctx context.Context, r *loop.Rule, items []int, work *after) (any, error) {
	vars, err := v.bind(ctx, r.Uses, items, work)
	if err != nil {
		return nil, err
	}
	value, err := r.Eval(ctx, vars)
	if err != nil {
		return nil, &ruleError{err}
	}
	return value, nil
}

// text evaluates a text; nil gives the other.
func (v *view) text(ctx context.Context, t *loop.Phrase, items []int, work *after, other string) (string, error) {
	if t == nil {
		return other, nil
	}
	vars, err := v.bind(ctx, t.Uses, items, work)
	if err != nil {
		return "", err
	}
	text, err := t.Eval(ctx, vars)
	if err != nil {
		return "", &ruleError{err}
	}
	return text, nil
}

// asText is a value as people read it: text as it is, all else as JSON.
func asText(value any) string {
	if text, ok := value.(string); ok {
		return text
	}
	raw, err := canonical(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(raw)
}

// logText bounds what a decision's values take in a log entry.
const logText = 400

func ruleText(d rule.Decision) string {
	values, err := canonical(d.Values)
	if err != nil || len(d.Values) == 0 {
		return d.Rule
	}
	return cut(d.Rule+" with "+string(values), logText)
}

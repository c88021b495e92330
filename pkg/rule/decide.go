package rule

import (
	"context"
	"fmt"

	"cel.dev/cel-go/common/types"
)

// Decision is the result of a rule with what decided it, for the decision log (R5).
type Decision struct {
	Rule   string         `json:"rule"`
	Result bool           `json:"result"`
	Values map[string]any `json:"values"` // the references that this evaluation read, by path; long ones shortened
}

// Decide evaluates a rule and says which values it read; references that a short cut left out are not among them, nor are
// those that were absent.
func (p *Program) Decide(ctx context.Context, vars Vars) (Decision, error) {
	if p.path != nil {
		result, err := p.EvalBool(ctx, vars)
		return Decision{Rule: p.source, Result: result, Values: map[string]any{p.source: result}}, err
	}
	if err := ctx.Err(); err != nil {
		return Decision{}, err
	}
	plans, err := p.plan()
	if err != nil {
		return Decision{}, err
	}
	v, details, err := plans.traced.Eval(activation{env: p.env, vars: vars})
	if err != nil {
		return Decision{}, p.failure(err, vars)
	}
	b, ok := v.(types.Bool)
	if !ok {
		return Decision{}, fmt.Errorf("evaluating %s: it is %s, not true or false", p.source, v.Type().TypeName())
	}
	d := Decision{Rule: p.source, Result: bool(b), Values: map[string]any{}}
	for i, r := range p.refs {
		for _, id := range p.ids[i] {
			if read, ok := details.State().Value(id); ok && !types.IsError(read) {
				if out, err := toJSON(read); err == nil {
					d.Values[r.String()] = brief(out)
				}
			}
		}
	}
	return d, nil
}

const (
	briefText  = 200 // characters of a text
	briefParts = 16  // scalars of a list or object
)

// brief shortens a value for the log: long text is cut, large lists and objects are only counted.
func brief(v any) any {
	switch v := v.(type) {
	case string:
		if at := cutAt(v, briefText); at < len(v) {
			return v[:at] + "…"
		}
	case []any:
		if parts(v, briefParts) < 0 {
			return fmt.Sprintf("(array of %d)", len(v))
		}
	case map[string]any:
		if parts(v, briefParts) < 0 {
			return fmt.Sprintf("(object of %d)", len(v))
		}
	}
	return v
}

// cutAt is the byte at which a text has so many characters; its length where it is not longer.
func cutAt(text string, characters int) int {
	for at := range text {
		if characters == 0 {
			return at
		}
		characters--
	}
	return len(text)
}

// parts counts scalars down from a limit; texts that would be cut use it up.
func parts(v any, left int) int {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			if left = parts(e, left); left < 0 {
				return left
			}
		}
		return left
	case map[string]any:
		for _, e := range v {
			if left = parts(e, left); left < 0 {
				return left
			}
		}
		return left
	case string:
		if len(v) > briefText {
			return -1
		}
	}
	return left - 1
}

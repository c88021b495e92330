package rule

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/interpreter"
)

var utc = time.UTC

// ErrAbsent is the sentinel of AbsentError, ErrCost that of CostError.
var (
	ErrAbsent = errors.New("a value is absent")
	ErrCost   = errors.New("the rule costs too much")
)

// AbsentError says that an expression read something that is not there; default(…) and has(…) do not.
type AbsentError struct {
	Path string // such as "send.message_id"; in lists "scan.stale[].amount", or the last name alone where no type is known
	Root bool   // the name itself has no value
}

func (e *AbsentError) Error() string {
	if e.Root {
		return fmt.Sprintf("%s has no value", e.Path)
	}
	return fmt.Sprintf("%s is absent; default(…) gives a value instead", e.Path)
}

// Unwrap gives ErrAbsent.
func (e *AbsentError) Unwrap() error { return ErrAbsent }

// CostError says that an evaluation was stopped at its cost limit.
type CostError struct{ Limit uint64 }

func (e *CostError) Error() string {
	return fmt.Sprintf("the rule was stopped at its cost limit of %d; it goes through too much data", e.Limit)
}

// Unwrap gives ErrCost.
func (e *CostError) Unwrap() error { return ErrCost }

// absent recognizes what default forgives.
func absent(err error) bool {
	if errors.Is(err, ErrAbsent) {
		return true
	}
	message := err.Error()
	return strings.HasPrefix(message, "no such key") || strings.HasPrefix(message, "index out of bounds")
}

// plans are the executable forms of an expression: one for its value, one that remembers what it read.
type plans struct {
	value  cel.Program
	traced cel.Program
}

func newPlans(e *Env, checked *ast.AST) (*plans, error) {
	env, err := e.planner()
	if err != nil {
		return nil, fmt.Errorf("planning a rule: %w", err)
	}
	limit := cel.CostLimit(e.limit)
	value, err := env.PlanProgram(checked, limit, cel.EvalOptions(cel.OptOptimize))
	if err != nil {
		return nil, fmt.Errorf("planning a rule: %w", err)
	}
	traced, err := env.PlanProgram(checked, limit, cel.EvalOptions(cel.OptTrackState))
	if err != nil {
		return nil, fmt.Errorf("planning a rule: %w", err)
	}
	return &plans{value: value, traced: traced}, nil
}

// Vars are the values of names: plain JSON trees; times as time.Time or RFC 3339 text. They are read, never changed.
// A name that is declared but not given has no value.
type Vars map[string]any

// activation gives CEL the values of the declared names, typed as declared.
type activation struct {
	env  *Env
	vars Vars
}

// ResolveName implements cel.Activation.
func (a activation) ResolveName(name string) (any, bool) {
	t, declared := a.env.names[name]
	if !declared {
		return nil, false
	}
	v, ok := a.vars[name]
	if !ok {
		return types.WrapErr(&AbsentError{Path: name, Root: true}), true
	}
	v, err := plain(t, v)
	if err != nil {
		return types.WrapErr(err), true
	}
	return v, true
}

// Parent implements cel.Activation.
func (activation) Parent() interpreter.Activation { return nil }

// Eval computes the expression. The result is plain JSON: nil, bool, int64, float64, string, []any or map[string]any; a time
// is RFC 3339 text in UTC, a duration seconds with an s. Parts of the result may be parts of vars: do not change them.
// The context is looked at before, not during the computation: the cost limit ends that within half a second.
// Errors: AbsentError, CostError, the context's, or what the computation says.
func (p *Program) Eval(ctx context.Context, vars Vars) (any, error) {
	if p.path != nil {
		v, err := p.read(ctx, vars)
		return nativeJSON(v), err
	}
	v, err := p.value(ctx, vars)
	if err != nil {
		return nil, err
	}
	out, err := toJSON(v)
	if err != nil {
		return nil, fmt.Errorf("evaluating %s: %w", p.source, err)
	}
	return out, nil
}

// EvalBool is Eval for a rule.
func (p *Program) EvalBool(ctx context.Context, vars Vars) (bool, error) {
	v, err := p.value(ctx, vars)
	if err != nil {
		return false, err
	}
	b, ok := v.(types.Bool)
	if !ok {
		return false, fmt.Errorf("evaluating %s: it is %s, not true or false", p.source, v.Type().TypeName())
	}
	return bool(b), nil
}

// EvalTime is Eval for a point in time: a timestamp, or text with an RFC 3339 time.
func (p *Program) EvalTime(ctx context.Context, vars Vars) (time.Time, error) {
	v, err := p.value(ctx, vars)
	if err != nil {
		return time.Time{}, err
	}
	switch v := v.(type) {
	case types.Timestamp:
		return v.Time, nil
	case types.String:
		if t, err := time.Parse(time.RFC3339, string(v)); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("evaluating %s: it is no point in time", p.source)
}

// read follows a lone reference.
func (p *Program) read(ctx context.Context, vars Vars) (any, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	v, err := p.path.read(vars, p.env.names[p.path.root])
	if err != nil {
		return nil, p.failure(err, vars)
	}
	return v, nil
}

func (p *Program) value(ctx context.Context, vars Vars) (ref.Val, error) {
	if p.path != nil {
		v, err := p.read(ctx, vars)
		if err != nil {
			return nil, err
		}
		return p.env.base.cel.CELTypeAdapter().NativeToValue(v), nil
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	plans, err := p.plan()
	if err != nil {
		return nil, err
	}
	v, _, err := plans.value.Eval(activation{env: p.env, vars: vars})
	if err != nil {
		return nil, p.failure(err, vars)
	}
	return v, nil
}

// failure makes a typed error of CEL's, with the whole path of what is absent.
func (p *Program) failure(err error, vars Vars) error {
	var cancelled interpreter.EvalCancelledError
	if errors.As(err, &cancelled) && cancelled.Cause == interpreter.CostLimitExceeded {
		return fmt.Errorf("evaluating %s: %w", p.source, &CostError{Limit: p.env.limit})
	}
	var a *AbsentError
	if !errors.As(err, &a) {
		if key, found := strings.CutPrefix(err.Error(), "no such key: "); found {
			a = &AbsentError{Path: key}
		}
	}
	if a != nil {
		if !a.Root {
			a = &AbsentError{Path: p.locate(a.Path, vars)}
		}
		err = a
	}
	return fmt.Errorf("evaluating %s: %w", p.source, err)
}

// locate finds the reference that lacks a field: types that several names share know only one of their paths.
func (p *Program) locate(lacking string, vars Vars) string {
	name := lacking[strings.LastIndexByte(lacking, '.')+1:]
	for _, r := range p.refs {
		var v any = map[string]any(vars)
		for i, word := range append([]string{r.Root}, r.Path...) {
			m, ok := v.(map[string]any)
			if !ok {
				break
			}
			if v, ok = m[word]; !ok && word == name && i > 0 {
				return strings.Join(append([]string{r.Root}, r.Path[:i]...), ".")
			}
		}
	}
	return lacking
}

package rule

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/outerloop-dev/outerloop/pkg/schema"
)

// Text is a compiled template whose value is text.
type Text struct {
	source string
	parts  []textPart
	refs   []Ref
}

type textPart struct {
	literal string
	program *Program // nil for literal text
}

// Source is the template.
func (t *Text) Source() string { return t.source }

// References are those of all expressions in the text, each once; offsets are within their own expression.
func (t *Text) References() []Ref { return t.refs }

// Eval gives the text: numbers without trailing zeros, booleans as true and false, times as RFC 3339 in UTC. Null, lists and
// objects have no text form: they are errors.
func (t *Text) Eval(ctx context.Context, vars Vars) (string, error) {
	var b strings.Builder
	for _, p := range t.parts {
		if p.program == nil {
			b.WriteString(p.literal)
			continue
		}
		v, err := p.program.Eval(ctx, vars)
		if err != nil {
			return "", err
		}
		text, err := textOf(v)
		if err != nil {
			return "", fmt.Errorf("putting %s into text: %w", p.program.source, err)
		}
		b.WriteString(text)
	}
	return b.String(), nil
}

func textOf(v any) (string, error) {
	switch v := v.(type) {
	case string:
		return v, nil
	case bool:
		return strconv.FormatBool(v), nil
	case int64:
		return strconv.FormatInt(v, 10), nil
	case float64:
		if math.Abs(v) >= 1e21 {
			return strconv.FormatFloat(v, 'g', -1, 64), nil
		}
		return strconv.FormatFloat(v, 'f', -1, 64), nil
	case nil:
		return "", errors.New("it is null; default(…) gives a value instead")
	}
	return "", errors.New("a list or object has no text form")
}

func (t *Text) eval(ctx context.Context, vars Vars) (any, error) { return t.Eval(ctx, vars) }

func (t *Text) static() (*schema.Type, bool) { return schema.Scalar(schema.String), false }

func (t *Text) programs() []*Program {
	var out []*Program
	for _, p := range t.parts {
		if p.program != nil {
			out = append(out, p.program)
		}
	}
	return out
}

// constant is the text of a template without expressions.
func (t *Text) constant() string {
	var b strings.Builder
	for _, p := range t.parts {
		b.WriteString(p.literal)
	}
	return b.String()
}

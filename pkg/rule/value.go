package rule

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"cel.dev/cel-go/common/types"

	"github.com/outerloop-dev/outerloop/pkg/schema"
)

// Value is a compiled tree of maps, lists and scalars in which texts may hold ${ CEL }. It is immutable and safe for
// concurrent use.
type Value struct {
	root node
	refs []Ref
}

// node is one place of the tree.
type node interface {
	eval(ctx context.Context, vars Vars) (any, error)
	// static gives the type, and whether the value may be absent.
	static() (*schema.Type, bool)
	programs() []*Program
}

// CompileValue compiles a tree: map[string]any, []any, strings, numbers, bools, nil. A string that is one ${ … } keeps the
// expression's type, in longer text it becomes text. Keys are plain. Faults carry the path of their scalar, and offsets in it.
func (e *Env) CompileValue(tree any) (*Value, Faults) {
	c := &treeCompiler{env: e}
	root := c.compile(tree, nil)
	if len(c.faults) > 0 {
		slices.SortStableFunc(c.faults, func(a, b Fault) int { return strings.Compare(a.Path, b.Path) })
		return nil, c.faults
	}
	v := &Value{root: root}
	v.refs = mergeRefs(root.programs())
	return v, nil
}

// CompileText compiles a template whose value is always text.
func (e *Env) CompileText(text string) (*Text, Faults) {
	c := &treeCompiler{env: e}
	t := c.text(text, nil)
	if len(c.faults) > 0 {
		return nil, c.faults
	}
	return t, nil
}

// Type is what is known of the value: for schema.Compatible with the schema of whoever takes it.
func (v *Value) Type() *schema.Type {
	t, _ := v.root.static()
	return t
}

// References are those of all expressions in the tree, each once; offsets are within their own scalar.
func (v *Value) References() []Ref { return v.refs }

// Eval computes the value: plain JSON (see Program.Eval). In a map, a lone reference to an optional field that is absent
// leaves its key out; elsewhere that is an AbsentError.
func (v *Value) Eval(ctx context.Context, vars Vars) (any, error) { return v.root.eval(ctx, vars) }

func mergeRefs(programs []*Program) []Ref {
	var out []Ref
	at := map[string]int{}
	for _, p := range programs {
		for _, r := range p.refs {
			if i, ok := at[r.String()]; ok {
				out[i].Waits = out[i].Waits && r.Waits
				continue
			}
			at[r.String()] = len(out)
			out = append(out, r)
		}
	}
	return out
}

type treeCompiler struct {
	env    *Env
	faults Faults
}

func (c *treeCompiler) compile(tree any, path []string) node {
	switch t := tree.(type) {
	case map[string]any:
		m := mapNode{}
		for _, k := range slices.Sorted(maps.Keys(t)) {
			m = append(m, mapEntry{k, c.compile(t[k], append(slices.Clip(path), k))})
		}
		return m
	case []any:
		l := listNode{}
		for i, e := range t {
			l = append(l, c.compile(e, append(slices.Clip(path), strconv.Itoa(i))))
		}
		return l
	case string:
		return c.scalar(t, path)
	}
	return c.constant(tree, path)
}

func (c *treeCompiler) constant(v any, path []string) node {
	switch n := v.(type) {
	case uint64:
		if n > math.MaxInt64 {
			c.faults = append(c.faults, Fault{Kind: BadLiteral, Path: schema.Pointer(path...), Message: "the number is too large", Line: 1, Column: 1, Length: 1})
		}
		return constNode{int64(n)}
	case int:
		return constNode{int64(n)}
	case nil, bool, int64, float64:
		return constNode{v}
	}
	c.faults = append(c.faults, Fault{Kind: Mismatch, Path: schema.Pointer(path...), Message: fmt.Sprintf("a %T is no JSON value", v), Line: 1, Column: 1, Length: 1})
	return constNode{}
}

func (c *treeCompiler) scalar(text string, path []string) node {
	parts, faults := ParseTemplate(text)
	if faults != nil {
		c.report(faults, path)
		return constNode{text}
	}
	if len(parts) == 1 && parts[0].Expr != "" {
		if p := c.program(text, parts[0], path); p != nil {
			return programNode{p}
		}
		return constNode{text}
	}
	if t := c.text(text, path); t != nil && len(t.programs()) > 0 {
		return t
	} else if t != nil {
		return constNode{t.constant()}
	}
	return constNode{text}
}

func (c *treeCompiler) text(text string, path []string) *Text {
	parts, faults := ParseTemplate(text)
	if faults != nil {
		c.report(faults, path)
		return nil
	}
	t := &Text{source: text}
	for _, part := range parts {
		piece := textPart{literal: part.Text}
		if part.Expr != "" {
			if piece.program = c.program(text, part, path); piece.program == nil {
				continue
			}
			c.checkInText(text, part, piece.program, path)
		}
		t.parts = append(t.parts, piece)
	}
	t.refs = mergeRefs(t.programs())
	return t
}

// checkInText refuses what has no text form.
func (c *treeCompiler) checkInText(text string, part Part, p *Program, path []string) {
	k := p.result().Kind()
	if k != types.ListKind && k != types.MapKind && k != types.StructKind {
		return
	}
	f := Fault{Kind: Mismatch, Message: describe(p.result()) + " cannot stand in text; name one of its parts", Offset: part.Offset, Length: len(part.Expr)}
	f.place(text)
	c.report(Faults{f}, path)
}

func (c *treeCompiler) program(text string, part Part, path []string) *Program {
	p, faults := c.env.Compile(part.Expr)
	for i := range faults {
		faults[i].Offset += part.Offset
		faults[i].place(text)
	}
	c.report(faults, path)
	return p
}

func (c *treeCompiler) report(faults Faults, path []string) {
	for _, f := range faults {
		f.Path = schema.Pointer(path...)
		c.faults = append(c.faults, f)
	}
}

type constNode struct{ value any }

func (n constNode) eval(context.Context, Vars) (any, error) { return n.value, nil }
func (n constNode) static() (*schema.Type, bool)            { return schema.ConstOf(n.value), false }
func (n constNode) programs() []*Program                    { return nil }

type programNode struct{ *Program }

func (n programNode) eval(ctx context.Context, vars Vars) (any, error) { return n.Eval(ctx, vars) }
func (n programNode) static() (*schema.Type, bool)                     { return n.Program.static, n.optional }
func (n programNode) programs() []*Program                             { return []*Program{n.Program} }

type mapEntry struct {
	key   string
	value node
}

type mapNode []mapEntry

func (n mapNode) eval(ctx context.Context, vars Vars) (any, error) {
	out := make(map[string]any, len(n))
	for _, e := range n {
		v, err := e.value.eval(ctx, vars)
		if _, optional := e.value.static(); err != nil && optional && leavesOut(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", e.key, err)
		}
		out[e.key] = v
	}
	return out, nil
}

func leavesOut(err error) bool {
	var a *AbsentError
	return errors.As(err, &a) && !a.Root
}

func (n mapNode) static() (*schema.Type, bool) {
	fields := make([]schema.Field, len(n))
	for i, e := range n {
		t, optional := e.value.static()
		fields[i] = schema.Field{Name: e.key, Type: t, Required: !optional}
	}
	return schema.ObjectOf(fields...), false
}

func (n mapNode) programs() []*Program {
	var out []*Program
	for _, e := range n {
		out = append(out, e.value.programs()...)
	}
	return out
}

type listNode []node

func (n listNode) eval(ctx context.Context, vars Vars) (any, error) {
	out := make([]any, len(n))
	for i, e := range n {
		v, err := e.eval(ctx, vars)
		if err != nil {
			return nil, fmt.Errorf("item %d: %w", i, err)
		}
		out[i] = v
	}
	return out, nil
}

func (n listNode) static() (*schema.Type, bool) {
	elems := make([]*schema.Type, len(n))
	for i, e := range n {
		elems[i], _ = e.static()
	}
	return schema.ListOf(schema.UnionOf(elems...)), false
}

func (n listNode) programs() []*Program {
	var out []*Program
	for _, e := range n {
		out = append(out, e.programs()...)
	}
	return out
}

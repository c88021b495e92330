package rule

import (
	"slices"
	"strings"
	"sync"

	"cel.dev/cel-go/checker"
	"cel.dev/cel-go/common"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"

	"github.com/outerloop-dev/outerloop/pkg/schema"
)

// maxRounds bounds how often an expression is adjusted and checked again; each round adjusts all it finds.
const maxRounds = 60

// Program is a compiled expression, immutable and safe for concurrent use.
type Program struct {
	env      *Env
	source   string
	path     *path // set for a lone reference; then checked, ids and plan are not
	checked  *ast.AST
	refs     []Ref
	ids      [][]int64 // expression ids of each ref
	static   *schema.Type
	optional bool
	plan     func() (*plans, error)
}

// Compile checks an expression against the types of the names. All faults are reported, sorted by place.
func (e *Env) Compile(source string) (*Program, Faults) {
	return e.compile(source)
}

// CompileBool is Compile for a rule: an expression that is true or false.
func (e *Env) CompileBool(source string) (*Program, Faults) {
	p, faults := e.compile(source)
	if faults != nil {
		return nil, faults
	}
	if k := p.result().Kind(); k != types.BoolKind && k != types.DynKind {
		f := Fault{Kind: Mismatch, Message: "a rule must be true or false, but this is " + describe(p.result()), Length: len(source)}
		f.place(source)
		return nil, Faults{f}
	}
	return p, nil
}

func (e *Env) compile(source string) (*Program, Faults) {
	if p := e.compilePath(source); p != nil {
		return p, nil
	}
	parsed, faults := e.base.parse(source)
	if faults != nil {
		return nil, faults
	}
	c := &compilation{env: e, source: source, text: parsed.Source(), tree: ast.Copy(parsed.NativeRep())}
	if faults := c.run(); len(faults) > 0 {
		return nil, faults
	}
	p := &Program{env: e, source: source, checked: c.checked}
	p.refs, p.ids = collect(c.checked, source, nil)
	s := &statics{env: e, checked: c.checked}
	p.static, p.optional = s.of(c.checked.Expr())
	p.plan = sync.OnceValues(func() (*plans, error) { return newPlans(e, c.checked) })
	return p, nil
}

// compilation checks one expression in rounds: what CEL refuses only because a whole number meets a decimal one, or because an
// object is used as a map, is adjusted in the tree and checked again.
type compilation struct {
	env     *Env
	source  string
	text    common.Source
	tree    *ast.AST
	checked *ast.AST
	nextID  int64
}

func (c *compilation) run() Faults {
	c.nextID = ast.MaxID(c.tree) + 1
	for round := 0; ; round++ {
		checked, errs := checker.Check(c.tree, c.text, c.env.checker)
		c.checked = checked
		failed := errs.GetErrors()
		switch {
		case len(failed) > 0 && (round >= maxRounds || !c.adjustAll(failed)):
			return c.faults(failed)
		case len(failed) == 0 && (round > maxRounds || c.complete()):
			return c.literals()
		}
	}
}

// adjustAll adjusts the places of the errors that can be adjusted.
func (c *compilation) adjustAll(failed []*common.Error) bool {
	nodes := index(c.tree)
	adjusted := false
	for _, e := range failed {
		if n := nodes[e.ExprID]; n != nil && n.Kind() == ast.CallKind && strings.HasPrefix(e.Message, "found no matching overload") {
			adjusted = c.adjust(n) || adjusted
		} else if n != nil && n.Kind() == ast.ComprehensionKind {
			adjusted = c.asDynamic(n.AsComprehension().IterRange()) || adjusted
		} else if r := c.rangeOf(e.ExprID); r != nil {
			adjusted = c.asDynamic(r) || adjusted
		}
	}
	return adjusted
}

// rangeOf finds the range with this id of a comprehension.
func (c *compilation) rangeOf(id int64) ast.Expr {
	var found ast.Expr
	ast.PreOrderVisit(c.tree.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() == ast.ComprehensionKind && e.AsComprehension().IterRange().ID() == id {
			found = e.AsComprehension().IterRange()
		}
	}))
	return found
}

func index(tree *ast.AST) map[int64]ast.Expr {
	nodes := map[int64]ast.Expr{}
	ast.PreOrderVisit(tree.Expr(), ast.NewExprVisitor(func(e ast.Expr) { nodes[e.ID()] = e }))
	return nodes
}

var mixed = []string{"_==_", "_!=_", "_<_", "_<=_", "_>_", "_>=_", "_+_", "_-_", "_*_", "_/_", "_?_:_", "@in", "default"}

// adjust changes a call that no overload fits: whole numbers beside decimal ones become decimal, objects dynamic.
func (c *compilation) adjust(n ast.Expr) bool {
	call := n.AsCall()
	args := slices.Clone(call.Args())
	if call.IsMemberFunction() {
		args = append([]ast.Expr{call.Target()}, args...)
	}
	name := call.FunctionName()
	if slices.Contains(mixed, name) && c.widen(args) {
		return true
	}
	if name == "default" && len(args) == 2 {
		n.SetKindCase(ast.NewExprFactory().NewCall(n.ID(), "@default", args...))
		return true
	}
	if !slices.Contains([]string{"_==_", "_!=_", "@in", "_[_]", "size"}, name) {
		return false
	}
	changed := false
	for _, a := range args {
		changed = c.asDynamic(a) || changed
	}
	return changed
}

// widen makes decimal what is whole, where both occur.
func (c *compilation) widen(args []ast.Expr) bool {
	var whole []ast.Expr
	decimal := false
	for _, a := range args {
		switch t := c.checked.GetType(a.ID()); {
		case t == nil:
		case numeric(t) == types.IntKind:
			whole = append(whole, a)
		case numeric(t) == types.DoubleKind:
			decimal = true
		case t.Kind() == types.ListKind:
			decimal = decimal || numeric(t.Parameters()[0]) == types.DoubleKind
		}
	}
	if !decimal || len(whole) == 0 {
		return false
	}
	for _, a := range whole {
		c.wrap(a, "double")
	}
	return true
}

// numeric is the kind of number that a type holds, if any.
func numeric(t *types.Type) types.Kind {
	switch {
	case t.IsExactType(types.IntType), t.IsExactType(types.NewNullableType(types.IntType)):
		return types.IntKind
	case t.IsExactType(types.DoubleType), t.IsExactType(types.NewNullableType(types.DoubleType)):
		return types.DoubleKind
	}
	return types.ErrorKind
}

// wrap puts a call of a function around an expression, or makes a decimal literal of a whole one.
func (c *compilation) wrap(e ast.Expr, function string) {
	f := ast.NewExprFactory()
	if function == "double" && e.Kind() == ast.LiteralKind {
		e.SetKindCase(f.NewLiteral(e.ID(), e.AsLiteral().ConvertToType(types.DoubleType)))
		return
	}
	inner := f.NewUnspecifiedExpr(c.nextID)
	inner.SetKindCase(e)
	if place, ok := c.tree.SourceInfo().GetOffsetRange(e.ID()); ok {
		c.tree.SourceInfo().SetOffsetRange(c.nextID, place)
	}
	c.nextID++
	e.SetKindCase(f.NewCall(e.ID(), function, inner))
}

// asDynamic lets an object be used as a map.
func (c *compilation) asDynamic(e ast.Expr) bool {
	if t := c.checked.GetType(e.ID()); t == nil || t.Kind() != types.StructKind {
		return false
	}
	c.wrap(e, "dyn")
	return true
}

// complete finishes a tree that fits: operators on dynamic values compute with whole and decimal numbers alike, and a sum of
// decimal numbers starts at a decimal zero. It says whether nothing was left to do.
func (c *compilation) complete() bool {
	f := ast.NewExprFactory()
	done := true
	ast.PostOrderVisit(c.tree.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.CallKind {
			return
		}
		call := e.AsCall()
		args := call.Args()
		if name, ok := dynamicOperators[call.FunctionName()]; ok && len(args) == 2 && !call.IsMemberFunction() &&
			(c.dynamic(args[0]) || c.dynamic(args[1])) && !accumulates(args[0]) {
			e.SetKindCase(f.NewCall(e.ID(), name, args...))
			done = false
		}
		if call.FunctionName() == "sum" && len(args) == 1 && !call.IsMemberFunction() && !c.sumsWhole(args[0]) {
			zero := f.NewLiteral(c.nextID, types.Double(0))
			c.nextID++
			e.SetKindCase(f.NewCall(e.ID(), "sum", args[0], zero))
			done = false
		}
	}))
	return done
}

// accumulates says whether an expression is the accumulator of a macro.
func accumulates(e ast.Expr) bool {
	return e.Kind() == ast.IdentKind && strings.HasPrefix(e.AsIdent(), "@") || e.Kind() == ast.IdentKind && e.AsIdent() == "__result__"
}

func (c *compilation) dynamic(e ast.Expr) bool {
	t := c.checked.GetType(e.ID())
	return t != nil && t.Kind() == types.DynKind
}

func (c *compilation) sumsWhole(list ast.Expr) bool {
	t := c.checked.GetType(list.ID())
	return t != nil && t.Kind() == types.ListKind && numeric(t.Parameters()[0]) == types.IntKind
}

// result is the CEL type of the expression.
func (p *Program) result() *types.Type {
	if p.path != nil {
		return p.env.types.typed(p.static, p.source)
	}
	return p.checked.GetType(p.checked.Expr().ID())
}

// Source is the expression's text.
func (p *Program) Source() string { return p.source }

// Type is what is known of the result before it is there. Times and durations have the kinds Time and Span, though Eval
// gives them as text.
func (p *Program) Type() *schema.Type { return p.static }

// Optional says that the expression is a lone reference whose value may be absent: Eval then fails with an AbsentError.
func (p *Program) Optional() bool { return p.optional }

// References are the names and paths that the expression reads, in order of their place.
func (p *Program) References() []Ref { return p.refs }

package rule

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"cel.dev/cel-go/common"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"

	"github.com/outerloop-dev/outerloop/pkg/schema"
)

// faults words what the checker refused.
func (c *compilation) faults(failed []*common.Error) Faults {
	nodes := index(c.tree)
	var out Faults
	for _, e := range failed {
		f := c.explain(e, nodes[e.ExprID])
		f.place(c.source)
		if !slices.ContainsFunc(out, func(o Fault) bool { return o.Offset == f.Offset && o.Message == f.Message }) {
			out = append(out, f)
		}
	}
	slices.SortStableFunc(out, func(a, b Fault) int { return cmp.Compare(a.Offset, b.Offset) })
	return out
}

func (c *compilation) explain(e *common.Error, n ast.Expr) Fault {
	f := Fault{Kind: Mismatch, Message: e.Message, Offset: byteOffset(c.source, e.Location), Length: 1}
	switch {
	case n == nil:
	case strings.HasPrefix(e.Message, "undefined field") && n.Kind() == ast.SelectKind:
		c.unknownField(&f, n)
	case strings.HasPrefix(e.Message, "undeclared reference"):
		c.unknownName(&f, n)
	case strings.HasPrefix(e.Message, "found no matching overload") && n.Kind() == ast.CallKind:
		f.Message = c.noOverload(n.AsCall())
	case strings.Contains(e.Message, "does not support field selection") && n.Kind() == ast.SelectKind:
		s := n.AsSelect()
		f.Kind, f.Name, f.Of = UnknownField, s.FieldName(), c.pathOf(s.Operand())
		f.Offset = nameAfter(c.source, f.Offset, s.FieldName())
		f.Length = len(s.FieldName())
		f.Message = fmt.Sprintf("%s is %s, it has no field %q", f.Of, describe(c.checked.GetType(s.Operand().ID())), s.FieldName())
	case strings.Contains(e.Message, "cannot be range"):
		f.Message = "this goes through a list, but " + c.pathOf(n) + " is " + describe(c.checked.GetType(n.ID()))
	}
	return f
}

func (c *compilation) unknownField(f *Fault, n ast.Expr) {
	s := n.AsSelect()
	f.Kind, f.Name, f.Of = UnknownField, s.FieldName(), c.pathOf(s.Operand())
	f.Offset = nameAfter(c.source, f.Offset, f.Name)
	f.Length = len(f.Name)
	if t, ok := c.env.types.lookup(c.checked.GetType(s.Operand().ID()).TypeName()); ok {
		f.Available = t.FieldNames()
	}
	f.Suggestion = schema.Nearest(f.Name, f.Available)
	f.Message = fmt.Sprintf("%s has no field %q%s", f.Of, f.Name, advice(*f))
}

func (c *compilation) unknownName(f *Fault, n ast.Expr) {
	switch n.Kind() {
	case ast.IdentKind:
		f.Kind, f.Name, f.Available = UnknownName, n.AsIdent(), c.env.sorted
	case ast.CallKind:
		f.Kind, f.Name, f.Available = UnknownCall, n.AsCall().FunctionName(), c.env.base.callable
		f.Offset = c.callStart(n)
	default:
		return
	}
	f.Length = len(f.Name)
	f.Suggestion = schema.Nearest(f.Name, f.Available)
	what := "name"
	if f.Kind == UnknownCall {
		what = "function"
	}
	f.Message = fmt.Sprintf("there is no %s %q here%s", what, f.Name, advice(*f))
}

// callStart is the offset of a function's name: CEL places a call at its bracket.
func (c *compilation) callStart(n ast.Expr) int {
	offset := startOf(c.tree, c.source, n.ID())
	if i := strings.LastIndex(c.source[:offset], n.AsCall().FunctionName()); i >= 0 && !strings.HasPrefix(c.source[offset:], n.AsCall().FunctionName()) {
		return i
	}
	return offset
}

func advice(f Fault) string {
	if f.Suggestion != "" {
		return fmt.Sprintf(". Did you mean %q?", f.Suggestion)
	}
	if len(f.Available) == 0 || len(f.Available) > 12 {
		return ""
	}
	return "; there are " + strings.Join(f.Available, ", ")
}

// pathOf names an expression in messages: the path of a reference, else the name of its type, else "this".
func (c *compilation) pathOf(e ast.Expr) string {
	switch e.Kind() {
	case ast.IdentKind:
		return e.AsIdent()
	case ast.SelectKind:
		return c.pathOf(e.AsSelect().Operand()) + "." + e.AsSelect().FieldName()
	case ast.CallKind:
		if call := e.AsCall(); call.FunctionName() == "_[_]" {
			return c.pathOf(call.Args()[0]) + "[]"
		}
	}
	if t := c.checked.GetType(e.ID()); t != nil && t.Kind() == types.StructKind {
		return strings.TrimPrefix(t.TypeName(), objectPrefix)
	}
	return "this"
}

var operatorWords = map[string]string{
	"_==_": "==", "_!=_": "!=", "_<_": "<", "_<=_": "<=", "_>_": ">", "_>=_": ">=", "_+_": "+", "_-_": "-", "_*_": "*",
	"_/_": "/", "_%_": "%", "_&&_": "&&", "_||_": "||", "!_": "!", "-_": "-", "@in": "in", "_[_]": "[…]", "_?_:_": "? :",
}

func (c *compilation) noOverload(call ast.CallExpr) string {
	args := call.Args()
	if call.IsMemberFunction() {
		args = append([]ast.Expr{call.Target()}, args...)
	}
	words := make([]string, len(args))
	for i, a := range args {
		words[i] = describe(c.checked.GetType(a.ID()))
	}
	name := call.FunctionName()
	if op, ok := operatorWords[name]; ok {
		if len(words) == 2 && (op == "==" || op == "!=") {
			return fmt.Sprintf("%s and %s are never equal", words[0], words[1])
		}
		return fmt.Sprintf("%s does not work with %s", op, strings.Join(words, " and "))
	}
	if call.IsMemberFunction() {
		return fmt.Sprintf("%s has no function %s(%s)", words[0], name, strings.Join(words[1:], ", "))
	}
	return fmt.Sprintf("%s(…) does not take (%s)", name, strings.Join(words, ", "))
}

// describe names a CEL type in the words that schemas use.
func describe(t *types.Type) string {
	if t == nil {
		return "a value"
	}
	switch t.Kind() {
	case types.IntKind, types.UintKind:
		return "an integer"
	case types.DoubleKind:
		return "a number"
	case types.BoolKind:
		return "a boolean"
	case types.StringKind:
		return "a string"
	case types.TimestampKind:
		return "a timestamp"
	case types.DurationKind:
		return "a duration"
	case types.NullTypeKind:
		return "null"
	case types.ListKind:
		return "an array"
	case types.MapKind, types.StructKind:
		return "an object"
	}
	return "a value"
}

// literals finds what compiles but can never work: durations, times, moments and patterns that cannot be read, a default of
// something that is always there, and comparisons with a value outside an enum.
func (c *compilation) literals() Faults {
	var out Faults
	add := func(e ast.Expr, kind FaultKind, message string) {
		f := Fault{Kind: kind, Message: message, Offset: startOf(c.checked, c.source, e.ID()), Length: 1}
		if e.Kind() == ast.LiteralKind {
			f.Length = literalLength(c.source[f.Offset:])
		}
		f.place(c.source)
		out = append(out, f)
	}
	s := &statics{env: c.env, checked: c.checked}
	ast.PreOrderVisit(c.checked.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.CallKind {
			return
		}
		call := e.AsCall()
		c.constantText(call, add)
		switch name := call.FunctionName(); name {
		case "_==_", "_!=_", "@in":
			enums(s, call.Args(), add)
		case "default", "@default":
			if a := call.Args()[0]; !isPath(a) {
				add(a, Mismatch, "default(…) takes a name or a path such as draft.text first, then the value to use where it is absent")
			}
		}
	}))
	slices.SortStableFunc(out, func(a, b Fault) int { return cmp.Compare(a.Offset, b.Offset) })
	return out
}

// isPath says whether an expression is a name, a field or an index; as a decimal number too.
func isPath(e ast.Expr) bool {
	if e.Kind() == ast.CallKind && e.AsCall().FunctionName() == "double" && len(e.AsCall().Args()) == 1 {
		e = e.AsCall().Args()[0]
	}
	return e.Kind() == ast.SelectKind || e.Kind() == ast.IdentKind || e.Kind() == ast.CallKind && e.AsCall().FunctionName() == "_[_]"
}

func (c *compilation) constantText(call ast.CallExpr, add func(ast.Expr, FaultKind, string)) {
	args := call.Args()
	if len(args) == 0 || args[len(args)-1].Kind() != ast.LiteralKind {
		return
	}
	last := args[len(args)-1]
	text, ok := last.AsLiteral().(types.String)
	if !ok {
		return
	}
	if err := checkText(call.FunctionName(), string(text)); err != nil {
		add(last, BadLiteral, err.Error())
	}
}

// literalLength is the length of the quoted text that a source begins with.
func literalLength(source string) int {
	if end, ok := skipString(source); ok {
		return end
	}
	return 1
}

// enums finds constants that the other side can never be.
func enums(s *statics, args []ast.Expr, add func(ast.Expr, FaultKind, string)) {
	for i, e := range args {
		if k := args[1-i].Kind(); k == ast.LiteralKind || k == ast.ListKind {
			continue
		}
		other, _ := s.of(args[1-i])
		if e.Kind() == ast.LiteralKind {
			if other.Kind == schema.List {
				other = other.Elem
			}
			outside(other, e, add)
		}
		if e.Kind() == ast.ListKind {
			for _, item := range e.AsList().Elements() {
				if item.Kind() == ast.LiteralKind {
					outside(other, item, add)
				}
			}
		}
	}
}

func outside(t *schema.Type, e ast.Expr, add func(ast.Expr, FaultKind, string)) {
	text, ok := e.AsLiteral().(types.String)
	if !ok || t.Kind != schema.String || t.Enum == nil {
		return
	}
	var allowed []string
	for _, v := range t.Enum {
		if v == string(text) {
			return
		}
		if w, ok := v.(string); ok {
			allowed = append(allowed, w)
		}
	}
	f := Fault{Suggestion: schema.Nearest(string(text), allowed), Available: allowed}
	add(e, BadLiteral, fmt.Sprintf("%q is not one of the values that this can have%s", string(text), advice(f)))
}

func checkTimestamp(text string) error {
	if _, err := time.Parse(time.RFC3339, text); err != nil {
		return fmt.Errorf("%q is no RFC 3339 time such as 2026-11-30T07:00:00Z", text)
	}
	return nil
}

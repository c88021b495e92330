package rule

import (
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"

	"github.com/outerloop-dev/outerloop/pkg/schema"
)

// statics finds what a schema type says of an expression beyond its CEL type: enums, formats, optional fields.
type statics struct {
	env     *Env
	checked *ast.AST
}

// of gives the type of an expression, and whether it is a path that may lead to nothing.
func (s *statics) of(e ast.Expr) (t *schema.Type, optional bool) {
	switch e.Kind() {
	case ast.IdentKind:
		if t, ok := s.env.names[e.AsIdent()]; ok && s.global(e) {
			return t, false
		}
	case ast.SelectKind:
		if sel := e.AsSelect(); !sel.IsTestOnly() {
			return s.step(e, sel.Operand(), sel.FieldName())
		}
	case ast.LiteralKind:
		return literalType(e), false
	case ast.CallKind:
		if t, optional, ok := s.call(e); ok {
			return t, optional
		}
	case ast.ListKind:
		return s.list(e.AsList()), false
	case ast.MapKind:
		return s.object(e.AsMap()), false
	}
	return s.fromCEL(s.checked.GetType(e.ID())), false
}

// global says whether an identifier is the environment's, not one that a macro declared over it.
func (s *statics) global(e ast.Expr) bool {
	want := s.env.types.typed(s.env.names[e.AsIdent()], e.AsIdent())
	have := s.checked.GetType(e.ID())
	return have != nil && have.IsExactType(want)
}

func (s *statics) step(e, operand ast.Expr, name string) (*schema.Type, bool) {
	from, optional := s.of(operand)
	t, may, err := from.Lookup(name)
	if err != nil {
		return s.fromCEL(s.checked.GetType(e.ID())), optional
	}
	if t.Nullable { // absent reads as null
		may = from.Nullable
	}
	return t, optional || may
}

func literalType(e ast.Expr) *schema.Type {
	switch v := e.AsLiteral().(type) {
	case types.Null:
		return schema.Scalar(schema.Null)
	case types.Bool, types.Int, types.Double, types.String:
		return schema.ConstOf(v.Value())
	}
	return schema.Scalar(schema.Any)
}

func (s *statics) call(e ast.Expr) (t *schema.Type, optional, ok bool) {
	call := e.AsCall()
	args := call.Args()
	switch call.FunctionName() {
	case "default", "@default":
		value, _ := s.of(args[0])
		other, optional := s.of(args[1])
		return schema.UnionOf(value.NotNull(), other), optional, true
	case "_?_:_":
		a, mayA := s.of(args[1])
		b, mayB := s.of(args[2])
		return schema.UnionOf(a, b), mayA || mayB, true
	case "_[_]":
		key, constant := constantKey(args[1])
		if !constant {
			key = "[]"
		}
		if from, _ := s.of(args[0]); from.Kind == schema.List || constant {
			t, may := s.step(e, args[0], key)
			return t, may, true
		}
	case "dyn":
		t, optional := s.of(args[0])
		return t, optional, true
	case "double":
		if from, optional := s.of(args[0]); from.Kind == schema.Int {
			return schema.Scalar(schema.Number), optional, true
		}
	}
	return nil, false, false
}

func (s *statics) list(l ast.ListExpr) *schema.Type {
	var elems []*schema.Type
	for _, e := range l.Elements() {
		t, _ := s.of(e)
		elems = append(elems, t)
	}
	return schema.ListOf(schema.UnionOf(elems...))
}

func (s *statics) object(m ast.MapExpr) *schema.Type {
	var fields []schema.Field
	for _, entry := range m.Entries() {
		key, constant := constantKey(entry.AsMapEntry().Key())
		if !constant {
			return schema.MapOf(schema.Scalar(schema.Any))
		}
		t, optional := s.of(entry.AsMapEntry().Value())
		fields = append(fields, schema.Field{Name: key, Type: t, Required: !optional})
	}
	return schema.ObjectOf(fields...)
}

// fromCEL gives the schema type of a CEL type.
func (s *statics) fromCEL(t *types.Type) *schema.Type {
	if t == nil {
		return schema.Scalar(schema.Any)
	}
	switch t.Kind() {
	case types.BoolKind:
		return nullable(t, schema.Bool)
	case types.IntKind, types.UintKind:
		return nullable(t, schema.Int)
	case types.DoubleKind:
		return nullable(t, schema.Number)
	case types.StringKind:
		return nullable(t, schema.String)
	case types.TimestampKind:
		return schema.Scalar(schema.Time)
	case types.DurationKind:
		return schema.Scalar(schema.Span)
	case types.NullTypeKind:
		return schema.Scalar(schema.Null)
	case types.ListKind:
		return schema.ListOf(s.fromCEL(t.Parameters()[0]))
	case types.MapKind:
		return schema.MapOf(s.fromCEL(t.Parameters()[1]))
	case types.StructKind:
		if found, ok := s.env.types.lookup(t.TypeName()); ok {
			return found
		}
	}
	return schema.Scalar(schema.Any)
}

func nullable(t *types.Type, k schema.Kind) *schema.Type {
	if t.IsAssignableType(types.NullType) {
		return schema.Scalar(k).OrNull()
	}
	return schema.Scalar(k)
}

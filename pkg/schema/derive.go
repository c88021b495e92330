package schema

import (
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// derive makes the type view of a compiled schema in two passes: one gives every subschema a node, so that recursion ends;
// the other combines the parts of each node (allOf, anyOf, $ref with neighbours).
func derive(s *jsonschema.Schema) *Type {
	b := &builder{nodes: map[*jsonschema.Schema]*node{}, made: map[*Type]*node{}}
	n := b.node(s)
	for _, part := range b.order {
		if len(part.all) == 0 && len(part.choices) == 0 {
			*part.out = *part.own
			part.state = 2
		}
	}
	for _, part := range slices.Backward(b.order) { // parts before what is made of them
		b.resolve(part)
	}
	return n.out
}

type builder struct {
	nodes map[*jsonschema.Schema]*node
	made  map[*Type]*node // by their out
	order []*node
}

// node is a subschema's type and what it must be combined with: all of all, and one of each list of choices.
type node struct {
	out     *Type
	own     *Type
	all     []*node
	choices [][]*node
	state   int // 0 new, 1 being resolved, 2 done
}

func (b *builder) node(s *jsonschema.Schema) *node {
	if n, ok := b.nodes[s]; ok {
		return n
	}
	n := &node{out: &Type{}}
	b.nodes[s], b.made[n.out] = n, n
	b.order = append(b.order, n)
	n.own = b.own(s)
	for _, ref := range []*jsonschema.Schema{s.Ref, dynamic(s), s.RecursiveRef} {
		if ref != nil {
			n.all = append(n.all, b.node(ref))
		}
	}
	for _, part := range s.AllOf {
		n.all = append(n.all, b.node(part))
	}
	for _, group := range [][]*jsonschema.Schema{s.AnyOf, s.OneOf} {
		if len(group) == 0 {
			continue
		}
		var choice []*node
		for _, g := range group {
			choice = append(choice, b.node(g))
		}
		n.choices = append(n.choices, choice)
	}
	return n
}

func dynamic(s *jsonschema.Schema) *jsonschema.Schema {
	if s.DynamicRef == nil {
		return nil
	}
	return s.DynamicRef.Ref
}

// own is what a subschema says by itself.
func (b *builder) own(s *jsonschema.Schema) *Type {
	if s.Bool != nil {
		if *s.Bool {
			return &Type{Kind: Any}
		}
		return &Type{Kind: Never}
	}
	t := &Type{Kind: Any}
	switch {
	case s.Types != nil:
		t = b.typed(s, s.Types.ToStrings())
	case s.Const != nil:
		t = ConstOf(*s.Const)
	case s.Enum != nil:
		t = enumType(s.Enum.Values)
	case len(s.Properties) > 0 || len(s.Required) > 0:
		t = b.object(s)
	case s.Items2020 != nil || len(s.PrefixItems) > 0:
		t = b.list(s)
	}
	if s.Types != nil && s.Const != nil {
		t = intersect(t, ConstOf(*s.Const), 0)
	} else if s.Types != nil && s.Enum != nil {
		t = intersect(t, enumType(s.Enum.Values), 0)
	}
	if s.Format != nil && (t.Kind == String || t.Kind == Any) {
		t.Kind, t.Format = String, s.Format.Name
	}
	t.Title, t.source = s.Title, s
	return t
}

func (b *builder) typed(s *jsonschema.Schema, names []string) *Type {
	var variants []*Type
	for _, name := range names {
		switch name {
		case "object":
			variants = append(variants, b.object(s))
		case "array":
			variants = append(variants, b.list(s))
		default:
			variants = append(variants, &Type{Kind: Kind(name)})
		}
	}
	return union(variants)
}

func (b *builder) list(s *jsonschema.Schema) *Type {
	var elems []*Type
	for _, p := range s.PrefixItems {
		elems = append(elems, b.node(p).out)
	}
	rest, _ := s.Items.(*jsonschema.Schema) // before 2020-12
	if s.Items2020 != nil {
		rest = s.Items2020
	}
	switch {
	case rest != nil && len(elems) == 0:
		return &Type{Kind: List, Elem: b.node(rest).out}
	default: // a tuple's items have many types
		return &Type{Kind: List, Elem: &Type{Kind: Any}}
	}
}

func (b *builder) object(s *jsonschema.Schema) *Type {
	t := &Type{Kind: Object}
	for name, p := range s.Properties {
		t.fields = append(t.fields, Field{Name: name, Type: b.node(p).out, Required: slices.Contains(s.Required, name)})
	}
	for _, name := range s.Required {
		if _, named := s.Properties[name]; !named {
			t.fields = append(t.fields, Field{Name: name, Type: &Type{Kind: Any}, Required: true})
		}
	}
	for _, branch := range []*jsonschema.Schema{s.Then, s.Else} {
		b.conditional(t, branch)
	}
	slices.SortFunc(t.fields, func(x, y Field) int { return strings.Compare(x.Name, y.Name) })
	t.fields = slices.CompactFunc(t.fields, func(x, y Field) bool { return x.Name == y.Name })
	t.Extra, t.Open = b.extra(s, len(t.fields) > 0)
	return t
}

// conditional adds the fields that only then or else names: they may be there.
func (b *builder) conditional(t *Type, branch *jsonschema.Schema) {
	if branch == nil {
		return
	}
	for name, p := range branch.Properties {
		if !slices.ContainsFunc(t.fields, func(f Field) bool { return f.Name == name }) {
			t.fields = append(t.fields, Field{Name: name, Type: b.node(p).out})
		}
	}
}

func (b *builder) extra(s *jsonschema.Schema, named bool) (extra *Type, open bool) {
	if len(s.PatternProperties) == 1 && s.AdditionalProperties == false {
		for _, p := range s.PatternProperties {
			return b.node(p).out, false
		}
	}
	if len(s.PatternProperties) > 0 {
		return &Type{Kind: Any}, false
	}
	switch ap := s.AdditionalProperties.(type) {
	case bool:
		if ap {
			return &Type{Kind: Any}, false
		}
		return nil, false
	case *jsonschema.Schema:
		if ap.Bool != nil && !*ap.Bool {
			return nil, false
		}
		return b.node(ap).out, false
	}
	if s.UnevaluatedProperties != nil && s.UnevaluatedProperties.Bool != nil && !*s.UnevaluatedProperties.Bool {
		return nil, false
	}
	if named {
		return nil, true
	}
	return &Type{Kind: Any}, false
}

// resolve combines a node's parts. A part that is still being resolved (a cycle of bare references) limits nothing.
func (b *builder) resolve(n *node) {
	if n.state != 0 {
		return
	}
	n.state = 1
	t := n.own
	for _, part := range n.all {
		if b.resolve(part); part.state == 2 {
			t = b.both(t, part.out)
		}
	}
	for _, choice := range n.choices {
		t = b.both(t, b.either(choice))
	}
	*n.out = *t
	if n.out.Kind == "" {
		n.out.Kind = Any
	}
	n.state = 2
}

func (b *builder) both(x, y *Type) *Type {
	if x.Kind != Any && y.Kind != Any {
		b.below(x)
		b.below(y)
	}
	return intersect(x, y, 0)
}

func (b *builder) either(choice []*node) *Type {
	var variants []*Type
	forms := 0
	for _, c := range choice {
		v := &Type{Kind: Any}
		if b.resolve(c); c.state == 2 {
			v = c.out
		}
		if variants = append(variants, v); v.Kind != Null {
			forms++
		}
	}
	if forms > 1 { // else there is nothing to merge, and a recursive form may still be open below
		for _, v := range variants {
			b.below(v)
		}
	}
	return union(variants)
}

// below resolves what a type's fields and items are: they may be combined with others.
func (b *builder) below(t *Type) {
	children := []*Type{t.Elem, t.Extra}
	for _, f := range t.fields {
		children = append(children, f.Type)
	}
	for _, child := range append(children, t.Variants...) {
		if n := b.made[child]; n != nil {
			b.resolve(n)
		}
	}
}

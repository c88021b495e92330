package schema

import (
	"reflect"
	"slices"
	"strings"
)

// combineDepth ends the combination of recursive types; deeper parts are taken from the first.
const combineDepth = 8

// UnionOf is the type of a value that has one of the types.
func UnionOf(types ...*Type) *Type { return union(types) }

// union is the type of a value that fits one of the variants. Variants of one kind are merged.
func union(variants []*Type) *Type {
	flat, nullable := flattenUnion(variants)
	if len(flat) == 0 {
		if nullable {
			return &Type{Kind: Null}
		}
		return &Type{Kind: Never}
	}
	out := flat[0]
	if len(flat) > 1 {
		out = mergeKinds(flat)
	}
	if nullable {
		out = out.OrNull()
	}
	return out
}

func flattenUnion(variants []*Type) (flat []*Type, nullable bool) {
	for _, v := range variants {
		switch v.Kind {
		case Null:
			nullable = true
			continue
		case Never:
			continue
		case Union:
			inner, _ := flattenUnion(v.Variants)
			flat, nullable = append(flat, inner...), nullable || v.Nullable
			continue
		}
		nullable = nullable || v.Nullable
		if v = v.NotNull(); !slices.Contains(flat, v) {
			flat = append(flat, v)
		}
	}
	return flat, nullable
}

func mergeKinds(flat []*Type) *Type {
	var merged []*Type
	for _, v := range flat {
		if v.Kind == Any || v.Kind == "" { // "": a recursive part that is not known yet
			return &Type{Kind: Any}
		}
		i := slices.IndexFunc(merged, func(m *Type) bool { return sameKind(m.Kind, v.Kind) })
		if i < 0 {
			merged = append(merged, v)
		} else {
			merged[i] = mergePair(merged[i], v)
		}
	}
	if len(merged) == 1 {
		return merged[0]
	}
	return &Type{Kind: Union, Variants: merged}
}

func sameKind(a, b Kind) bool {
	return a == b || a == Int && b == Number || a == Number && b == Int
}

// mergePair is the union of two types of one kind.
func mergePair(a, b *Type) *Type {
	out := &Type{Kind: a.Kind}
	if b.Kind == Number {
		out.Kind = Number
	}
	if a.Format == b.Format {
		out.Format = a.Format
	}
	if a.Enum != nil && b.Enum != nil {
		out.Enum = slices.Clone(a.Enum)
		for _, v := range b.Enum {
			if !contains(out.Enum, v) {
				out.Enum = append(out.Enum, v)
			}
		}
	}
	switch a.Kind {
	case List:
		out.Elem = a.Elem
		if a.Elem != b.Elem {
			out.Elem = union([]*Type{a.Elem, b.Elem})
		}
	case Object:
		mergeObjects(out, a, b)
	}
	return out
}

func mergeObjects(out, a, b *Type) {
	names := append(a.FieldNames(), b.FieldNames()...)
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		fa, inA := a.Field(name)
		fb, inB := b.Field(name)
		f := Field{Name: name, Required: inA && inB && fa.Required && fb.Required}
		switch {
		case !inA:
			f.Type = fb.Type
		case !inB || fa.Type == fb.Type:
			f.Type = fa.Type
		default:
			f.Type = union([]*Type{fa.Type, fb.Type})
		}
		out.fields = append(out.fields, f)
	}
	out.Open = a.Open || b.Open
	switch {
	case a.Extra != nil && b.Extra != nil && a.Extra != b.Extra:
		out.Extra = union([]*Type{a.Extra, b.Extra})
	case a.Extra != nil:
		out.Extra = a.Extra
	default:
		out.Extra = b.Extra
	}
	for _, v := range []*Type{a, b} {
		if len(v.Variants) > 0 {
			out.Variants = append(out.Variants, v.Variants...)
		} else {
			out.Variants = append(out.Variants, v)
		}
	}
}

// intersect is the type of a value that fits both.
func intersect(a, b *Type, depth int) *Type {
	switch {
	case a == b || b.Kind == Any || b.Kind == "" || depth > combineDepth:
		return a
	case a.Kind == Any || a.Kind == "":
		return b
	case a.Kind == Union || b.Kind == Union:
		return intersectUnion(a, b, depth)
	case a.Kind == Null && b.Nullable || b.Kind == Null && a.Nullable:
		return &Type{Kind: Null}
	case !sameKind(a.Kind, b.Kind):
		if a.Nullable && b.Nullable {
			return &Type{Kind: Null}
		}
		return &Type{Kind: Never}
	}
	out := &Type{Kind: a.Kind, Format: a.Format, Enum: a.Enum, Title: a.Title, Nullable: a.Nullable && b.Nullable}
	if b.Kind == Int {
		out.Kind = Int
	}
	if out.Format == "" {
		out.Format = b.Format
	}
	if b.Enum != nil {
		out.Enum = b.Enum
		if a.Enum != nil {
			out.Enum = slices.DeleteFunc(slices.Clone(b.Enum), func(v any) bool { return !contains(a.Enum, v) })
		}
	}
	switch a.Kind {
	case List:
		out.Elem = intersect(a.Elem, b.Elem, depth+1)
	case Object:
		intersectObjects(out, a, b, depth)
	}
	return out
}

func intersectUnion(a, b *Type, depth int) *Type {
	if a.Kind != Union {
		a, b = b, a
	}
	var fit []*Type
	for _, v := range a.Variants {
		if t := intersect(v, b, depth+1); t.Kind != Never {
			fit = append(fit, t)
		}
	}
	out := union(fit)
	if a.Nullable && (b.Nullable || b.Kind == Null) {
		out = union([]*Type{out, {Kind: Null}})
	}
	return out
}

func intersectObjects(out, a, b *Type, depth int) {
	names := append(a.FieldNames(), b.FieldNames()...)
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		fa, inA := a.Field(name)
		fb, inB := b.Field(name)
		f := Field{Name: name, Required: fa.Required || fb.Required}
		switch {
		case !inA:
			f.Type = fb.Type
		case !inB:
			f.Type = fa.Type
		default:
			f.Type = intersect(fa.Type, fb.Type, depth+1)
		}
		out.fields = append(out.fields, f)
	}
	switch {
	case a.Extra != nil && b.Extra != nil:
		out.Extra = intersect(a.Extra, b.Extra, depth+1)
	case a.Extra != nil && b.Open || b.Extra != nil && a.Open:
		out.Open = true
	default:
		out.Open = a.Open && b.Open
	}
	for _, v := range a.Variants { // the forms stay apart, each with what the other side adds
		out.Variants = append(out.Variants, intersect(v, withoutVariants(b), depth+1))
	}
	if len(a.Variants) > 0 {
		return
	}
	for _, v := range b.Variants {
		out.Variants = append(out.Variants, intersect(withoutVariants(a), v, depth+1))
	}
}

func withoutVariants(t *Type) *Type {
	if len(t.Variants) == 0 {
		return t
	}
	c := *t
	c.Variants = nil
	return &c
}

func contains(values []any, v any) bool {
	return slices.ContainsFunc(values, func(w any) bool { return equal(w, v) })
}

// equal compares JSON values; numbers by value.
func equal(a, b any) bool {
	fa, aok := toFloat(a)
	fb, bok := toFloat(b)
	if aok && bok {
		return fa == fb
	}
	if sa, ok := a.(string); ok {
		sb, ok := b.(string)
		return ok && strings.Compare(sa, sb) == 0
	}
	return reflect.DeepEqual(a, b)
}

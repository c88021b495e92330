package schema

import (
	"encoding/json"
	"fmt"
)

// ConstOf is the type of one JSON value.
func ConstOf(v any) *Type {
	switch v := v.(type) {
	case nil:
		return &Type{Kind: Null}
	case bool:
		return &Type{Kind: Bool, Enum: []any{v}}
	case string:
		return &Type{Kind: String, Enum: []any{v}}
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return &Type{Kind: Int, Enum: []any{n}}
		}
		f, _ := v.Float64()
		return &Type{Kind: Number, Enum: []any{f}}
	case []any:
		elems := make([]*Type, len(v))
		for i, e := range v {
			elems[i] = ConstOf(e)
		}
		if len(elems) == 0 {
			return &Type{Kind: List, Elem: &Type{Kind: Never}, Enum: []any{v}}
		}
		return &Type{Kind: List, Elem: union(elems)}
	case map[string]any:
		var fields []Field
		for k, e := range v {
			fields = append(fields, Field{Name: k, Type: ConstOf(e), Required: true})
		}
		return ObjectOf(fields...)
	}
	if n, ok := toInt(v); ok {
		return &Type{Kind: Int, Enum: []any{n}}
	}
	if f, ok := toFloat(v); ok {
		return &Type{Kind: Number, Enum: []any{f}}
	}
	panic(fmt.Sprintf("schema: %T is no JSON value", v))
}

func enumType(values []any) *Type {
	variants := make([]*Type, len(values))
	for i, v := range values {
		variants[i] = ConstOf(v)
	}
	return union(variants)
}

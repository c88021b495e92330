package schema

import (
	"encoding/json"
	"math"
)

// exactFloat is the greatest magnitude up to which float64 holds every integer.
const exactFloat = 1 << 53

// Normalize gives the value with its numbers as the type has them: int64 for integer, float64 for number; where the type says
// neither, float64 unless only int64 holds the value exactly. Maps and lists are changed in place. Numbers may come as any
// of Go's number types or json.Number. A value that does not fit the type is left as it is.
func (t *Type) Normalize(v any) any {
	switch v := v.(type) {
	case nil, bool, string:
		return v
	case map[string]any:
		for k, e := range v {
			v[k] = t.member(k).Normalize(e)
		}
		return v
	case []any:
		elem := t.elem()
		for i, e := range v {
			v[i] = elem.Normalize(e)
		}
		return v
	}
	return t.normalizeNumber(v)
}

var anyType = &Type{Kind: Any}

func (t *Type) variant(k Kind) *Type {
	if t.Kind == k {
		return t
	}
	if t.Kind == Union {
		for _, v := range t.Variants {
			if v.Kind == k {
				return v
			}
		}
	}
	return nil
}

func (t *Type) member(name string) *Type {
	if o := t.variant(Object); o != nil {
		if f, ok := o.Field(name); ok {
			return f.Type
		}
	}
	return anyType
}

func (t *Type) elem() *Type {
	if l := t.variant(List); l != nil {
		return l.Elem
	}
	return anyType
}

func (t *Type) normalizeNumber(v any) any {
	n, whole := toInt(v)
	f, number := toFloat(v)
	if !number {
		return v
	}
	switch {
	case t.variant(Int) != nil && whole:
		return n
	case t.variant(Number) != nil:
		return f
	case whole && (n > exactFloat || n < -exactFloat):
		return n
	}
	return f
}

// toInt gives the integer that a number is, if it is one within int64.
func toInt(v any) (int64, bool) {
	switch v := v.(type) {
	case int64:
		return v, true
	case int:
		return int64(v), true
	case int32:
		return int64(v), true
	case uint64:
		return int64(v), v <= math.MaxInt64
	case float64:
		return int64(v), v == math.Trunc(v) && v >= -1<<63 && v < 1<<63
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n, true
		}
		f, err := v.Float64()
		if err != nil {
			return 0, false
		}
		return toInt(f)
	}
	return 0, false
}

func toFloat(v any) (float64, bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case int64:
		return float64(v), true
	case int:
		return float64(v), true
	case int32:
		return float64(v), true
	case uint64:
		return float64(v), true
	case float32:
		return float64(v), true
	case json.Number:
		f, err := v.Float64()
		return f, err == nil
	}
	return 0, false
}

package rule

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"

	"github.com/outerloop-dev/outerloop/pkg/schema"
)

// plain gives a JSON value the Go type that its schema type promises: int64, float64, time.Time, time.Duration; and so
// for the scalars in lists and maps, which are then copied. Objects are left alone: their fields are converted when read.
func plain(t *schema.Type, v any) (any, error) {
	switch t.Kind {
	case schema.Int, schema.Number:
		return t.Normalize(v), nil
	case schema.Time:
		return plainTime(v)
	case schema.Span:
		return plainSpan(v)
	case schema.List:
		if list, ok := v.([]any); ok && convertible(t.Elem) {
			return plainList(t.Elem, list)
		}
	case schema.Object:
		if m, ok := v.(map[string]any); ok && len(t.Fields()) == 0 && t.Extra != nil && convertible(t.Extra) {
			out := make(map[string]any, len(m))
			for k, e := range m {
				c, err := plain(t.Extra, e)
				if err != nil {
					return nil, err
				}
				out[k] = c
			}
			return out, nil
		}
	case schema.Any, schema.Union:
		if n, ok := v.(json.Number); ok {
			return t.Normalize(n), nil
		}
	}
	return v, nil
}

// convertible says whether values of the type may have to be converted inside a list or map.
func convertible(t *schema.Type) bool {
	switch t.Kind {
	case schema.Int, schema.Number, schema.Time, schema.Span:
		return true
	case schema.List:
		return convertible(t.Elem)
	case schema.Object:
		return len(t.Fields()) == 0 && t.Extra != nil && convertible(t.Extra)
	}
	return false
}

func plainList(elem *schema.Type, list []any) (any, error) {
	out := make([]any, len(list))
	for i, e := range list {
		c, err := plain(elem, e)
		if err != nil {
			return nil, err
		}
		out[i] = c
	}
	return out, nil
}

func plainTime(v any) (any, error) {
	switch v := v.(type) {
	case string:
		t, err := time.Parse(time.RFC3339, v)
		if err != nil {
			return nil, fmt.Errorf("%q is no RFC 3339 time", v)
		}
		return t, nil
	}
	return v, nil
}

func plainSpan(v any) (any, error) {
	if text, ok := v.(string); ok {
		return parseSpan(text)
	}
	return v, nil
}

var errNotJSON = errors.New("the result is no JSON value")

// toJSON makes a JSON value of a result: int64, float64, string, bool, nil, []any and map[string]any; times become RFC 3339
// text in UTC, durations seconds with an s. Data that came in as plain maps and lists goes out as it is, not copied.
func toJSON(v ref.Val) (any, error) {
	switch v := v.(type) {
	case types.Null:
		return nil, nil
	case types.Bool:
		return bool(v), nil
	case types.Int:
		return int64(v), nil
	case types.Double:
		if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
			return nil, fmt.Errorf("%w: it is not a finite number", errNotJSON)
		}
		return float64(v), nil
	case types.String:
		return string(v), nil
	case types.Timestamp:
		return formatTime(v.Time), nil
	case types.Duration:
		return v.ConvertToType(types.StringType).Value(), nil
	case traits.Mapper:
		return mapToJSON(v)
	case traits.Lister:
		return listToJSON(v)
	case types.Uint:
		if v > math.MaxInt64 {
			return nil, fmt.Errorf("%w: %d is too large", errNotJSON, v)
		}
		return int64(v), nil
	}
	return nil, fmt.Errorf("%w but %s", errNotJSON, v.Type().TypeName())
}

func formatTime(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

func mapToJSON(v traits.Mapper) (any, error) {
	if m, ok := v.Value().(map[string]any); ok {
		return m, nil
	}
	out := map[string]any{}
	for it := v.Iterator(); it.HasNext() == types.True; {
		key := it.Next()
		name, ok := key.(types.String)
		if !ok {
			return nil, fmt.Errorf("%w: a key is %s, not a string", errNotJSON, key.Type().TypeName())
		}
		e, err := toJSON(v.Get(key))
		if err != nil {
			return nil, err
		}
		out[string(name)] = e
	}
	return out, nil
}

func listToJSON(v traits.Lister) (any, error) {
	if list, ok := v.Value().([]any); ok {
		return list, nil
	}
	size, _ := v.Size().(types.Int)
	out := make([]any, 0, size)
	for i := types.Int(0); i < size; i++ {
		e, err := toJSON(v.Get(i))
		if err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, nil
}

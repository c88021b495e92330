package schema

import (
	"encoding/json"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// Coercion is one value that was read as the type its schema asks for.
type Coercion struct {
	Path string `json:"path"` // JSON pointer
	From string `json:"from"` // the JSON kind that was found
	To   Kind   `json:"to"`
}

// Coerce corrects what models get wrong without doubt about what was meant: digits in quotes where only a number is
// allowed, "true" in quotes where only a boolean is, a number where only a string without enum, constant or format is.
// Enums, null, lists and objects are never guessed. It gives the document to Check (the same bytes when nothing was to be
// done) and what was changed, for the log. Faults are those of Decode.
func (s *Schema) Coerce(raw json.RawMessage) (json.RawMessage, []Coercion, []Fault) {
	v, faults := Decode(raw)
	if len(faults) > 0 {
		return nil, nil, faults
	}
	var log []Coercion
	v = coerce(s.Type(), v, nil, &log)
	if len(log) == 0 {
		return raw, nil, nil
	}
	out, err := canonical(v)
	if err != nil {
		return nil, nil, []Fault{{Keyword: keywordJSON, Message: err.Error()}}
	}
	sort.Slice(log, func(i, j int) bool { return log[i].Path < log[j].Path })
	return out, log, nil
}

func coerce(t *Type, v any, path []string, log *[]Coercion) any {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			v[k] = coerce(t.member(k), e, append(slices.Clip(path), k), log)
		}
		return v
	case []any:
		for i, e := range v {
			v[i] = coerce(t.elem(), e, append(slices.Clip(path), strconv.Itoa(i)), log)
		}
		return v
	}
	if out, from, ok := coerceScalar(t, v); ok {
		*log = append(*log, Coercion{Path: Pointer(path...), From: from, To: t.Kind})
		return out
	}
	return v
}

func coerceScalar(t *Type, v any) (out any, from string, ok bool) {
	switch v := v.(type) {
	case string:
		out, ok = fromText(t, v)
		return out, "string", ok
	case int64, float64:
		if t.Kind != String || t.Enum != nil || t.Format != "" {
			return nil, "", false
		}
		text, err := canonical(v)
		return string(text), "number", err == nil
	}
	return nil, "", false
}

func fromText(t *Type, text string) (any, bool) {
	if t.Enum != nil {
		return nil, false
	}
	text = strings.TrimSpace(text)
	switch t.Kind {
	case Int, Number:
		v, faults := Decode([]byte(text))
		if len(faults) > 0 {
			return nil, false
		}
		if n, whole := toInt(v); whole {
			return n, true
		}
		f, number := toFloat(v)
		return f, number && t.Kind == Number
	case Bool:
		return text == "true", text == "true" || text == "false"
	}
	return nil, false
}

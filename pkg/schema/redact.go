package schema

import (
	"slices"
	"strings"
)

// Redacted stands where a sensitive value was.
const Redacted = "[redacted]"

// Redact gives a copy of a JSON value in which the fields that the paths name are replaced by Redacted, whatever they hold.
// A path is field names with dots, such as "customer.email"; lists on the way are passed through, "*" is any field.
// Paths that lead nowhere change nothing. Parts without a sensitive field are shared with the original, not copied.
func Redact(v any, paths []string) any {
	split := make([][]string, 0, len(paths))
	for _, p := range paths {
		if p != "" {
			split = append(split, strings.Split(p, "."))
		}
	}
	return redact(v, split)
}

func redact(v any, paths [][]string) any {
	if len(paths) == 0 {
		return v
	}
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = redact(e, paths)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = redactMember(k, e, paths)
		}
		return out
	}
	return v
}

func redactMember(name string, v any, paths [][]string) any {
	var below [][]string
	for _, p := range paths {
		if p[0] != name && p[0] != "*" {
			continue
		}
		if len(p) == 1 {
			return Redacted
		}
		below = append(below, slices.Clip(p[1:]))
	}
	return redact(v, below)
}

// RedactNamed gives a copy of a JSON value in which every field of one of the names is replaced by Redacted, at any
// depth, and the texts that stood there, in no order. Without such a field it gives the value itself.
func RedactNamed(v any, names []string) (any, []string) {
	var texts []string
	var visit func(v any, hide bool) any
	visit = func(v any, hide bool) any {
		switch v := v.(type) {
		case []any:
			out := make([]any, len(v))
			for i, e := range v {
				out[i] = visit(e, hide)
			}
			return out
		case map[string]any:
			out := make(map[string]any, len(v))
			for k, e := range v {
				if slices.Contains(names, k) {
					visit(e, true) // for its texts
					out[k] = Redacted
					continue
				}
				out[k] = visit(e, hide)
			}
			return out
		case string:
			if hide && v != "" {
				texts = append(texts, v)
			}
		}
		return v
	}
	return visit(v, false), texts
}

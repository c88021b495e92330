package openai

import (
	"encoding/json"
	"slices"
)

// strictWords are the keywords that strict schemas may use.
var strictWords = []string{
	"type", "properties", "required", "additionalProperties", "items", "enum", "const", "description", "title", "anyOf",
	"$ref", "$defs", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "pattern", "format", "minItems", "maxItems",
}

// strictable tells whether a schema keeps the rules under which an endpoint
// enforces it: every object is closed and requires all its fields, and only
// known keywords are used. Other schemas are sent as advice.
func strictable(raw json.RawMessage) bool {
	var v any
	return json.Unmarshal(raw, &v) == nil && strict(v)
}

func strict(v any) bool {
	s, ok := v.(map[string]any)
	if !ok {
		return false
	}
	says := false
	for word := range s {
		if !slices.Contains(strictWords, word) {
			return false
		}
		says = says || slices.Contains([]string{"type", "anyOf", "$ref", "enum", "const"}, word)
	}
	items := s["type"] != "array" || s["items"] != nil
	return says && items && strictObject(s) && strictBelow(s)
}

func strictObject(s map[string]any) bool {
	if s["type"] != "object" {
		return s["properties"] == nil
	}
	properties, _ := s["properties"].(map[string]any)
	required, _ := s["required"].([]any)
	for name := range properties {
		if !slices.Contains(required, any(name)) {
			return false
		}
	}
	return s["additionalProperties"] == false && len(required) == len(properties)
}

func strictBelow(s map[string]any) bool {
	for _, word := range []string{"properties", "$defs"} {
		members, _ := s[word].(map[string]any)
		for _, member := range members {
			if !strict(member) {
				return false
			}
		}
	}
	if items, has := s["items"]; has && !strict(items) {
		return false
	}
	choices, _ := s["anyOf"].([]any)
	return !slices.ContainsFunc(choices, func(choice any) bool { return !strict(choice) })
}

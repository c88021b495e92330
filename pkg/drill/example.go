package drill

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"regexp/syntax"
	"slices"
	"strings"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/schema"
)

// wish is what a made value is to be like: always the same for a variant.
type wish struct {
	variant uint64
	now     time.Time
	// file is the reference of a file that is there.
	file string
	pool pool
}

// maker makes values that fit a JSON Schema.
type maker struct {
	wish
	rand *rand.Rand
	root map[string]any
}

// tries is how many values are made before the schema is taken for one that made values do not fit.
const tries = 8

// example makes a value for a schema. ok is false where none was found that fits.
func example(s *schema.Schema, w wish) (json.RawMessage, bool) {
	if s == nil {
		return json.RawMessage("{}"), true
	}
	var root map[string]any
	if json.Unmarshal(s.Raw(), &root) != nil {
		return json.RawMessage("{}"), false
	}
	var last json.RawMessage
	for try := range uint64(tries) {
		m := &maker{wish: w, rand: rand.New(rand.NewPCG(w.variant, try)), root: root} //nolint:gosec // values of a drill
		m.variant += try
		raw, err := json.Marshal(m.value(root, 0))
		if err != nil {
			continue
		}
		last = raw
		if _, faults := s.Check(raw); len(faults) == 0 {
			return raw, true
		}
	}
	return last, false
}

// deepest bounds schemas that contain themselves.
const deepest = 8

func (m *maker) value(s map[string]any, depth int) any {
	if ref, ok := s["$ref"].(string); ok {
		s = m.resolved(ref)
	}
	for _, word := range []string{"oneOf", "anyOf"} {
		if list, ok := s[word].([]any); ok && len(list) > 0 {
			if one, ok := list[m.choose(len(list))].(map[string]any); ok {
				return m.value(merged(s, one), depth)
			}
		}
	}
	if list, ok := s["allOf"].([]any); ok {
		for _, part := range list {
			if one, ok := part.(map[string]any); ok {
				s = merged(s, one)
			}
		}
	}
	if fixed, ok := s["const"]; ok {
		return fixed
	}
	if list, ok := s["enum"].([]any); ok && len(list) > 0 {
		return list[m.choose(len(list))]
	}
	switch kind(s) {
	case "object":
		return m.object(s, depth)
	case "array":
		return m.array(s, depth)
	case "string":
		return m.text(s)
	case "integer":
		return math.Round(m.number(s))
	case "number":
		return m.number(s)
	case "boolean":
		return m.variant%2 == 0 || m.rand.IntN(2) == 0
	}
	return nil
}

// choose is 0 for the first variant, then any.
func (m *maker) choose(n int) int {
	if m.variant == 0 {
		return 0
	}
	return m.rand.IntN(n)
}

func kind(s map[string]any) string {
	switch t := s["type"].(type) {
	case string:
		return t
	case []any:
		for _, one := range t {
			if text, ok := one.(string); ok && text != "null" {
				return text
			}
		}
	}
	if _, ok := s["properties"]; ok {
		return "object"
	}
	return ""
}

func merged(base, more map[string]any) map[string]any {
	out := map[string]any{}
	for _, from := range []map[string]any{base, more} {
		for key, value := range from {
			if key != "oneOf" && key != "anyOf" && key != "allOf" && key != "$ref" {
				out[key] = value
			}
		}
	}
	return out
}

// resolved follows a reference within the schema.
func (m *maker) resolved(ref string) map[string]any {
	at := any(m.root)
	for _, name := range strings.Split(strings.TrimPrefix(ref, "#/"), "/") {
		fields, ok := at.(map[string]any)
		if !ok {
			return nil
		}
		at = fields[name]
	}
	found, _ := at.(map[string]any)
	return found
}

func (m *maker) object(s map[string]any, depth int) any {
	out := map[string]any{}
	properties, _ := s["properties"].(map[string]any)
	required, _ := s["required"].([]any)
	names := make([]string, 0, len(properties))
	for name := range properties {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		property, _ := properties[name].(map[string]any)
		if given, known := m.pool.named[name]; known && m.variant%2 == 0 && takes(property, given) {
			out[name] = given
			continue
		}
		needed := slices.Contains(required, any(name))
		if needed || depth < deepest && m.variant%3 != 2 {
			out[name] = m.value(property, depth+1)
		}
	}
	return out
}

func (m *maker) array(s map[string]any, depth int) any {
	items, _ := s["items"].(map[string]any)
	n := 1
	if m.variant > 0 {
		n = m.rand.IntN(3)
		if len(m.pool.sizes) > 0 && m.rand.IntN(2) == 0 {
			n = min(m.pool.sizes[m.rand.IntN(len(m.pool.sizes))], 20)
		}
	}
	n = max(n, int(bound(s, "minItems", 0)))
	n = min(n, int(bound(s, "maxItems", 100)))
	if depth >= deepest {
		n = int(bound(s, "minItems", 0))
	}
	out := make([]any, 0, n)
	for range n {
		out = append(out, m.value(items, depth+1))
	}
	return out
}

// takes tells whether a value may stand where a property is declared, as far as
// its kind says.
func takes(property map[string]any, value any) bool {
	switch value.(type) {
	case string:
		return kind(property) == "string" && property["enum"] == nil
	case float64:
		return kind(property) == "number" || kind(property) == "integer"
	case bool:
		return kind(property) == "boolean"
	}
	return false
}

func bound(s map[string]any, word string, otherwise float64) float64 {
	if n, ok := s[word].(float64); ok {
		return n
	}
	return otherwise
}

func (m *maker) number(s map[string]any) float64 {
	least := bound(s, "minimum", bound(s, "exclusiveMinimum", math.Inf(-1)))
	most := bound(s, "maximum", bound(s, "exclusiveMaximum", math.Inf(1)))
	n := float64(m.choose(4))
	if m.variant == 0 {
		n = 1
	}
	if _, open := s["exclusiveMinimum"]; open {
		least += 0.5
		if kind(s) == "integer" {
			least += 0.5
		}
	}
	if step := bound(s, "multipleOf", 0); step > 0 {
		n = math.Round(n/step) * step
	}
	return min(max(n, least), most)
}

func (m *maker) text(s map[string]any) string {
	switch s["format"] {
	case "file":
		return m.file
	case "date":
		return m.now.Format(time.DateOnly)
	case "date-time":
		return m.now.Add(24 * time.Hour).Format(time.RFC3339)
	case "time":
		return m.now.Format("15:04:05Z")
	case "email":
		return "drill@example.com"
	case "uri", "url", "iri":
		return "https://example.com/drill"
	case "uuid":
		return "00000000-0000-4000-8000-000000000000"
	}
	if pattern, ok := s["pattern"].(string); ok {
		if re, err := syntax.Parse(pattern, syntax.Perl); err == nil {
			return m.matching(re.Simplify())
		}
	}
	text := "drill"
	switch {
	case m.variant > 0 && len(m.pool.words) > 0 && m.rand.IntN(3) > 0:
		text = m.pool.words[m.rand.IntN(len(m.pool.words))]
	case m.variant > 0:
		text = "drill " + string(rune('a'+m.rand.IntN(26)))
	}
	for len(text) < int(bound(s, "minLength", 1)) {
		text += " drill"
	}
	if most := int(bound(s, "maxLength", 1000)); len(text) > most {
		text = text[:most]
	}
	return text
}

// matching makes a text that a pattern fits.
func (m *maker) matching(re *syntax.Regexp) string {
	var b strings.Builder
	switch re.Op {
	case syntax.OpLiteral:
		return string(re.Rune)
	case syntax.OpCharClass:
		if len(re.Rune) >= 2 {
			pair := 2 * m.choose(len(re.Rune)/2)
			low, high := re.Rune[pair], min(re.Rune[pair+1], re.Rune[pair]+20)
			return string(low + rune(m.rand.IntN(int(high-low)+1)))
		}
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return "x"
	case syntax.OpCapture, syntax.OpPlus:
		return m.matching(re.Sub[0])
	case syntax.OpConcat:
		for _, part := range re.Sub {
			b.WriteString(m.matching(part))
		}
	case syntax.OpAlternate:
		return m.matching(re.Sub[m.choose(len(re.Sub))])
	case syntax.OpRepeat:
		for range re.Min {
			b.WriteString(m.matching(re.Sub[0]))
		}
	}
	return b.String()
}

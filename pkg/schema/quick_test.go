package schema

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
)

// TestQuickNeverPassesMore: what passes quickly is valid for the full validator
// too, over random schemas and values made of the same few words and numbers.
func TestQuickNeverPassesMore(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	passed, refused := 0, 0
	for range 4000 {
		doc, err := json.Marshal(randomSchema(random, 3))
		if err != nil {
			t.Fatal(err)
		}
		s, err := Compile("random", doc)
		if err != nil {
			t.Fatalf("%s: %v", doc, err)
		}
		for range 20 {
			v := randomValue(random, 3)
			invalid := s.compiled.Validate(v)
			switch {
			case !s.quick.passes(v):
				refused++
			case invalid != nil:
				t.Fatalf("%#v passes %s, and is not valid: %v", v, doc, invalid)
			default:
				passed++
			}
		}
	}
	if passed < 1000 || refused < 1000 {
		t.Errorf("passed %d, left to the full validator %d: the test compares too little", passed, refused)
	}
}

// TestQuickPasses: what charters are made of does not need the full validator.
func TestQuickPasses(t *testing.T) {
	t.Parallel()
	s, err := Compile("order", []byte(`{"type":"object","required":["id","lines"],"additionalProperties":false,"properties":{
		"id":{"type":"string","minLength":1,"maxLength":9,"pattern":"^[a-z]"},"at":{"type":["string","null"],"format":"date"},
		"state":{"enum":["open","done"]},"lines":{"type":"array","maxItems":3,"items":{"$ref":"#/$defs/line"}}},
		"$defs":{"line":{"type":"object","properties":{"n":{"type":"integer","minimum":0},"price":{"type":"number","exclusiveMinimum":0,"maximum":100}}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	v, faults := Decode([]byte(`{"id":"a","at":"2026-11-02","state":"done","lines":[{"n":2,"price":9.5},{"n":0,"price":100}]}`))
	if len(faults) > 0 || !s.quick.passes(v) {
		t.Errorf("%v does not pass quickly (%v)", v, faults)
	}
}

func randomSchema(random *rand.Rand, depth int) any {
	s := map[string]any{}
	if random.IntN(12) == 0 {
		return random.IntN(2) == 0
	}
	put := func(odds int, name string, value any) {
		if random.IntN(odds) == 0 {
			s[name] = value
		}
	}
	kinds := []any{"null", "boolean", "string", "integer", "number", "array", "object"}
	put(2, "type", kinds[random.IntN(len(kinds))])
	put(6, "type", []any{kinds[random.IntN(3)], kinds[3+random.IntN(4)]})
	put(6, "minLength", random.IntN(3))
	put(6, "maxLength", random.IntN(4))
	put(8, "pattern", "^a")
	put(8, "format", "date")
	put(8, "enum", []any{"a", "ab", 1, nil})
	put(6, "minimum", []any{0, 1.5, -1, 0.1, 1e16}[random.IntN(5)])
	put(6, "exclusiveMaximum", []any{2, 1.5, 100}[random.IntN(3)])
	put(9, "exclusiveMinimum", []any{0, 1}[random.IntN(2)])
	put(6, "maximum", []any{1, 1.5, 2}[random.IntN(3)])
	put(12, "multipleOf", 2)
	put(8, "minItems", 1)
	put(8, "maxItems", random.IntN(3))
	put(8, "maxProperties", random.IntN(3))
	put(8, "required", []any{"a"})
	put(5, "additionalProperties", random.IntN(2) == 0)
	if depth > 0 {
		put(3, "properties", map[string]any{"a": randomSchema(random, depth-1), "b": randomSchema(random, depth-1)})
		put(3, "items", randomSchema(random, depth-1))
		put(8, "additionalProperties", randomSchema(random, depth-1))
		put(14, "anyOf", []any{randomSchema(random, depth-1), randomSchema(random, depth-1)})
		put(14, "not", randomSchema(random, depth-1))
	}
	return s
}

func randomValue(random *rand.Rand, depth int) any {
	scalars := []any{nil, true, "", "a", "ab", "äöü", "2026-11-02", int64(0), int64(1), int64(2), int64(-3), 1.5, 2.0, 0.1, 1e16, int64(1) << 60}
	switch kind := random.IntN(4); {
	case depth > 0 && kind == 0:
		list := make([]any, random.IntN(3))
		for i := range list {
			list[i] = randomValue(random, depth-1)
		}
		return list
	case depth > 0 && kind == 1:
		fields := map[string]any{}
		for i := range random.IntN(3) {
			fields[fmt.Sprintf("%c", 'a'+i)] = randomValue(random, depth-1)
		}
		return fields
	}
	return scalars[random.IntN(len(scalars))]
}

package schema_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/outerloop-dev/outerloop/pkg/schema"
)

const deal = `{
  "type": "object",
  "required": ["id", "amount", "lines", "status", "owner"],
  "additionalProperties": false,
  "properties": {
    "id": {"type": "integer"},
    "amount": {"type": "number", "minimum": 0},
    "status": {"enum": ["open", "closed"]},
    "note": {"type": ["string", "null"]},
    "due": {"type": "string", "format": "date"},
    "mail": {"type": "string", "format": "email"},
    "owner": {"$ref": "#/$defs/person"},
    "meta": {},
    "parent": {"anyOf": [{"$ref": "#"}, {"type": "null"}]},
    "lines": {"type": "array", "items": {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}, "price": {"type": "number"}}}}
  },
  "$defs": {"person": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}, "age": {"type": "integer"}}}}
}`

func compile(t testing.TB, doc string) *schema.Schema {
	t.Helper()
	s, err := schema.Compile("test.json", []byte(doc))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func text(faults []schema.Fault) string {
	var b strings.Builder
	for _, f := range faults {
		b.WriteString(f.String() + "\n")
	}
	return b.String()
}

func TestCheckGivesAllFaultsInPlainWords(t *testing.T) {
	t.Parallel()
	s := compile(t, deal)
	_, faults := s.Check([]byte(`{"id":"7","amount":-1,"status":"opne","due":"30.11.2026","mail":"x","ownr":{},"lines":[{"n":1.5},{}]}`))
	want := `/amount must be at least 0, but is -1
/due must be a date such as 2026-11-30
/id must be an integer, but is a string
/lines/0/n must be an integer, but is a number
/lines/1/n is required, but missing
/mail must be an e-mail address
/owner is required, but missing
/ownr is not a known field. Did you mean "owner"?
/status must be one of "open", "closed". Did you mean "open"?
`
	if diff := cmp.Diff(want, text(faults)); diff != "" {
		t.Error(diff)
	}
}

func TestCheckTypesNumbersBySchema(t *testing.T) {
	t.Parallel()
	s := compile(t, deal)
	v, faults := s.Check([]byte(`{"id":9007199254740993,"amount":10,"status":"open","owner":{"name":"A","age":4.0},"meta":{"n":1,"big":9007199254740993},"lines":[{"n":2,"price":3}]}`))
	if len(faults) > 0 {
		t.Fatal(text(faults))
	}
	want := map[string]any{
		"id": int64(9007199254740993), "amount": 10.0, "status": "open",
		"owner": map[string]any{"name": "A", "age": int64(4)},
		"meta":  map[string]any{"n": 1.0, "big": int64(9007199254740993)},
		"lines": []any{map[string]any{"n": int64(2), "price": 3.0}},
	}
	if diff := cmp.Diff(want, v); diff != "" {
		t.Error(diff)
	}
}

func TestDecodeIsStrict(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ doc, want string }{
		"duplicate key":   {`{"a":{"b":1,"b":2}}`, "/a/b appears twice in its object"},
		"not a number":    {`{"a":NaN}`, "/a NaN is not a JSON number (at byte 5)"},
		"infinity":        {`[-Infinity]`, "/0 Infinity is not a JSON number (at byte 2)"},
		"trailing":        {`{} x`, "the value has text after the end of the JSON value (at byte 3)"},
		"utf-8":           {"\"a\xff\"", "the value is not valid UTF-8 (at byte 2)"},
		"surrogate":       {`"\ud800"`, "the value has half of a surrogate pair in a string (at byte 7)"},
		"200 digits":      {`{"n":1` + strings.Repeat("0", 199) + `}`, "/n is outside the range of whole numbers (-9223372036854775808 to 9223372036854775807)"},
		"huge exponent":   {`[1e999]`, "/0 is a number too large to hold (about 1.8e308 at most)"},
		"leading zero":    {`014`, "the value is not a JSON number (at byte 3)"},
		"control":         {"\"a\nb\"", `the value has a control character inside a string; write it as an escape such as \n (at byte 2)`},
		"cut off":         {`{"a":[1,`, "/a/1 is cut off: a JSON value is missing (at byte 8)"},
		"trailing comma":  {`[1,]`, "/1 is not valid JSON: expected a value (at byte 3)"},
		"single quotes":   {`{'a':1}`, "the value is not valid JSON: expected a key in double quotes (at byte 1)"},
		"empty":           {``, "the value is cut off: a JSON value is missing (at byte 0)"},
		"unknown escape":  {`"\x"`, "the value has an unknown escape in a string (at byte 2)"},
		"bare minus":      {`-`, "the value is not a JSON number (at byte 1)"},
		"point, no digit": {`1.`, "the value is not a JSON number: digits must follow the point (at byte 2)"},
	} {
		_, faults := schema.Decode([]byte(c.doc))
		if len(faults) == 0 || faults[0].String() != c.want {
			t.Errorf("%s: got %v, want %s", name, faults, c.want)
		}
	}
	if _, faults := schema.Decode([]byte(strings.Repeat("[", 200) + strings.Repeat("]", 200))); len(faults) != 1 {
		t.Errorf("deep nesting: %v", faults)
	}
	v, faults := schema.Decode([]byte(` {"a\u0041\ud83d\ude00":[-0,1.50,"\/"]} `))
	if diff := cmp.Diff(map[string]any{"aA😀": []any{int64(0), 1.5, "/"}}, v); diff != "" || faults != nil {
		t.Error(diff, faults)
	}
}

func TestCompileRefusesBadSchemas(t *testing.T) {
	t.Parallel()
	for doc, want := range map[string]string{
		`{"type":"strin"}`:                         `/type`,
		`{"properties":{"a":{"minLength":-1}}}`:    `/properties/a/minLength must be at least 0, but is -1`,
		`{"$ref":"other.json"}`:                    `a $ref may only point into its own document`,
		`{"$ref":"https://example.com/a.json"}`:    `a $ref may only point into its own document`,
		`{"$ref":"file:///etc/passwd"}`:            `a $ref may only point into its own document`,
		`{"$ref":"#/$defs/x"}`:                     `"/$defs/x", which does not exist`,
		`{"properties":{"a":{"pattern":"(?=x)"}}}`: `/properties/a/pattern must be a regular expression`,
		`[]`:                               `must be an object`,
		`{"type":"object","type":"array"}`: `/type appears twice`,
		`{"$schema":"https://example.com/other","type":"object"}`:            `own document`,
		`{"type":"object","required":["a","a"],"properties":{"a":"string"}}`: `/properties/a must be a boolean or an object, but is a string`,
	} {
		_, err := schema.Compile("bad.json", []byte(doc))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", doc, err, want)
		}
	}
}

func TestSchemasAreOneByContent(t *testing.T) {
	t.Parallel()
	a, b := compile(t, `{"type": "object", "title":"<x>"}`), compile(t, `{ "title":"<x>","type":"object" }`)
	if a.Hash() != b.Hash() || a.Type() != b.Type() || len(a.Hash()) != 64 {
		t.Errorf("%s and %s", a, b)
	}
	if got := string(a.Raw()); got != `{"title":"<x>","type":"object"}` {
		t.Error(got)
	}
}

func TestLookup(t *testing.T) {
	t.Parallel()
	s := compile(t, deal)
	for path, want := range map[string]string{
		"id": "integer false", "note": "string or null true", "due": "string (date) true", "lines": "array of object false",
		"lines.[].price": "number true", "lines.0.n": "integer false", "owner.name": "string false", "meta.x.y": "any true",
		"status": `"open" or "closed" false`, "parent.owner.name": "string true", "parent.parent.id": "integer true",
		"ownr": `the value has no field "ownr". Did you mean "owner"?`, "owner.nme": `/owner has no field "nme". Did you mean "name"?`,
		"id.x": `/id is an integer, it has no field "x"`,
	} {
		typ, optional, err := s.Type().Lookup(strings.Split(path, ".")...)
		var got string
		if err != nil {
			got = err.Error()
		} else {
			got = typ.String() + map[bool]string{true: " true", false: " false"}[optional]
		}
		if got != want {
			t.Errorf("%s: got %s, want %s", path, got, want)
		}
	}
}

package schema_test

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/outerloop-dev/outerloop/pkg/schema"
)

func TestAlternativesReportTheFormThatWasMeant(t *testing.T) {
	t.Parallel()
	s := compile(t, `{"type":"object","properties":{
	  "v":{"type":["string","null"]},
	  "any":{"anyOf":[{"type":"string"},{"type":"array","items":{"type":"integer"}}]},
	  "shape":{"oneOf":[
	    {"type":"object","required":["kind","r"],"properties":{"kind":{"const":"circle"},"r":{"type":"number","exclusiveMinimum":0}},"additionalProperties":false},
	    {"type":"object","required":["kind","w","h"],"properties":{"kind":{"const":"box"},"w":{"type":"number"},"h":{"type":"number"}},"additionalProperties":false}]},
	  "tags":{"type":"array","minItems":1,"maxItems":2,"uniqueItems":true,"items":{"type":"string","minLength":2,"pattern":"^[a-z]+$"}},
	  "pct":{"type":"number","maximum":0.3,"multipleOf":0.1}}}`)
	for doc, want := range map[string]string{
		`{"v":1}`:                                    "/v must be null or a string, but is a number",
		`{"any":true}`:                               "/any must be an array or a string, but is a boolean",
		`{"any":[1,"x"]}`:                            "/any/1 must be an integer, but is a string",
		`{"shape":{"kind":"circle","r":0}}`:          "/shape/r must be more than 0, but is 0",
		`{"shape":{"kind":"box","w":1}}`:             "/shape/h is required, but missing",
		`{"shape":{"kind":"box","w":1,"h":2,"d":3}}`: `/shape/d is not a known field; known are h, kind, r, w`,
		`{"tags":[]}`:                                "/tags must have at least 1 item, but has 0",
		`{"tags":["ab","ab","C"]}`:                   "/tags must have at most 2 items, but has 3|/tags must not repeat items, but items 0 and 1 are equal|/tags/2 must have at least 2 characters, but has 1|/tags/2 must match the pattern ^[a-z]+$",
		`{"pct":0.35}`:                               "/pct must be at most 0.3, but is 0.35|/pct must be a multiple of 0.1",
		`{"pct":0.3}`:                                "",
		`{"shape":{"kind":"circle","r":1e300}}`:      "",
	} {
		_, faults := s.Check([]byte(doc))
		if got := strings.ReplaceAll(strings.TrimSuffix(text(faults), "\n"), "\n", "|"); got != want {
			t.Errorf("%s:\n got %s\nwant %s", doc, got, want)
		}
	}
}

func TestTypeView(t *testing.T) {
	t.Parallel()
	s := compile(t, `{"type":"object","required":["a","extra"],"properties":{
	  "a":{"allOf":[{"type":"object","properties":{"x":{"type":"integer"}},"required":["x"]},{"properties":{"y":{"enum":["p","q"]}}}]},
	  "u":{"type":["string","integer"]}, "n":{"anyOf":[{"type":"integer"},{"type":"number"},{"type":"null"}]},
	  "shape":{"oneOf":[{"type":"object","required":["kind","r"],"properties":{"kind":{"const":"circle"},"r":{"type":"number"}}},
	                    {"type":"object","required":["kind","w"],"properties":{"kind":{"const":"box"},"w":{"type":"integer"}}}]},
	  "map":{"type":"object","additionalProperties":{"type":"array","items":{"type":"boolean"}}},
	  "free":{"type":"object"}, "closed":{"type":"object","additionalProperties":false}, "not":false, "tuple":{"type":"array","prefixItems":[{"type":"string"}]},
	  "cond":{"type":"object","properties":{"k":{"type":"string"}},"if":{"required":["k"]},"then":{"properties":{"z":{"type":"integer"}}}},
	  "tree":{"$ref":"#/$defs/tree"}, "loop":{"$ref":"#/$defs/loop"}, "both":{"$ref":"#/$defs/tree","required":["v"]}},
	  "$defs":{"tree":{"type":"object","properties":{"v":{"type":"integer"},"kids":{"type":"array","items":{"$ref":"#/$defs/tree"}},"up":{"anyOf":[{"type":"null"},{"$ref":"#/$defs/tree"}]}}},
	           "loop":{"anyOf":[{"$ref":"#/$defs/loop"},{"type":"string"}]}}}`)
	for path, want := range map[string]string{
		"a": "object false", "a.x": "integer false", "a.y": `"p" or "q" true`, "u": "integer or string true", "n": "number or null true",
		"shape.kind": `"circle" or "box" true`, "shape.r": "number true", "shape.w": "integer true", "map.k": "array of boolean true", "map.k.0": "boolean true",
		"free.x": "any true", "closed.x": `/closed has no field "x"`, "not": "never true", "tuple.0": "any true", "cond.z": "integer true", "extra": "any false",
		"tree.kids.0.kids.1.v": "integer true", "tree.up": "object or null true", "tree.up.up.v": "integer true", "loop": "any true", "both.v": "integer true", "both.kids": "array of object true",
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

func TestCoercionsAreFewAndLogged(t *testing.T) {
	t.Parallel()
	s := compile(t, `{"type":"object","properties":{"n":{"type":"integer"},"f":{"type":"number"},"b":{"type":"boolean"},"s":{"type":"string"},
	  "e":{"enum":["1","2"]},"k":{"enum":[1,2]},"d":{"type":"string","format":"date"},"u":{"type":["string","integer"]},"m":{"type":["integer","null"]},"l":{"type":"array","items":{"type":"integer"}}}}`)
	out, log, faults := s.Coerce([]byte(`{"n":"42","f":" 1.50","b":"true","s":12,"e":1,"k":"1","d":20261130,"u":"7","m":"3","l":["1",2,"x",true]}`))
	if faults != nil {
		t.Fatal(faults)
	}
	var got any
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"n": 42.0, "f": 1.5, "b": true, "s": "12", "e": 1.0, "k": "1", "d": 20261130.0, "u": "7", "m": 3.0, "l": []any{1.0, 2.0, "x", true}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	wantLog := []schema.Coercion{{"/b", "string", schema.Bool}, {"/f", "string", schema.Number}, {"/l/0", "string", schema.Int},
		{"/m", "string", schema.Int}, {"/n", "string", schema.Int}, {"/s", "number", schema.String}}
	if diff := cmp.Diff(wantLog, log); diff != "" {
		t.Error(diff)
	}
	for _, doc := range []string{`{"n":"4.2"}`, `{"n":"0x1"}`, `{"n":""}`, `{"n":"1e999"}`, `{"b":"yes"}`, `{"f":"NaN"}`, `{"n":"9` + strings.Repeat("0", 40) + `"}`, `{"n":" 7 8"}`} {
		if out, log, _ := s.Coerce([]byte(doc)); string(out) != doc || log != nil {
			t.Errorf("%s became %s", doc, out)
		}
	}
}

func TestRedact(t *testing.T) {
	t.Parallel()
	doc := map[string]any{"id": "1", "email": "a@b", "customer": map[string]any{"name": "A", "phones": []any{map[string]any{"no": "1", "kind": "home"}}}, "m": map[string]any{"x": map[string]any{"iban": "1", "k": 1}}}
	got := schema.Redact(doc, []string{"email", "customer.phones.no", "m.*.iban", "no.such", "", "id.deeper"})
	want := map[string]any{"id": "1", "email": schema.Redacted, "customer": map[string]any{"name": "A", "phones": []any{map[string]any{"no": schema.Redacted, "kind": "home"}}}, "m": map[string]any{"x": map[string]any{"iban": schema.Redacted, "k": 1}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if doc["email"] != "a@b" {
		t.Error("the original was changed")
	}
}

func TestCompatible(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ producer, consumer, want string }{
		{`{"type":"integer"}`, `{"type":"number"}`, ""},
		{`{"type":"number"}`, `{"type":"integer"}`, "the value is a number, but must be an integer; int(…) cuts the fraction off"},
		{`{"enum":[1,2.0]}`, `{"type":"integer"}`, ""},
		{`{}`, `{"type":"integer"}`, ""},
		{`{"type":["string","null"]}`, `{"type":"string"}`, "the value may be null, but must be string; default(…) gives a value instead"},
		{`{"type":"string"}`, `{"type":["string","null"]}`, ""},
		{`{"type":["string","integer"]}`, `{"type":"string"}`, "the value is integer, but must be string"},
		{`{"type":"boolean"}`, `{"type":["string","integer"]}`, "the value is boolean, but must be integer or string"},
		{`{"enum":["a","b"]}`, `{"enum":["b","c"]}`, `the value may be "a", but must be one of "b", "c"`},
		{`{"type":"string"}`, `{"enum":["b"]}`, ""},
		{`{"const":"x"}`, `{"type":"string","pattern":"^y"}`, `the value may be "x", but must match the pattern ^y`},
		{`{"type":"string","format":"date-time"}`, `{"type":"string","format":"date"}`, "the value has the format date-time, but must have the format date"},
		{`{"type":"array","items":{"type":"string"}}`, `{"type":"array","items":{"type":"integer"}}`, "/[] is string, but must be integer"},
		{`{"type":"object","properties":{"a":{"type":"string"},"nmae":{"type":"string"}},"required":["nmae"]}`,
			`{"type":"object","properties":{"a":{"type":"string"},"name":{"type":"string"}},"required":["a","name"]}`,
			`/a is required, but may be absent; default(…) gives a value instead|/name is required, but not given (there is "nmae")`},
		{`{"type":"object","properties":{"a":{"type":"string"},"b":{}}}`, `{"type":"object","properties":{"a":{"type":"integer"}},"additionalProperties":false}`,
			"/a is string, but must be integer|/b is not a known field; known are a"},
		{`{"type":"object","properties":{"a":{"type":"string"}}}`, `{"type":"object","additionalProperties":{"type":"integer"}}`, "/a is string, but must be integer"},
		{`{"type":"object","additionalProperties":{"type":"string"}}`, `{"type":"object","additionalProperties":{"type":"integer"}}`, "/* is string, but must be integer"},
		{`{"$ref":"#/$defs/t","$defs":{"t":{"type":"object","properties":{"k":{"type":"array","items":{"$ref":"#/$defs/t"}}}}}}`,
			`{"$ref":"#/$defs/t","$defs":{"t":{"title":"other","type":"object","properties":{"k":{"type":"array","items":{"$ref":"#/$defs/t"}}}}}}`, ""},
		{`{"oneOf":[{"type":"object","required":["k","r"],"properties":{"k":{"const":"a"},"r":{"type":"number"}}},{"type":"object","required":["k","w"],"properties":{"k":{"const":"b"},"w":{"type":"string"}}}]}`,
			`{"oneOf":[{"type":"object","required":["k","r"],"properties":{"k":{"const":"a"},"r":{"type":"number"}}},{"type":"object","required":["k","w"],"properties":{"k":{"const":"b"},"w":{"type":"integer"}}}]}`,
			"/w is string, but must be integer"},
		{`{"const":{"k":"a","r":1}}`, `{"oneOf":[{"type":"object","required":["k","r"],"properties":{"k":{"const":"a"},"r":{"type":"number"}}},{"type":"object","required":["k","w"],"properties":{"k":{"const":"b"},"w":{"type":"integer"}}}]}`, ""},
		{`{"const":[]}`, `{"type":"array","items":{"type":"integer"}}`, ""},
	} {
		faults := schema.Compatible(compile(t, c.producer).Type(), compile(t, c.consumer).Type())
		if got := strings.ReplaceAll(strings.TrimSuffix(text(faults), "\n"), "\n", "|"); got != c.want {
			t.Errorf("%s for %s:\n got %s\nwant %s", c.producer, c.consumer, got, c.want)
		}
	}
}

func TestFileProperty(t *testing.T) {
	t.Parallel()
	for doc, want := range map[string]string{
		`{"type":"object","properties":{"file":{"type":"string","format":"file"},"n":{"type":"integer"}}}`:               "file",
		`{"type":"object","properties":{"a":{"type":"string","format":"file"},"b":{"type":"string","format":"file"}}}`:   "",
		`{"type":"object","properties":{"a":{"type":"object","properties":{"b":{"type":"string","format":"file"}}}}}`:    "",
		`{"type":"object","properties":{"export":{"$ref":"#/$defs/f"}},"$defs":{"f":{"type":"string","format":"file"}}}`: "export",
	} {
		if got, ok := compile(t, doc).FileProperty(); got != want || ok != (want != "") {
			t.Errorf("%s: %q", doc, got)
		}
	}
}

func TestSchemasAreSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			s, err := schema.Compile("x", []byte(strings.Replace(deal, `"id"`, `"id2"`, 2)))
			if err != nil {
				t.Error(err)
				return
			}
			_, _, _ = s.Type().Lookup("owner", "name")
			s.Check([]byte(`{"id":1}`))
		})
	}
	wg.Wait()
}

func TestNearest(t *testing.T) {
	t.Parallel()
	names := []string{"after", "agent", "approval", "on_failure", "retry", "when"}
	for name, want := range map[string]string{"aproval": "approval", "onfailure": "on_failure", "wehn": "when", "Retry": "retry", "x": "", "completely": "", "agnet": "agent"} {
		if got := schema.Nearest(name, names); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

const benchValue = `{"id":9007199254740993,"amount":10,"status":"open","owner":{"name":"A","age":4},"meta":{"n":1,"text":"` + "0123456789" + `"},"lines":[{"n":2,"price":3},{"n":3,"price":4.5},{"n":4}]}`

func BenchmarkCheck(b *testing.B) {
	s := compile(b, deal)
	b.SetBytes(int64(len(benchValue)))
	for b.Loop() {
		if _, faults := s.Check([]byte(benchValue)); faults != nil {
			b.Fatal(faults)
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	b.SetBytes(int64(len(benchValue)))
	for b.Loop() {
		if _, faults := schema.Decode([]byte(benchValue)); faults != nil {
			b.Fatal(faults)
		}
	}
}

func BenchmarkCompileCached(b *testing.B) {
	for b.Loop() {
		compile(b, deal)
	}
}

// FuzzDecode: what is accepted is what encoding/json reads, and comes back the same.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{`{"a":[1,-0,1.5e3,"\u00e4\ud83d\ude00",null,true]}`, `{"a":1,"a":2}`, "\"\xff\"", `1e999`, `[[[]]]`, `{"":{"~/":0}}`, `-`, `01`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		v, faults := schema.Decode(raw)
		if faults != nil {
			return
		}
		var std any
		if err := json.Unmarshal(raw, &std); err != nil {
			t.Fatalf("%q: encoding/json refuses it: %v", raw, err)
		}
		ours, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		var again any
		if err := json.Unmarshal(ours, &again); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(std, again); diff != "" {
			t.Errorf("%q: %s", raw, diff)
		}
	})
}

// FuzzCompile: any document compiles or is refused; a schema's view and checks never panic and agree on constants.
func FuzzCompile(f *testing.F) {
	f.Add([]byte(deal), []byte(benchValue))
	f.Add([]byte(`{"$ref":"#"}`), []byte(`1`))
	f.Add([]byte(`{"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"allOf":[{"$ref":"#/$defs/a"},{"type":"object"}]}},"$ref":"#/$defs/a"}`), []byte(`{}`))
	f.Add([]byte(`{"anyOf":[{"$ref":"#"},{"type":["null","string"]}],"enum":[null,1,{}]}`), []byte(`null`))
	f.Add([]byte(`{"type":"array","items":{"type":"integer"},"prefixItems":[true,false]}`), []byte(`["1"]`))
	f.Fuzz(func(t *testing.T, doc, value []byte) {
		s, err := schema.Compile("fuzz", doc)
		if err != nil {
			return
		}
		view := s.Type()
		_ = view.String()
		if v, faults := s.Check(value); faults == nil {
			if bad := schema.Compatible(schema.ConstOf(v), view); len(bad) > 0 && !strings.Contains(string(doc), "$ref") {
				t.Errorf("%s takes %s, but its view does not: %v", doc, value, bad)
			}
		}
		if out, log, faults := s.Coerce(value); faults == nil && len(log) == 0 && string(out) != string(value) {
			t.Errorf("%s became %s without a log", value, out)
		}
	})
}

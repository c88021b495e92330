package jsonpath_test

import (
	"encoding/json"
	"testing"

	"github.com/outerloop-dev/outerloop/pkg/asl/internal/jsonpath"
	"github.com/outerloop-dev/outerloop/pkg/asl/internal/rawjson"
)

// FuzzEval parses and evaluates random paths on random documents: nothing
// panics and what is found is JSON.
func FuzzEval(f *testing.F) {
	doc := `{"a":[{"b":1,"c":"x"},{"b":2},null,[3,4]],"d":{"e":"f"}}`
	for _, p := range []string{
		"$", "$.a[0].b", "$['a'][-1]", "$.a[1:3]", "$.a[*].b", "$..b", "$.a[?(@.b > 1 && @.c == 'x' || !(@.b))]",
		"$.d['e','f']", "$.a[0,2]", "$.a.length()", "$..[?(@.b in [1,2])]", "$.a[?(@.c =~ /x.*/i)]", "$.a[?(@.b == $.a[0].b)]", "$..*..*",
	} {
		f.Add(p, doc)
	}
	f.Fuzz(func(t *testing.T, path, doc string) {
		p, err := jsonpath.Parse(path)
		if err != nil {
			return
		}
		text, err := rawjson.Normalize([]byte(doc))
		if err != nil {
			return
		}
		v, err := p.Eval(text)
		if err == nil && !json.Valid(v) {
			t.Fatalf("%s on %s gives %q", path, text, v)
		}
		if !p.IsReference() {
			return
		}
		if out, err := p.Put(text, []byte("1")); err == nil && !json.Valid(out) {
			t.Fatalf("put at %s in %s gives %q", path, text, out)
		} else if err == nil {
			if got, err := p.Eval(out); err != nil || string(got) != "1" {
				t.Fatalf("put at %s in %s reads back as %q, %v", path, text, got, err)
			}
		}
	})
}

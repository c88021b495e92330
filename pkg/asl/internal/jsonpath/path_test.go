package jsonpath_test

import (
	"errors"
	"testing"

	"github.com/outerloop-dev/outerloop/pkg/asl/internal/jsonpath"
)

const doc = `{"store":{"book":[{"t":"A","p":8,"x":{"p":1}},{"t":"B","p":12},{"t":"C","p":9}],"bike":{"p":20}},"a b":1,"d-e":2,"n":null,"s":"text","l":[{"a":["x","y"],"n":1,"n'":7},{"a":[],"n":2}]}`

func TestEval(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"$.store.book[1].t":                        `"B"`,
		"$['store']['book'][-1].t":                 `"C"`,
		"$.store.book[0,2].t":                      `["A","C"]`,
		"$.store.book[1:].t":                       `["B","C"]`,
		"$.store.book[:-2].t":                      `["A"]`,
		"$.store.book[*].p":                        `[8,12,9]`,
		"$.store.*":                                `[[{"t":"A","p":8,"x":{"p":1}},{"t":"B","p":12},{"t":"C","p":9}],{"p":20}]`,
		"$..p":                                     `[8,1,12,9,20]`,
		"$.store..p":                               `[8,1,12,9,20]`,
		"$.store.book[?(@.p > 8)].t":               `["B","C"]`,
		"$.store.book[?(@.p > 8 && @.t == 'C')].t": `["C"]`,
		"$.store.book[?(@.x || @.t in ['B'])].t":   `["A","B"]`,
		"$.store.book[?(!(@.x))].t":                `["B","C"]`,
		"$.store.book[?(@.t =~ /[a-b]/i)].t":       `["A","B"]`,
		"$.store.book[?(@.p < $.store.bike.p && @.x.p == '1')].t": `["A"]`,
		"$.store.book[?(@.t != 'A')].p":                           `[12,9]`,
		"$.store.book.length()":                                   `3`,
		"$.store.book[*].p.sum()":                                 `29`,
		"$.store.book[*].p.max()":                                 `12`,
		"$.store.bike.keys()":                                     `["p"]`,
		"$['a b','d-e']":                                          `{"a b":1,"d-e":2}`,
		"$.d-e":                                                   `2`,
		"$.l[?(@.a contains 'x')].n":                              `[1]`,
		"$.l[?(@.a size 2)].n":                                    `[1]`,
		"$.l[?(@.a empty true)].n":                                `[2]`,
		"$.l[?(@.a anyof ['y'])].n":                               `[1]`,
		"$.l[?(@.a noneof ['y'])].n":                              `[2]`,
		"$.l[?(@.a subsetof ['x','y'])].n":                        `[1,2]`,
		"$.l[?(@.n nin [1])].n":                                   `[2]`,
		"$.l[?(@.n === '1')].n":                                   `[]`,
		"$.l[*].n.avg()":                                          `1.5`,
		"$.l[*].n.min()":                                          `1`,
		"$.l[*].n.stddev()":                                       `0.5`,
		"$.l[0].a.last()":                                         `"y"`,
		"$.l[0].a.first()":                                        `"x"`,
		"$.l[0]['n\\'']":                                          `7`,
		"$.missing[*].x":                                          `[]`,
		"$.store.book[7:9]":                                       `[]`,
	} {
		p, err := jsonpath.Parse(path)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		if got, err := p.Eval([]byte(doc)); err != nil || string(got) != want {
			t.Errorf("%s gives %s, %v, want %s", path, got, err, want)
		}
	}
}

// The words are those of the library that Step Functions uses.
func TestEvalSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"$.x":               "No results for path: $['x']",
		"$.store.x":         "No results for path: $['store']['x']",
		"$.x.y":             "Missing property in path $['x']",
		"$.store.book[9]":   "No results for path: $['store']['book'][9]",
		"$.n[0]":            "The path $['n'] is null",
		"$.s.x":             "Expected to find an object with property ['x'] in path $['s'] but found 'java.lang.String'. This is not a json object according to the JsonProvider: 'com.jayway.jsonpath.spi.json.JacksonJsonProvider'.",
		"$.store.bike[0].p": "Filter: [0] can only be applied to arrays. Current context is: {p=20}",
	} {
		p, err := jsonpath.Parse(path)
		if err != nil {
			t.Fatal(err)
		}
		_, err = p.Eval([]byte(doc))
		var missing *jsonpath.NotFoundError
		if !errors.As(err, &missing) || err.Error() != want {
			t.Errorf("%s: error is %v, want %s", path, err, want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"", "a", "$.", "$..", "$a", "$.a b", "$[", "$[]", "$['a]", "$[1", "$[1:2:3]", "$[:]", "$[?(@.a]", "$[?@.a]", "$[?()]",
		"$[?(@.a ==)]", "$.a[?(1)]", "$.f()", "$.a,b", "$[99999999999]", "$x.y"} {
		if p, err := jsonpath.Parse(path); err == nil {
			t.Errorf("%q is taken as %s", path, p)
		}
	}
}

// A scan of scans of a document ends.
func TestEvalIsBounded(t *testing.T) {
	t.Parallel()
	deep := []byte{}
	for range 400 {
		deep = append(deep, `{"a":[1,`...)
	}
	deep = append(deep, '1')
	for range 400 {
		deep = append(deep, `]}`...)
	}
	p, err := jsonpath.Parse("$..*..*..*..*")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Eval(deep); !errors.Is(err, jsonpath.ErrTooMany) {
		t.Errorf("error is %v", err)
	}
}

func TestPut(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"$":            `9`,
		"$.a":          `{"a":9,"l":[1,{"b":2}]}`,
		"$.x.y":        `{"a":{"k":1},"l":[1,{"b":2}],"x":{"y":9}}`,
		"$.l[1].c":     `{"a":{"k":1},"l":[1,{"b":2,"c":9}]}`,
		"$['l'][0]":    `{"a":{"k":1},"l":[9,{"b":2}]}`,
		"$.l[2]":       "conflict",
		"$.l.x":        "conflict",
		"$.a.k.z":      "conflict",
		"$.l[*]":       "conflict",
		"$.l[-1]":      "conflict",
		"$.a.length()": "conflict",
	} {
		p, err := jsonpath.Parse(path)
		if err != nil {
			t.Fatal(err)
		}
		got, err := p.Put([]byte(`{"a":{"k":1},"l":[1,{"b":2}]}`), []byte("9"))
		if err != nil {
			got = []byte("conflict")
		}
		if string(got) != want {
			t.Errorf("%s gives %s, want %s", path, got, want)
		}
	}
}

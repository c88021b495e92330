package rawjson_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/outerloop-dev/outerloop/pkg/asl/internal/rawjson"
)

func TestNormalize(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		` { "a" : [ 1 , 2.50 ] } `:           `{"a":[1,2.50]}`,
		`"\u0041\/\u00e9\u001f\ud83d\ude00"`: "\"A/é\\u001f😀\"",
		`"\ud800"`:                           "\"\uFFFD\"",
		"\"\xff\"":                           "\"\uFFFD\"",
		`{"a":1,"b":2,"\u0061":3}`:           `{"a":3,"b":2}`,
		`{"a":{"x":1,"x":2},"a":{}}`:         `{"a":{}}`,
		`"<&>"`:                              `"<&>"`,
	} {
		if got, err := rawjson.Normalize([]byte(text)); err != nil || string(got) != want {
			t.Errorf("%s gives %s, %v, want %s", text, got, err, want)
		}
	}
	for _, text := range []string{``, `{`, `[1,]`, `{"a"}`, `{a:1}`, `01`, `1.`, `-`, `+1`, `.5`, `1e`, `nul`, `"a`, "\"\n\"", `"\x"`, `1 2`, `{"a":1,}`} {
		if got, err := rawjson.Normalize([]byte(text)); err == nil {
			t.Errorf("%s is taken as %s", text, got)
		}
	}
	if _, err := rawjson.Normalize([]byte(strings.Repeat("[", 1e6))); !errors.Is(err, rawjson.ErrDepth) {
		t.Errorf("deep text: %v", err)
	}
}

func TestManyDuplicates(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteByte('{')
	for i := range 100 {
		fmt.Fprintf(&b, `"k%d":%d,`, i%50, i)
	}
	b.WriteString(`"k0":"last"}`)
	got, err := rawjson.Normalize([]byte(b.String()))
	if err != nil || rawjson.Len(got) != 50 {
		t.Fatalf("%d members, %v", rawjson.Len(got), err)
	}
	if v, _ := rawjson.Get(got, "k0"); string(v) != `"last"` {
		t.Errorf("k0 is %s", v)
	}
	if v, _ := rawjson.Get(got, "k7"); string(v) != `57` {
		t.Errorf("k7 is %s", v)
	}
	_, err = rawjson.NormalizeStrict([]byte(`{"a":{"b":[{"c":1,"c":2}]},"a":1}`))
	if err == nil || !strings.Contains(err.Error(), `"c" at /a/b[0]`) || !strings.Contains(err.Error(), `"a" at /`) {
		t.Errorf("error is %v", err)
	}
}

func TestEqualAndKey(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b  string
		equal bool
	}{
		{`1`, `1.0`, true}, {`100`, `1e2`, true}, {`0`, `-0`, true}, {`9007199254740993`, `9007199254740992`, false},
		{`{"a":1,"b":[2]}`, `{"b":[2.0],"a":1}`, true}, {`{"a":1}`, `{"a":1,"b":2}`, false}, {`[1,2]`, `[2,1]`, false},
		{`"1"`, `1`, false}, {`null`, `false`, false},
	} {
		if got := rawjson.Equal([]byte(c.a), []byte(c.b)); got != c.equal {
			t.Errorf("%s equal to %s is %v", c.a, c.b, got)
		}
		same := string(rawjson.AppendKey(nil, []byte(c.a))) == string(rawjson.AppendKey(nil, []byte(c.b)))
		if same != c.equal {
			t.Errorf("keys of %s and %s are the same: %v", c.a, c.b, same)
		}
	}
}

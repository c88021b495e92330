package wiretest

import (
	"bytes"
	"compress/gzip"
	"strings"
	"testing"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/agent"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// lies: responses with a good status that are none, and those that lead
// elsewhere. None is taken for an answer, none is read without bound, and each
// is an error of a class.
func lies(t *testing.T, open Open) {
	elsewhere := Start(t, Always(Reply{Answer: agent.Answer{Text: `{"city":"Rome"}`, Stop: agent.StopEnd}}))
	packed := map[string]string{"Content-Encoding": "gzip"}
	for name, c := range map[string]struct {
		reply Reply
		class outerloop.Class
	}{
		"100 MB":             {Reply{Body: strings.Repeat(" ", 100<<20)}, outerloop.ClassTransient},
		"100 MB of an error": {Reply{Status: 500, Body: strings.Repeat(" ", 100<<20)}, outerloop.ClassTransient},
		"a gzip bomb":        {Reply{Body: bomb(), Header: packed}, outerloop.ClassTransient},
		"no gzip":            {Reply{Body: "{}", Header: packed}, outerloop.ClassTransient},
		"an empty body":      {Reply{Body: " "}, outerloop.ClassTransient},
		"an empty object":    {Reply{Body: "{}"}, outerloop.ClassTransient},
		"a list":             {Reply{Body: "[]"}, outerloop.ClassTransient},
		"null":               {Reply{Body: "null"}, outerloop.ClassTransient},
		"no choices":         {Reply{Body: `{"choices": [], "output": {}}`}, outerloop.ClassTransient},
		"deeply nested":      {Reply{Body: strings.Repeat(`{"output":`, 1<<18)}, outerloop.ClassTransient},
		"a page":             {Reply{Body: "<!doctype html><title>Sign in</title>", Header: map[string]string{"Content-Type": "text/html"}}, outerloop.ClassTransient},
	} {
		s := Start(t, Always(c.reply))
		a, err := open(t, s.URL).Ask(t.Context(), Question())
		if err == nil {
			t.Errorf("%s: was taken for an answer: %.100q", name, a.Text)
			continue
		}
		if f := worker.FailureOf(err); f.Class != c.class {
			t.Errorf("%s: class %s, want %s: %.300s", name, f.Class, c.class, err)
		}
	}
	for _, status := range []int{301, 302, 303, 307, 308} {
		s := Start(t, func(seen Seen) Reply {
			return Reply{Status: status, Header: map[string]string{"Location": elsewhere.URL + seen.Path}}
		})
		if a, err := open(t, s.URL).Ask(t.Context(), Question()); err == nil {
			t.Errorf("HTTP %d: answered from elsewhere: %q", status, a.Text)
		}
	}
	if n := len(elsewhere.Requests()); n > 0 {
		t.Errorf("the data went elsewhere %d times", n)
	}
}

// bomb is 100 MB of spaces, packed.
func bomb() string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write(bytes.Repeat([]byte(" "), 100<<20)) // a buffer takes all
	_ = w.Close()
	return b.String()
}

package coordinator_test

import (
	"strings"
	"testing"
	"time"

	"github.com/outerloop-dev/outerloop"
)

// Blocks lie in blocks: an `each` over what an item holds, branches and a
// switch in it, and a `when` on each of them (R2, R3, R5).
func TestNestedBlocks(t *testing.T) {
	t.Parallel()
	w := newWorld(t, files(loopHead+`
steps:
  plan: {worker: lister, input: {n: 3}}
  outer:
    each: plan.items
    as: big
    key: ${big.id}
    max_items: 10
    join: {need: all, otherwise: halt}
    steps:
      more: {worker: lister, input: {n: "${big.n}"}}
      inner:
        each: more.items
        as: small
        key: ${small.id}
        max_items: 10
        when: big.n > 0
        join: {need: all, otherwise: halt}
        steps:
          way:
            switch:
              - when: small.n == 0
                steps: {a: {worker: writer, input: {text: "${big.id} ${small.id}"}}}
                output: {text: "${a.text}"}
              - otherwise: true
                steps: {b: {worker: backup, input: {text: "${big.id} ${small.id}"}}}
                output: {text: "${b.text}"}
        output: {text: "${way.text}"}
      sides:
        when: big.n > 1
        branches:
          left: {worker: writer, input: {text: left}}
          right: {steps: {one: {worker: writer, input: {text: one}}, two: {worker: writer, input: {text: "${one.text}"}}}, output: {text: "${two.text}"}}
        join: {need: all, otherwise: halt}
    output: {id: "${big.id}", n: "${default(inner.counts.completed, -1)}", texts: '${default(inner.results, []).map(r, r.text)}', right: '${default(sides.right.text, "no")}'}
output: {all: "${outer.results}"}
`, nil))
	usual(w)
	run := start(t, w, `{"key":"a"}`)
	w.run(10*time.Minute, 3000)
	view := want(t, w, run, outerloop.StatusCompleted)
	const output = `{"all":[{"id":"D-0","n":-1,"right":"no","texts":[]},{"id":"D-1","n":1,"right":"no","texts":["writer D-1 D-0"]},` +
		`{"id":"D-2","n":2,"right":"writer writer one","texts":["writer D-2 D-0","backup D-2 D-1"]}]}`
	if string(view.Output) != output {
		t.Errorf("output is %s", view.Output)
	}
}

// A switch without a fitting case is an error: the run is blocked (R5).
func TestNoCaseFits(t *testing.T) {
	t.Parallel()
	w := newWorld(t, files(loopHead+`
steps:
  plan: {worker: writer, input: {text: "${input.key}"}}
  way:
    switch:
      - when: plan.text == "nobody"
        steps: {a: {worker: writer, input: {text: a}}}
        output: {text: "${a.text}"}
      - when: plan.text == "none"
        steps: {b: {worker: writer, input: {text: b}}}
        output: {text: "${b.text}"}
output: {text: "${way.text}"}
`, nil))
	usual(w)
	run := start(t, w, `{"key":"a"}`)
	w.run(10*time.Minute, 500)
	want(t, w, run, outerloop.StatusBlocked)
	if exc := exceptionOf(t, w); exc.Step != "way" || !strings.Contains(exc.Cause, "no case fits") {
		t.Errorf("%+v", exc)
	}
}

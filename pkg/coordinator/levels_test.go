package coordinator_test

import (
	"testing"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/gate"
)

// Dependencies that are not series-parallel (d reads a and c, b only a) run by
// levels, every step once and after what it reads; a failure takes along only
// what reads it (R12, R13).
func TestDependenciesThatAreNotSeriesParallel(t *testing.T) {
	t.Parallel()
	for fails, output := range map[string]string{
		"":  `{"b":"writer writer a","d":"writer writer a+writer c"}`,
		"c": `{"b":"writer writer a","d":"none"}`,
		"a": `{"b":"none","d":"none"}`,
	} {
		t.Run("without "+fails, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, files(loopHead+`
steps:
  a: {worker: writer, input: {text: a}}
  b: {worker: writer, input: {text: "${a.text}"}}
  c: {worker: writer, input: {text: c}}
  d: {worker: writer, input: {text: "${a.text}+${c.text}"}}
output: {b: '${default(b.text, "none")}', d: '${default(d.text, "none")}'}
`, nil))
			usual(w)
			echo, seen := w.work["writer"].do, map[string]int{}
			w.work["writer"] = worker{do: func(t gate.Task) (any, *gate.Failure) {
				seen[t.Step]++
				if t.Step == fails {
					return nil, &gate.Failure{Class: outerloop.ClassFatal, Message: "cannot"}
				}
				return echo(t)
			}}
			run := start(t, w, `{"key":"a"}`)
			w.run(10*time.Minute, 500)
			view := want(t, w, run, outerloop.StatusCompleted)
			if string(view.Output) != output {
				t.Errorf("output is %s", view.Output)
			}
			for step, n := range seen {
				if n != 1 {
					t.Errorf("%s ran %d times", step, n)
				}
			}
		})
	}
}

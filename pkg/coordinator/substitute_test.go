package coordinator_test

import (
	"testing"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/gate"
)

// A fact that only the substitute needs may be absent while the work is done;
// when the work fails, the last fact stands for it and is not written again (R40).
func TestSubstituteOfAFact(t *testing.T) {
	t.Parallel()
	w := newWorld(t, files(loopHead+`
steps:
  look:
    worker: board
    reads: {last: board/state}
    input: {n: 7}
    writes: {board/state: "${output}"}
    on_failure: {then: {substitute: "${facts.last}"}}
output: {n: "${look.n}"}
`, nil))
	usual(w)
	down := false
	plain := w.work["board"].do
	w.work["board"] = worker{do: func(t gate.Task) (any, *gate.Failure) {
		if down {
			return nil, &gate.Failure{Class: outerloop.ClassFatal, Message: "down"}
		}
		return plain(t)
	}}
	finish := func(key string) (status outerloop.Status, outcome outerloop.Outcome, output string) {
		run := start(w.t, w, `{"key":"`+key+`"}`)
		w.run(time.Minute, 500)
		view, err := w.coord.Show(w.ctx, run)
		if err != nil {
			t.Fatal(err)
		}
		return view.Status, steps(view)["look"].Outcome, string(view.Output)
	}
	if status, outcome, output := finish("a"); status != outerloop.StatusCompleted || outcome != outerloop.OutcomeCompleted || output != `{"n":7}` {
		t.Errorf("with work: %s %s %s", status, outcome, output)
	}
	down = true
	if status, outcome, output := finish("b"); status != outerloop.StatusCompleted || outcome != outerloop.OutcomeSubstituted || output != `{"n":7}` {
		t.Errorf("with the fact: %s %s %s", status, outcome, output)
	}
}

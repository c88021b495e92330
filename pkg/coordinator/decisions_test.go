package coordinator_test

import (
	"slices"
	"testing"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/gate"
)

// What a worker says it decided stands in the log where its step settled, once,
// and what it left to the owner at its step (R19, R53).
func TestDecisionsAndQuestionsCanBeRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t, files(loopHead+`
steps:
  draft: {worker: writer, input: {text: "${input.key}"}}
output: {text: "${draft.text}"}
`, nil))
	usual(w)
	decided, asked := []string{"The short form.", "No offer."}, []string{"Is A-7 paid?"}
	w.work["writer"] = worker{do: w.work["writer"].do, result: func(_ gate.Task, r *gate.Result) {
		r.Decisions, r.Unresolved = decided, asked
	}}
	run := start(t, w, `{"key":"a"}`)
	w.run(10*time.Minute, 200)
	view := want(t, w, run, outerloop.StatusCompleted)
	if i := slices.IndexFunc(view.Steps, func(s coordinator.StepView) bool { return s.Path == "draft" }); !slices.Equal(view.Steps[i].Unresolved, asked) {
		t.Errorf("unresolved: %q", view.Steps[i].Unresolved)
	}
	log, err := w.coord.Log(w.ctx, run)
	if err != nil {
		t.Fatal(err)
	}
	told := 0
	for _, e := range log {
		if len(e.Decisions) == 0 {
			continue
		}
		if told++; e.Step != "draft" || e.Kind != "settled" || !slices.Equal(e.Decisions, decided) {
			t.Errorf("%+v", e)
		}
	}
	if told != 1 {
		t.Errorf("the decisions are told %d times", told)
	}
}

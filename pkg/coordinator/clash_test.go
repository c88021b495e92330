package coordinator_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/gate"
)

// R58: two steps that give one fact different values in one run are told once;
// one that builds on the other's, and equal values, are none of it.
func TestConflictingOutputsAreTold(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		second string
		told   int
	}{
		"apart":      {`{worker: board, input: {n: 2}, writes: {board/state: "${output}"}}`, 1},
		"the same":   {`{worker: board, input: {n: 1}, writes: {board/state: "${output}"}}`, 0},
		"builds on":  {`{worker: board, input: {n: "${one.n + 1}"}, writes: {board/state: "${output}"}}`, 0},
		"comes next": {`{worker: board, input: {n: 2}, after: [one], writes: {board/state: "${output}"}}`, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, files(loopHead+"steps:\n  one: {worker: board, input: {n: 1}, writes: {board/state: \"${output}\"}}\n  two: "+tc.second+"\n", nil))
			usual(w)
			run := start(t, w, `{"key":"a"}`)
			w.run(time.Hour, 500)
			want(t, w, run, outerloop.StatusCompleted)
			if n := w.told(coordinator.KindConflict); n != tc.told || len(w.alerts) != tc.told {
				t.Errorf("told %+v", w.alerts)
			}
		})
	}
}

// R58: one payload that is done under two keys in one run is told when the run ends.
func TestDuplicateActionsAreTold(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		text string
		told int
	}{"the same mail": {"hello", 1}, "another mail": {"goodbye", 0}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, files(loopHead+`
steps:
  one: {worker: sender, action: send, key: "${input.key}/1", input: {text: hello}}
  two: {worker: sender, action: send, key: "${input.key}/2", input: {text: `+tc.text+`}}
`, nil))
			usual(w)
			run := start(t, w, `{"key":"a"}`)
			w.run(time.Hour, 500)
			want(t, w, run, outerloop.StatusCompleted)
			if n := w.told(coordinator.KindTwice); n != tc.told || tc.told == 1 && !strings.Contains(w.alerts[0].Text, "a/1:send and a/2:send") {
				t.Errorf("told %+v", w.alerts)
			}
		})
	}
}

// R58: work that a run paid for three times with the same input is told when it
// ends; twice, other inputs, and what costs nothing are none of it.
func TestRepeatedWorkIsTold(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		texts string
		cost  int64
		told  int
	}{
		"three times": {"aaa", 10_000, 1}, "twice": {"aab", 10_000, 0}, "others": {"abc", 10_000, 0}, "for nothing": {"aaa", 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := loopHead + "\nsteps:\n"
			for i, letter := range tc.texts {
				text += fmt.Sprintf("  s%d: {worker: writer, input: {text: %c}}\n", i, letter)
			}
			w := newWorld(t, files(text, nil))
			usual(w)
			w.work["writer"] = worker{do: w.work["writer"].do, result: func(_ gate.Task, r *gate.Result) { r.Cost = tc.cost }}
			run := start(t, w, `{"key":"a"}`)
			w.run(time.Hour, 500)
			want(t, w, run, outerloop.StatusCompleted)
			if n := w.told(coordinator.KindRepeated); n != tc.told || tc.told == 1 && !strings.Contains(w.alerts[0].Text, "writer was paid 3 times for the same input, by s0, s1, s2") {
				t.Errorf("told %+v", w.alerts)
			}
		})
	}
}

// R37, R46: another run that comes to an action which is done with the same
// payload asks nobody and does nothing; with another payload it asks, and begin
// refuses to do the key again.
func TestDoneActionAsksNobodyAgain(t *testing.T) {
	t.Parallel()
	text := strings.Replace(sendLoop, "    on_failure:", "    approval: {when: \"true\", ask: Send it?}\n    on_failure:", 1)
	w := newWorld(t, files(text, nil))
	usual(w)
	first := start(t, w, `{"key":"a"}`)
	w.run(time.Minute, 300)
	list, err := w.coord.Approvals(w.ctx, coordinator.ApprovalsQuery{Run: first})
	if err != nil || len(list) != 1 {
		t.Fatalf("%d requests, %v", len(list), err)
	}
	if _, err := w.coord.Decide(w.ctx, coordinator.DecideRequest{Approval: list[0].ID, Verdict: coordinator.Approve, By: "bob"}); err != nil {
		t.Fatal(err)
	}
	w.run(time.Minute, 300)
	want(t, w, first, outerloop.StatusCompleted)
	again, err := w.coord.Start(w.ctx, coordinator.StartRequest{Loop: "test", Input: json.RawMessage(`{"key":"a"}`), Rerun: true, Trigger: "manual", By: "ann"})
	if err != nil {
		t.Fatal(err)
	}
	w.run(time.Minute, 300)
	want(t, w, again.Run, outerloop.StatusCompleted)
	if list, err := w.coord.Approvals(w.ctx, coordinator.ApprovalsQuery{}); err != nil || len(list) != 0 {
		t.Errorf("%d requests, %v", len(list), err)
	}
	if log, err := w.coord.Actions(w.ctx, coordinator.ActionsQuery{}); err != nil || len(log) != 1 || log[0].Calls != 1 {
		t.Errorf("the action log is %+v, %v", log, err)
	}
}

package coordinator_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/gate"
)

// failing fails n times with a class, then does what the usual worker does.
func failing(w *world, name string, class outerloop.Class, n int) *int {
	usual := w.work[name].do
	count := 0
	w.work[name] = worker{do: func(t gate.Task) (any, *gate.Failure) {
		if count++; count <= n {
			return nil, &gate.Failure{Class: class, Message: "broken on purpose"}
		}
		return usual(t)
	}}
	return &count
}

func draftLoop(rule string) string {
	return loopHead + `
steps:
  draft:
    worker: writer
    input: {text: "${input.key}", n: 1}
    on_failure: ` + rule + `
  board:
    worker: board
    input: {n: "${draft.n}"}
output: {n: '${default(board.n, 0)}'}
`
}

// Each class has its tries, then the declared rule decides (R28, R29).
func TestFailureRules(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		rule    string
		class   outerloop.Class
		fails   int
		status  outerloop.Status
		outcome outerloop.Outcome
		tries   int
		output  string
	}{
		"retried":        {"{then: skip}", outerloop.ClassTransient, 2, outerloop.StatusCompleted, outerloop.OutcomeCompleted, 3, `{"n":1}`},
		"skipped":        {"{then: skip}", outerloop.ClassTransient, 3, outerloop.StatusCompleted, outerloop.OutcomeSkipped, 3, `{"n":0}`},
		"other class":    {"{then: skip}", outerloop.ClassToolFailed, 1, outerloop.StatusCompleted, outerloop.OutcomeSkipped, 1, `{"n":0}`},
		"never retried":  {"{retry: {any: 3}, then: skip}", outerloop.ClassToolFailed, 4, outerloop.StatusCompleted, outerloop.OutcomeSkipped, 4, `{"n":0}`},
		"substituted":    {"{then: {substitute: {text: none, n: 7}}}", outerloop.ClassFatal, 1, outerloop.StatusCompleted, outerloop.OutcomeSubstituted, 1, `{"n":7}`},
		"halted":         {"{then: halt}", outerloop.ClassFatal, 1, outerloop.StatusBlocked, "", 1, ``},
		"asked":          {"{then: ask}", outerloop.ClassFatal, 1, outerloop.StatusAwaitingApproval, "", 1, ``},
		"simplified try": {"{retry: {transient: {times: 1, input: {n: 5}}}, then: skip}", outerloop.ClassTransient, 1, outerloop.StatusCompleted, outerloop.OutcomeCompleted, 2, `{"n":5}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, files(draftLoop(tc.rule), nil))
			usual(w)
			count := failing(w, "writer", tc.class, tc.fails)
			run := start(t, w, `{"key":"a"}`)
			w.run(10*time.Minute, 500)
			view := want(t, w, run, tc.status)
			if s := steps(view)["draft"]; s.Outcome != tc.outcome || s.Attempts != tc.tries || *count != tc.tries {
				t.Errorf("draft is %+v, the worker ran %d times", s, *count)
			}
			if string(view.Output) != tc.output {
				t.Errorf("output is %s", view.Output)
			}
			if alerts := w.told(coordinator.KindException); (tc.status != outerloop.StatusCompleted) != (alerts == 1) {
				t.Errorf("%d alerts: %+v", alerts, w.alerts) // R36: one incident, one alert
			}
		})
	}
}

// The backup takes over after the last try (R30), the schema's faults go back
// to a model as feedback (R18).
func TestBackupAndFeedback(t *testing.T) {
	t.Parallel()
	w := newWorld(t, files(strings.Replace(draftLoop("{then: halt}"), "worker: writer", "worker: writer\n    backup: backup", 1), nil))
	usual(w)
	var told []gate.Feedback
	w.work["writer"] = worker{do: func(t gate.Task) (any, *gate.Failure) {
		told = append(told, t.Feedback...)
		return map[string]any{"text": 7}, nil
	}}
	run := start(t, w, `{"key":"a"}`)
	w.run(10*time.Minute, 500)
	view := want(t, w, run, outerloop.StatusCompleted)
	if s := steps(view)["draft"]; s.Worker != "backup" || s.Attempts != 3 {
		t.Errorf("draft is %+v", s)
	}
	if len(told) != 1 || !strings.Contains(told[0].Faults[0], "/text") {
		t.Errorf("the second try was told %+v", told)
	}
}

func exceptionOf(t testing.TB, w *world) coordinator.ExceptionView {
	t.Helper()
	list, err := w.coord.Exceptions(w.ctx, coordinator.ExceptionsQuery{})
	if err != nil || len(list) != 1 {
		t.Fatalf("open exceptions are %+v, %v\n%s", list, err, w.tail(30))
	}
	return list[0]
}

// An exception is resolved in each of its ways, once, whether it holds a step
// or blocks the run (R39).
func TestExceptionsAreResolved(t *testing.T) {
	t.Parallel()
	for _, rule := range []string{"{then: ask}", "{then: halt}"} {
		for way, tc := range map[string]struct {
			value   string
			status  outerloop.Status
			outcome outerloop.Outcome
			output  string
		}{
			coordinator.WayRetry:      {"", outerloop.StatusCompleted, outerloop.OutcomeCompleted, `{"n":1}`},
			coordinator.WayEdit:       {`{"text":"x","n":9}`, outerloop.StatusCompleted, outerloop.OutcomeCompleted, `{"n":9}`},
			coordinator.WaySkip:       {"", outerloop.StatusCompleted, outerloop.OutcomeSkipped, `{"n":0}`},
			coordinator.WaySubstitute: {`{"text":"x","n":8}`, outerloop.StatusCompleted, outerloop.OutcomeSubstituted, `{"n":8}`},
			coordinator.WayClose:      {"", outerloop.StatusFailed, "", ``},
		} {
			t.Run(rule+way, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, files(draftLoop(rule), nil))
				usual(w)
				failing(w, "writer", outerloop.ClassFatal, 1)
				run := start(t, w, `{"key":"a"}`)
				w.run(time.Minute, 300)
				exc := exceptionOf(t, w)
				if exc.Step != "draft" || exc.Cause != "broken on purpose" || exc.Tried != "1 attempt (1 × fatal)" || exc.Owner != "ops" {
					t.Errorf("the exception is %+v", exc)
				}
				req := coordinator.ResolveRequest{Exception: exc.ID, Way: way, By: "ann", Reason: "because"}
				if tc.value != "" {
					bad := req
					bad.Value = json.RawMessage(`{"n":"many"}`)
					if _, err := w.coord.Resolve(w.ctx, bad); !errors.Is(err, coordinator.ErrInput) {
						t.Errorf("a value that does not fit: %v", err)
					}
					req.Value = json.RawMessage(tc.value)
				}
				if _, err := w.coord.Resolve(w.ctx, req); err != nil {
					t.Fatal(err)
				}
				if _, err := w.coord.Resolve(w.ctx, req); !errors.Is(err, coordinator.ErrDecided) {
					t.Errorf("a second answer: %v", err)
				}
				w.run(time.Minute, 300)
				view := want(t, w, run, tc.status)
				if s := steps(view)["draft"]; s.Outcome != tc.outcome || string(view.Output) != tc.output {
					t.Errorf("draft is %+v, output %s", s, view.Output)
				}
				if len(view.Waiting) != 0 {
					t.Errorf("waiting is %+v", view.Waiting)
				}
			})
		}
	}
}

// A redrive goes on from the last completed step and repeats nothing (R33); a
// cancel stops everything and says failed, cancelled.
func TestRedriveAndCancel(t *testing.T) {
	t.Parallel()
	w := newWorld(t, files(strings.Replace(draftLoop("{then: skip}"), "input: {n: \"${draft.n}\"}", "input: {n: \"${draft.n}\"}\n    on_failure: {then: halt}", 1), nil))
	usual(w)
	count := failing(w, "writer", outerloop.ClassTransient, 1)
	failing(w, "board", outerloop.ClassFatal, 1)
	run := start(t, w, `{"key":"a"}`)
	w.run(time.Minute, 300)
	want(t, w, run, outerloop.StatusBlocked)
	if _, err := w.coord.Redrive(w.ctx, coordinator.PersonRequest{Run: run, By: "ann"}); err != nil {
		t.Fatal(err)
	}
	w.run(time.Minute, 300)
	want(t, w, run, outerloop.StatusCompleted)
	if *count != 2 {
		t.Errorf("the writer ran %d times", *count)
	}
	if _, err := w.coord.Cancel(w.ctx, coordinator.PersonRequest{Run: run, By: "ann"}); !errors.Is(err, coordinator.ErrRunClosed) {
		t.Errorf("cancelling a completed run: %v", err)
	}
	other := start(t, w, `{"key":"b"}`)
	w.run(5*time.Millisecond, 300)
	view, err := w.coord.Cancel(w.ctx, coordinator.PersonRequest{Run: other, By: "ann", Reason: "wrong"})
	if err != nil || view.Status != outerloop.StatusFailed || view.Reason != "cancelled by ann: wrong" || len(view.Waiting) != 0 {
		t.Errorf("cancelled run is %+v, %v", view, err)
	}
	w.run(time.Hour, 300)
	if _, err := w.coord.Redrive(w.ctx, coordinator.PersonRequest{Run: other, By: "ann"}); !errors.Is(err, coordinator.ErrNotPossible) {
		t.Errorf("redriving a cancelled run: %v", err)
	}
}

// The deadline is the only thing that fails a run nobody ended; the watch
// starts what was not started and blocks what ended unfinished (R34, R41).
func TestTheWatch(t *testing.T) {
	t.Parallel()
	w := newWorld(t, files(askLoop, nil))
	usual(w)
	run := start(t, w, `{"key":"a"}`)
	delete(w.runs, run+"-g1") // the start was lost
	w.pending = nil
	w.now = w.now.Add(time.Minute)
	if tick, err := w.coord.Watch(w.ctx); err != nil || len(tick.Repaired) != 1 {
		t.Errorf("tick is %+v, %v", tick, err)
	}
	w.run(time.Minute, 200)
	want(t, w, run, outerloop.StatusAwaitingApproval)
	name, cause := "Aborted", "by hand"
	if err := (*executions)(w).Stop(w.ctx, run+"-g1", name, cause); err != nil {
		t.Fatal(err)
	}
	w.now = w.now.Add(time.Minute)
	if tick, err := w.coord.Watch(w.ctx); err != nil || len(tick.Repaired) != 1 {
		t.Errorf("tick is %+v, %v", tick, err)
	}
	want(t, w, run, outerloop.StatusBlocked)
	w.now = w.now.Add(24 * time.Hour)
	if _, err := w.coord.Watch(w.ctx); err != nil {
		t.Fatal(err)
	}
	if view := want(t, w, run, outerloop.StatusFailed); !strings.HasPrefix(view.Reason, "deadline passed") || len(view.Waiting) != 0 {
		t.Errorf("run is %+v", view)
	}
	if list, err := w.coord.Approvals(w.ctx, coordinator.ApprovalsQuery{}); err != nil || len(list) != 0 {
		t.Errorf("open approvals are %+v, %v", list, err) // when its run ends, a request closes
	}
	if list, err := w.coord.Exceptions(w.ctx, coordinator.ExceptionsQuery{}); err != nil || len(list) != 0 {
		t.Errorf("open exceptions are %+v, %v", list, err)
	}
	tick, err := w.coord.Watch(w.ctx)
	if err != nil || len(tick.Repaired) != 0 {
		t.Errorf("a quiet watch repaired %+v, %v", tick, err) // R57
	}
}

// A class that the charter does not declare meets its rule as a declared one
// does, and the log and the exception say that it is not declared (R17).
func TestUndeclaredClassIsFlagged(t *testing.T) {
	t.Parallel()
	const flag = "(the charter of writer does not declare tool_failed under fails_with)"
	for class, flagged := range map[outerloop.Class]bool{outerloop.ClassToolFailed: true, outerloop.ClassTransient: false} {
		w := newWorld(t, files(draftLoop("{retry: {any: 1}, then: halt}"), nil))
		usual(w)
		count := failing(w, "writer", class, 9)
		run := start(t, w, `{"key":"a"}`)
		w.run(10*time.Minute, 500)
		want(t, w, run, outerloop.StatusBlocked)
		if exc := exceptionOf(t, w); strings.Contains(exc.Cause, flag) != flagged || !strings.HasPrefix(exc.Cause, "broken on purpose") || *count != 2 {
			t.Errorf("%s after %d tries: %s", class, *count, exc.Cause)
		}
		log, err := w.coord.Log(w.ctx, run)
		if err != nil {
			t.Fatal(err)
		}
		said := 0
		for _, e := range log {
			if e.Kind == "failed" && strings.Contains(e.Rule, "does not declare") {
				said++
			}
		}
		if (said == 2) != flagged {
			t.Errorf("%s: the log flags it %d times", class, said)
		}
	}
}

package coordinator_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/gate"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// told counts the alerts of a kind.
func (w *world) told(kind string) int {
	n := 0
	for _, a := range w.alerts {
		if a.Kind == kind {
			n++
		}
	}
	return n
}

// watching lets time pass with the watch looking every minute.
func (w *world) watching(d time.Duration) {
	w.t.Helper()
	for end := w.now.Add(d); w.now.Before(end); {
		next := w.now.Add(time.Minute)
		w.run(time.Minute, 2000)
		w.now = next
		if _, err := w.coord.Watch(w.ctx); err != nil {
			w.t.Fatal(err)
		}
	}
}

// counting counts writes.
type counting struct {
	store.Store
	writes *int
}

func (c counting) Write(ctx context.Context, id string, ops ...store.Op) error {
	*c.writes++
	return c.Store.Write(ctx, id, ops...)
}

// R57: a step whose message is gone is told once, after the declared time, and
// names the step; the owner's group is told, and nothing is written.
func TestStalledStepIsToldOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, files(strings.Replace(draftLoop("{then: halt}"), "owner: ops", "owner: ops\nalert: {to: leads, stalled: 45m}", 1), nil))
	usual(w)
	run := start(t, w, `{"key":"a"}`)
	w.step(w.now.Add(time.Second))
	w.pending = nil // the queue loses what it holds
	w.watching(44 * time.Minute)
	if len(w.alerts) != 0 {
		t.Fatalf("told too early: %+v", w.alerts)
	}
	writes := 0
	w.store = counting{w.store, &writes}
	w.boot() // and another process finds it, too
	w.watching(3 * time.Hour)
	if len(w.alerts) != 1 {
		t.Fatalf("%d alerts: %+v", len(w.alerts), w.alerts)
	}
	if a := w.alerts[0]; a.Kind != coordinator.KindStalled || a.Run != run || a.To != "leads" || a.Loop != "test" || !strings.Contains(a.Text, "45m") {
		t.Errorf("told %+v", a)
	}
	if writes != 0 {
		t.Errorf("a stall cost %d writes", writes)
	}
}

// R57: what waits as declared is no stall: an approval within its time, a
// person's question, a worker that is at it, a wait.
func TestDeclaredWaitIsNoStall(t *testing.T) {
	t.Parallel()
	for name, steps := range map[string]string{
		"approval": "  draft: {worker: writer, input: {text: a}, approval: {when: \"true\", ask: Good?, within: 20h}}\n",
		"question": "  draft: {worker: board, input: {n: 1}, on_failure: {then: ask}}\n",
		"wait":     "  rest: {wait: {for: 20h}}\n",
		"event":    "  rest: {wait: {event: session.closed, match: event.id == input.key, within: 20h}}\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			project := files(loopHead+"steps:\n"+steps, map[string]string{
				"outerloop.yaml": projectFile + "events: {session.closed: {type: object, properties: {id: {type: string}}, additionalProperties: false}}\n",
			})
			w := newWorld(t, project)
			usual(w)
			failing(w, "board", outerloop.ClassFatal, 99)
			start(t, w, `{"key":"a"}`)
			w.watching(10 * time.Hour)
			if n := w.told(coordinator.KindStalled); n != 0 {
				t.Errorf("%d stalls: %+v", n, w.alerts)
			}
		})
	}
}

// R57: retries that reach the declared number are told once for each step, before the last one has failed.
func TestRetriesAreTold(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ declared, fails, told int }{{2, 1, 0}, {2, 2, 1}, {2, 4, 1}, {3, 2, 0}, {3, 3, 1}} {
		text := strings.Replace(draftLoop("{retry: {transient: 5}, then: skip}"), "owner: ops", "owner: ops\nalert: {retries: "+string(rune('0'+tc.declared))+"}", 1)
		w := newWorld(t, files(text, nil))
		usual(w)
		failing(w, "writer", outerloop.ClassTransient, tc.fails)
		start(t, w, `{"key":"a"}`)
		w.run(time.Hour, 500)
		if n := w.told(coordinator.KindRetries); n != tc.told || len(w.alerts) != tc.told {
			t.Errorf("declared %d, failed %d: %d alerts %+v", tc.declared, tc.fails, n, w.alerts)
		}
	}
}

// R57: an attempt that dies again and again is told as one that fails.
func TestCrashesAreToldAsRetries(t *testing.T) {
	t.Parallel()
	w := newWorld(t, files(draftLoop("{then: skip}"), nil))
	usual(w)
	start(t, w, `{"key":"a"}`)
	died := 0
	for end := w.now.Add(time.Hour); w.step(end); {
		for _, v := range w.alive {
			if died < 2 && v.task.Worker == "writer" && !v.dead {
				v.dead = true // between admit and settle
				died++
			}
		}
	}
	if n := w.told(coordinator.KindRetries); n != 1 || died != 2 {
		t.Errorf("%d alerts after %d deaths: %+v", n, died, w.alerts)
	}
}

// R57, R58: a run that costs more than the declared multiple of its loop's own
// history is told once, while it runs or when it ends; the first runs and usual
// ones are not.
func TestUnusualCostIsTold(t *testing.T) {
	t.Parallel()
	w := newWorld(t, files(draftLoop("{then: skip}"), nil))
	usual(w)
	cost := int64(10_000)
	w.work["writer"] = worker{do: w.work["writer"].do, result: func(_ gate.Task, r *gate.Result) { r.Cost = cost }}
	for i := range 8 {
		cost = 10_000 + 5_000*int64(i%3) // within the usual
		start(t, w, `{"key":"`+string(rune('a'+i))+`"}`)
		w.run(time.Minute, 500)
	}
	w.boot()
	if len(w.alerts) != 0 {
		t.Fatalf("usual runs were told: %+v", w.alerts)
	}
	cost = 60_000
	run := start(t, w, `{"key":"dear"}`)
	w.watching(10 * time.Minute)
	if len(w.alerts) != 1 || w.alerts[0].Kind != coordinator.KindCost || w.alerts[0].Run != run || !strings.Contains(w.alerts[0].Text, "0.0600 USD") {
		t.Fatalf("told %+v", w.alerts)
	}
}

// R36, R41: an exception whose writer died before it told anybody is told by
// the watch; once it is resolved, no more.
func TestLostAlertIsToldByTheWatch(t *testing.T) {
	t.Parallel()
	w := newWorld(t, files(draftLoop("{then: halt}"), nil))
	usual(w)
	failing(w, "writer", outerloop.ClassFatal, 1)
	run := start(t, w, `{"key":"a"}`)
	w.run(time.Minute, 500)
	w.alerts = nil // the process died before it told
	w.boot()
	w.watching(5 * time.Minute)
	if len(w.alerts) != 1 || w.alerts[0].Kind != coordinator.KindException || w.alerts[0].Run != run {
		t.Fatalf("told %+v", w.alerts)
	}
	list, err := w.coord.Exceptions(w.ctx, coordinator.ExceptionsQuery{Run: run})
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	if _, err := w.coord.Resolve(w.ctx, coordinator.ResolveRequest{Exception: list[0].ID, Way: coordinator.WayRetry, By: "ann"}); err != nil {
		t.Fatal(err)
	}
	w.alerts = nil
	w.boot()
	w.watching(5 * time.Minute)
	if len(w.alerts) != 0 {
		t.Errorf("after it was resolved: %+v", w.alerts)
	}
}

// R57, R58: a week of healthy runs, watched every minute, gives no alert, and
// the watch writes nothing but what runs and retention write.
func TestQuietWhenAllIsWell(t *testing.T) {
	t.Parallel()
	w := newWorld(t, files(draftLoop("{then: halt}"), nil))
	usual(w)
	w.work["writer"] = worker{do: w.work["writer"].do, result: func(_ gate.Task, r *gate.Result) { r.Cost = 20_000 }}
	for day := range 7 {
		start(t, w, `{"key":"`+string(rune('a'+day))+`"}`)
		w.run(time.Minute, 500)
		writes := 0
		healthy := w.store
		w.store = counting{healthy, &writes}
		w.boot()
		w.watching(2 * time.Hour)
		w.store = healthy
		w.boot()
		if writes != 0 {
			t.Fatalf("day %d: the watch wrote %d times", day, writes)
		}
		w.now = w.now.Add(22 * time.Hour)
	}
	if len(w.alerts) != 0 {
		t.Errorf("a healthy week was told: %+v", w.alerts)
	}
}

package coordinator_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/gate"
)

// pursed is a project whose loop has a day's budget and whose month is bounded.
func pursed(otherwise string) map[string]string {
	text := strings.Replace(loopHead, "budget: {cost: 1.00 USD, deadline: 23h, approvals: 20, otherwise: ask}",
		"budget: {cost: 1.00 USD, deadline: 23h, per_day: 2.50 USD, otherwise: "+otherwise+"}", 1)
	return files(text+`
steps:
  one: {worker: writer, input: {text: a}}
`, map[string]string{"outerloop.yaml": projectFile + "budget: {per_month: 3.50 USD}\n"})
}

func startKey(w *world, key string) (coordinator.Started, error) {
	raw, _ := json.Marshal(map[string]string{"key": key})
	return w.coord.Start(w.ctx, coordinator.StartRequest{Loop: "test", Input: raw})
}

func costs(w *world, micros int64) {
	usual(w)
	w.work["writer"] = worker{do: w.work["writer"].do, result: func(_ gate.Task, r *gate.Result) { r.Cost = micros }}
}

// purseLeft is what a period has left.
func purseLeft(t *testing.T, w *world, name string) int64 {
	t.Helper()
	items, err := w.store.Get(w.ctx, record.PurseKey(name))
	if err != nil || items[0] == nil {
		t.Fatalf("purse %s: %v %v", name, items, err)
	}
	return items[0].Numbers[record.PurseLeft]
}

// A run draws its money at its start and gives back what it did not spend; a
// start for which the day has not enough is refused (R49).
func TestADayPaysForItsRuns(t *testing.T) {
	t.Parallel()
	w := newWorld(t, pursed("halt"))
	costs(w, 700_000)
	for i, key := range []string{"a", "b"} {
		if _, err := startKey(w, key); err != nil {
			t.Fatal(err)
		}
		if left := purseLeft(t, w, "day/test/2026-11-30"); left != 2_500_000-int64(i+1)*1_000_000 {
			t.Errorf("the day has %d", left)
		}
	}
	_, err := startKey(w, "c")
	var none *coordinator.BudgetError
	if !errors.As(err, &none) || !errors.Is(err, coordinator.ErrBudget) || none.Left != 500_000 || none.Need != 1_000_000 {
		t.Fatalf("a third run is %v", err)
	}
	if want := "the budget of 2026-11-30 for test has 0.50 USD left, a run of test draws 1.00 USD; it begins anew 2026-12-01 00:00 CET"; none.Error() != want {
		t.Errorf("it says %q", none)
	}
	w.run(time.Hour, 1000)
	if left := purseLeft(t, w, "day/test/2026-11-30"); left != 1_100_000 {
		t.Errorf("after both runs the day has %d", left)
	}
	if left := purseLeft(t, w, "month/test/2026-11"); left != 2_100_000 {
		t.Errorf("after both runs the month has %d", left)
	}
	if _, err := startKey(w, "c"); err != nil {
		t.Errorf("what came back does not pay: %v", err)
	}
}

// With `otherwise: ask` the run waits in line for the money, and the owner is
// told once; nothing is lost.
func TestARunWaitsForTheNextDaysMoney(t *testing.T) {
	t.Parallel()
	w := newWorld(t, pursed("ask"))
	costs(w, 1_000_000)
	w.now = w.now.Add(24 * time.Hour) // a month with another day before its end
	var runs []string
	for _, key := range []string{"a", "b", "c", "d"} {
		out, err := startKey(w, key)
		if err != nil {
			t.Fatal(err)
		}
		runs = append(runs, out.Run)
	}
	w.run(time.Hour, 1000)
	told := map[string]string{}
	for _, a := range w.alerts {
		told[a.ID] = a.Kind + " to " + a.To
	}
	if len(told) != 1 || !strings.Contains(fmt.Sprint(told), "budget to ops") {
		t.Errorf("told is %v", told)
	}
	round := func() {
		if _, err := w.coord.Watch(w.ctx); err != nil {
			t.Fatal(err)
		}
		w.run(time.Hour, 1000)
	}
	round()
	want(t, w, runs[1], outerloop.StatusCompleted)
	want(t, w, runs[2], outerloop.StatusNew)
	w.now = time.Date(2026, 12, 2, 9, 0, 0, 0, time.UTC)
	round()
	want(t, w, runs[2], outerloop.StatusCompleted)
	want(t, w, runs[3], outerloop.StatusNew) // the month has 0.50 left
	w.now = time.Date(2027, 1, 1, 9, 0, 0, 0, time.UTC)
	round()
	want(t, w, runs[3], outerloop.StatusCompleted)
}

// A failed run gave its money back, and draws anew when it is redriven.
func TestARedrivenRunDrawsAnew(t *testing.T) {
	t.Parallel()
	w := newWorld(t, pursed("halt"))
	usual(w)
	out, err := startKey(w, "a")
	if err != nil {
		t.Fatal(err)
	}
	w.work["writer"] = worker{do: func(gate.Task) (any, *gate.Failure) {
		return nil, &gate.Failure{Class: outerloop.ClassTransient, Message: "down", Cost: 1}
	}}
	w.now = w.now.Add(24 * time.Hour)
	if _, err := w.coord.Watch(w.ctx); err != nil {
		t.Fatal(err)
	}
	want(t, w, out.Run, outerloop.StatusFailed)
	if left := purseLeft(t, w, "day/test/2026-11-30"); left != 2_500_000 {
		t.Errorf("the day got back %d", left)
	}
	if _, err := w.coord.Redrive(w.ctx, coordinator.PersonRequest{Run: out.Run, By: "ann"}); err != nil {
		t.Fatal(err)
	}
	if left := purseLeft(t, w, "day/test/2026-12-01"); left != 1_500_000 {
		t.Errorf("the redriven run left %d", left)
	}
}

// Money that other attempts have reserved may come back: an attempt waits for
// it. Where the budget says halt, the run halts without a question (R49).
func TestMoneyIsWaitedForThenHalts(t *testing.T) {
	t.Parallel()
	w := newWorld(t, files(strings.Replace(loopHead, "otherwise: ask", "otherwise: halt", 1)+`
steps:
  one: {worker: writer, input: {text: a}}
  two: {worker: writer, input: {text: b}}
  six: {worker: writer, input: {text: c}}
  ten: {worker: writer, input: {text: d}, after: [one, two, six]}
`, map[string]string{
		"functions/workers/writer/charter.yaml": agentCharter,
		"functions/workers/writer/prompt.md":    "Write.",
		"outerloop.yaml":                        projectFile + models,
	}))
	costs(w, 250_000)
	run := start(t, w, `{"key":"a"}`)
	w.run(time.Hour, 1000)
	got := steps(want(t, w, run, outerloop.StatusBlocked))
	for _, name := range []string{"one", "two", "six"} {
		if s := got[name]; s.Outcome != outerloop.OutcomeCompleted || s.Attempts != 1 {
			t.Errorf("%s is %+v", name, s)
		}
	}
	if exc := exceptionOf(t, w); !strings.Contains(exc.Cause, "the budget has 0.25 left") || exc.Step != "ten" {
		t.Errorf("the exception says %+v", exc)
	}
}

package coordinator_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/gate"
)

const breakerLoop = loopHead + `
steps:
  one: {worker: writer, input: {text: a}, on_failure: {retry: {transient: 4}, then: skip}}
  two: {worker: writer, input: {text: b}, backup: backup, on_failure: {retry: {transient: 4}, then: halt}}
  six: {worker: writer, input: {text: c}, on_failure: {retry: {transient: 4}, then: halt}}
`

func breakerOf(t *testing.T, w *world) coordinator.BreakerView {
	t.Helper()
	list, err := w.coord.Breakers(w.ctx)
	if err != nil || len(list) != 1 || list[0].Worker != "writer" {
		t.Fatalf("breakers are %+v, %v", list, err)
	}
	return list[0]
}

// A worker that fails five times in a row is let alone: steps with a backup go
// to it, others wait; one attempt at a time then finds out whether it works
// again. Its owner is told once (R31).
func TestBreaker(t *testing.T) {
	t.Parallel()
	w := newWorld(t, files(breakerLoop, nil))
	run := start(t, w, `{"key":"a"}`)
	down := &gate.Failure{Class: outerloop.ClassTransient, Message: "down"}
	n := 0
	attempt := func(step string) (*gateCall, gate.AdmitAnswer) {
		n++
		c := byHand(t, w, run, "writer", step, fmt.Sprintf("r%d", n))
		return c, c.admit()
	}
	for i := range 5 {
		if i > 0 && breakerOf(t, w).State != "closed" {
			t.Fatalf("open after %d failures", i)
		}
		c, out := attempt("one")
		if out.Decision != gate.Go {
			t.Fatalf("attempt %d is %+v", i, out)
		}
		c.settle(gate.SettleRequest{Failure: down})
	}
	opened := breakerOf(t, w)
	if opened.State != "open" || opened.Fails != 5 || !opened.Until.Equal(w.now.Add(time.Minute)) {
		t.Fatalf("after five: %+v", opened)
	}
	if _, out := attempt("six"); out.Decision != gate.Later || !out.Until.Equal(*opened.Until) || !strings.Contains(out.Reason, "breaker of writer is open") {
		t.Errorf("a step without a backup is %+v", out)
	}
	if _, out := attempt("two"); out.Decision != gate.Answered || out.Verdict.Error != outerloop.ErrorGiveUp {
		t.Errorf("a step with a backup is %+v", out)
	}
	if out := byHand(t, w, run, "backup", "two", "b1").admit(); out.Decision != gate.Go {
		t.Errorf("the backup is %+v", out)
	}

	w.now = *opened.Until
	probe, out := attempt("six")
	if out.Decision != gate.Go || out.Task.Attempt != 1 {
		t.Fatalf("the probe is %+v", out)
	}
	other := start(t, w, `{"key":"b"}`)
	if out := byHand(t, w, other, "writer", "six", "o1").admit(); out.Decision != gate.Later {
		t.Errorf("beside the probe: %+v", out)
	}
	probe.settle(gate.SettleRequest{Failure: down})
	again := breakerOf(t, w)
	if again.State != "open" || !again.Until.Equal(w.now.Add(2*time.Minute)) {
		t.Errorf("after a failed probe: %+v", again)
	}
	w.now = *again.Until
	probe, out = attempt("six")
	if out.Decision != gate.Go {
		t.Fatalf("the second probe is %+v", out)
	}
	probe.settle(gate.SettleRequest{Result: drafted})
	if closed := breakerOf(t, w); closed.State != "closed" || closed.Fails != 0 || closed.OpenedAt != nil {
		t.Errorf("after a good probe: %+v", closed)
	}
	if out := byHand(t, w, other, "writer", "six", "o2").admit(); out.Decision != gate.Go {
		t.Errorf("closed: %+v", out)
	}
	told := 0
	for _, a := range w.alerts {
		if a.Kind == "breaker" {
			told++
			if a.To != "ops" || !strings.Contains(a.Text, "5 failures in a row, the last: transient: down") {
				t.Errorf("told is %+v", a)
			}
		}
	}
	if told != 1 {
		t.Errorf("told %d times", told)
	}
}

// With the machine: a broken worker's steps are done by the backup, and those
// without one once it works again.
func TestRoutedAroundABrokenWorker(t *testing.T) {
	t.Parallel()
	w := newWorld(t, files(loopHead+`
steps:
  plan: {worker: lister, input: {n: 12}, on_failure: {then: halt}}
  deals:
    each: plan.items
    as: deal
    key: ${deal.id}
    max_items: 100
    join: {need: 100%, otherwise: halt}
    steps:
      draft: {worker: writer, input: {text: "${deal.id}"}, backup: backup, on_failure: {retry: {transient: 1}, then: halt}}
    output: {id: "${deal.id}"}
  last: {worker: writer, input: {text: last}, after: [deals], on_failure: {retry: {transient: 0}, then: halt}}
`, nil))
	usual(w)
	good, fails := w.work["writer"].do, 0
	healed := w.now.Add(40 * time.Second)
	w.work["writer"] = worker{do: func(t gate.Task) (any, *gate.Failure) {
		if w.now.Before(healed) {
			fails++
			return nil, &gate.Failure{Class: outerloop.ClassTransient, Message: "down"}
		}
		return good(t)
	}}
	run := start(t, w, `{"key":"a"}`)
	w.run(2*time.Hour, 20_000)
	got := steps(want(t, w, run, outerloop.StatusCompleted))
	if s := got["last"]; s.Worker != "writer" || s.Attempts != 1 {
		t.Errorf("the last is %+v", s)
	}
	if fails < 5 || fails > 12 {
		t.Errorf("the broken worker was asked %d times", fails)
	}
}

// A success between failures, or a long time, begins the count anew; what is the
// input's fault does not count.
func TestBreakerCountsInARow(t *testing.T) {
	t.Parallel()
	w := newWorld(t, files(strings.ReplaceAll(breakerLoop, "transient: 4", "any: 30"), nil))
	run := start(t, w, `{"key":"a"}`)
	n := 0
	fail := func(step string, class outerloop.Class, times int) {
		for range times {
			n++
			c := byHand(t, w, run, "writer", step, fmt.Sprintf("r%d", n))
			if out := c.admit(); out.Decision != gate.Go {
				t.Fatalf("attempt %d is %+v", n, out)
			}
			c.settle(gate.SettleRequest{Failure: &gate.Failure{Class: class, Message: "broken"}})
		}
	}
	fail("one", outerloop.ClassInvalidOutput, 6)
	fail("one", outerloop.ClassTransient, 4)
	c := byHand(t, w, run, "writer", "six", "good")
	c.admit()
	c.settle(gate.SettleRequest{Result: drafted})
	fail("one", outerloop.ClassTransient, 4)
	w.now = w.now.Add(11 * time.Minute)
	fail("one", outerloop.ClassTransient, 4)
	if b := breakerOf(t, w); b.State != "closed" || b.Fails != 4 {
		t.Errorf("breaker is %+v", b)
	}
}

// A person who has a step tried again is not kept waiting by the breaker: one
// attempt is let through at once, and the others as it turns out (R31, R39).
func TestRetryOfAPersonIsTheProbe(t *testing.T) {
	t.Parallel()
	w := newWorld(t, files(loopHead+`
steps:
  one: {worker: writer, input: {text: a}, on_failure: {then: halt}}
`, nil))
	usual(w)
	good := w.work["writer"]
	tried := failing(w, "writer", outerloop.ClassFatal, 99)
	run := start(t, w, `{"key":"a"}`)
	for range 7 { // broken, and tried again by hand, again and again
		w.run(time.Minute, 300)
		list, err := w.coord.Exceptions(w.ctx, coordinator.ExceptionsQuery{})
		if err != nil || len(list) != 1 {
			t.Fatalf("%+v, %v", list, err)
		}
		w.now = w.now.Add(30 * time.Second)
		if _, err := w.coord.Resolve(w.ctx, coordinator.ResolveRequest{Exception: list[0].ID, Way: coordinator.WayRetry, By: "ann", Reason: "again"}); err != nil {
			t.Fatal(err)
		}
	}
	w.run(time.Minute, 300)
	if b := breakerOf(t, w); *tried != 8 || b.State != "open" {
		t.Fatalf("tried %d times, the breaker is %+v", *tried, b)
	}
	w.work["writer"] = good
	if _, err := w.coord.Redrive(w.ctx, coordinator.PersonRequest{Run: run, By: "ann", Reason: "mended"}); err != nil {
		t.Fatal(err)
	}
	w.run(10*time.Second, 300)
	want(t, w, run, outerloop.StatusCompleted)
	if b := breakerOf(t, w); b.State != "closed" {
		t.Errorf("the breaker is %+v", b)
	}
}

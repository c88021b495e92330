package coordinator_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/gate"
)

// A block with enough parts is complete; the rest is cancelled wherever it
// stands: before its work, at a person, at an event (R4).
func TestEnough(t *testing.T) {
	t.Parallel()
	w := newWorld(t, files(loopHead+`
steps:
  plan: {worker: lister, input: {n: 6}}
  some:
    each: plan.items
    as: one
    key: ${one.id}
    max_items: 10
    join: {need: 2, enough: 3, otherwise: halt}
    steps:
      work: {worker: writer, input: {text: "${one.id}"}, on_failure: {then: ask}}
      more: {worker: backup, input: {text: "${work.text}"}}
    output: {text: "${more.text}"}
  sides:
    branches:
      fast: {worker: writer, input: {text: fast}}
      asks: {worker: backup, input: {text: asks}, approval: {ask: "Right?"}}
      waits: {wait: {event: session.closed, match: event.key == input.key, within: 20h}, on_failure: {then: skip}}
    join: {need: 1, enough: 1, otherwise: halt}
  end: {worker: board, after: [some, sides], input: {n: "${some.counts.completed}"}}
output: {n: "${end.n}", items: "${some.counts.items}", missing: "${some.counts.missing}", fast: "${sides.fast.text}"}
`, map[string]string{"outerloop.yaml": eventsProject}))
	usual(w)
	echo := w.work["writer"].do
	slow := 0
	w.work["writer"] = worker{do: func(t gate.Task) (any, *gate.Failure) {
		if string(t.Input) == `{"text":"D-0"}` {
			slow++
			return nil, &gate.Failure{Class: outerloop.ClassFatal, Message: "a person must say"}
		}
		return echo(t)
	}}
	run := start(t, w, `{"key":"a"}`)
	w.run(10*time.Minute, 2000)
	view := want(t, w, run, outerloop.StatusCompleted)
	if string(view.Output) != `{"fast":"writer fast","items":6,"missing":0,"n":3}` || slow != 1 {
		t.Errorf("output is %s", view.Output)
	}
	outcomes := map[outerloop.Outcome]int{}
	for _, s := range view.Steps {
		outcomes[s.Outcome]++
		if s.Status != outerloop.StepSettled {
			t.Errorf("step %s is %s", s.Path, s.Status)
		}
	}
	if outcomes[outerloop.OutcomeCancelled] < 3 {
		t.Errorf("outcomes %v", outcomes)
	}
	open, err := w.coord.Approvals(w.ctx, coordinator.ApprovalsQuery{})
	questions, err2 := w.coord.Exceptions(w.ctx, coordinator.ExceptionsQuery{})
	if err != nil || err2 != nil || len(open)+len(questions) != 0 {
		t.Errorf("still asked: %+v %+v", open, questions)
	}
}

// A run is not completed over an action under way, although its block has
// enough: an engine that did not wait for its branch is wrong, not the record (R4).
func TestFinishOverAnActionUnderWay(t *testing.T) {
	t.Parallel()
	w := newWorld(t, files(loopHead+`
steps:
  sides:
    branches:
      fast: {worker: writer, input: {text: fast}}
      slow: {worker: sender, action: send, key: "${input.key}", input: {text: slow}, on_failure: {then: halt}}
    join: {need: 1, enough: 1, otherwise: halt}
`, sender("ask", "")))
	run := start(t, w, `{"key":"a"}`)
	fast, slow := byHand(t, w, run, "writer", "sides/fast", "r1"), byHand(t, w, run, "sender", "sides/slow", "r2")
	slow.admit()
	if out := slow.begin(`{"text":"slow"}`); out.Claim != gate.ClaimGo {
		t.Fatalf("begin is %+v", out)
	}
	fast.admit()
	fast.settle(gate.SettleRequest{Result: drafted})
	finish := []byte(`{"op":"finish","run":"` + run + `","gen":1}`)
	_, err := w.coord.Step(w.ctx, finish)
	var verdict *coordinator.StepError
	if !errors.As(err, &verdict) || verdict.Name != outerloop.ErrorStop || !strings.Contains(verdict.Cause, "slow is not settled") {
		t.Fatalf("finish beside an action: %v", err)
	}
	slow.settle(gate.SettleRequest{Result: sent, Actions: done("a:send")})
	if _, err := w.coord.Step(w.ctx, finish); err != nil {
		t.Fatal(err)
	}
	want(t, w, run, outerloop.StatusCompleted)
}

// Branches under a false `when` are not needed, and neither is what reads them.
func TestBranchesNotNeeded(t *testing.T) {
	t.Parallel()
	w := newWorld(t, files(loopHead+`
steps:
  sides:
    when: input.key == "never"
    branches:
      a: {worker: writer, input: {text: a}}
      b: {worker: writer, input: {text: b}}
    join: {need: all, otherwise: halt}
  end: {worker: writer, input: {text: "${sides.a.text}"}}
output: {text: '${default(end.text, "none")}', sides: "${about.sides.status}"}
`, nil))
	usual(w)
	run := start(t, w, `{"key":"a"}`)
	w.run(10*time.Minute, 500)
	if view := want(t, w, run, outerloop.StatusCompleted); string(view.Output) != `{"sides":"not_needed","text":"none"}` {
		t.Errorf("output is %s", view.Output)
	}
}

// At most `at_once` attempts of a block's step run at a time, whatever its
// worker's queue would let through; others wait for their turn, which is no attempt.
func TestAtOnce(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"queue, at_once: 9", "direct"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			atOnce(t, mode)
		})
	}
}

func atOnce(t *testing.T, mode string) {
	t.Helper()
	w := newWorld(t, files(loopHead+`
steps:
  plan: {worker: lister, input: {n: 5}}
  some:
    each: plan.items
    as: one
    key: ${one.id}
    max_items: 10
    at_once: 2
    join: {need: all, otherwise: halt}
    steps:
      work: {worker: writer, input: {text: "${one.id}"}}
    output: {text: "${work.text}"}
`, map[string]string{"functions/workers/writer/charter.yaml": charterFile("writer", anyIn, textOut, "dispatch: {mode: "+mode+", timeout: 30s}")}))
	usual(w)
	run := start(t, w, `{"key":"a"}`)
	for range 9 { // until the items are there and before a worker has one
		w.step(w.now.Add(time.Second))
		if _, known := steps(show(t, w, run))["some"]; known {
			break
		}
	}
	of := func(item, request string) *gateCall {
		c := byHand(t, w, run, "writer", "some/work", request)
		c.call.Item = item
		return c
	}
	first, second, third := of("0.", "r1"), of("1.", "r2"), of("2.", "r3")
	if a, b := first.admit(), second.admit(); a.Decision != gate.Go || b.Decision != gate.Go {
		t.Fatalf("%+v %+v", a, b)
	}
	if c := third.admit(); c.Decision != gate.Later {
		t.Fatalf("a third attempt: %+v", c)
	}
	first.settle(gate.SettleRequest{Result: drafted})
	if c := third.admit(); c.Decision != gate.Go {
		t.Fatalf("the turn did not come back: %+v", c)
	}
	second.settle(gate.SettleRequest{Result: drafted})
	third.settle(gate.SettleRequest{Result: drafted})
	w.run(time.Hour, 3000)
	want(t, w, run, outerloop.StatusCompleted)
}

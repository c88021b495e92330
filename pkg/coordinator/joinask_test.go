package coordinator_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/gate"
)

const askingJoins = loopHead + `
steps:
  plan: {worker: lister, input: {n: 3}}
  some:
    each: plan.items
    as: one
    key: ${one.id}
    max_items: 10
    join: {need: all, otherwise: ask}
    steps:
      work: {worker: writer, input: {text: "${one.id}"}}
    output: {text: "${work.text}"}
  sides:
    branches:
      left: {worker: backup, input: {text: left}}
      right: {worker: writer, input: {text: right}}
    join: {need: 2, otherwise: ask}
  apart: {worker: backup, input: {text: apart}}
  end: {worker: board, after: [some, sides], input: {n: "${some.counts.completed}"}}
output: {n: "${end.n}", missing: "${some.missing.map(m, m.key)}", sides: "${sides.missing.map(m, m.key)}", right: '${default(sides.right.text, "none")}', apart: "${apart.text}"}
`

// A join that asks makes its block wait for a person, and nothing else: the run
// is not blocked, what does not need the block goes on; skip takes what there
// is, retry runs the missing parts again, close ends the run (R4, R39).
func TestJoinAsks(t *testing.T) {
	t.Parallel()
	for way, output := range map[string]string{
		coordinator.WaySkip:  `{"apart":"backup apart","missing":["D-1"],"n":2,"right":"none","sides":["right"]}`,
		coordinator.WayRetry: `{"apart":"backup apart","missing":[],"n":3,"right":"writer right","sides":[]}`,
		coordinator.WayClose: "",
	} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, files(askingJoins, nil))
			usual(w)
			echo, broken := w.work["writer"].do, true
			w.work["writer"] = worker{do: func(t gate.Task) (any, *gate.Failure) {
				var in struct{ Text string }
				_ = json.Unmarshal(t.Input, &in)
				if broken && (in.Text == "D-1" || in.Text == "right") {
					return nil, &gate.Failure{Class: outerloop.ClassFatal, Message: "cannot"}
				}
				return echo(t)
			}}
			run := start(t, w, `{"key":"a"}`)
			w.run(10*time.Minute, 1000)
			view := want(t, w, run, outerloop.StatusAwaitingApproval)
			if s := steps(view)["apart"]; s.Outcome != outerloop.OutcomeCompleted {
				t.Errorf("what does not need the blocks: %+v", s)
			}
			open, err := w.coord.Exceptions(w.ctx, coordinator.ExceptionsQuery{Run: run})
			if err != nil || len(open) != 2 || len(view.Waiting) != 2 {
				t.Fatalf("%+v %v, waiting %+v", open, err, view.Waiting)
			}
			broken = way != coordinator.WayRetry
			for _, exc := range open {
				_, err := w.coord.Resolve(w.ctx, coordinator.ResolveRequest{Exception: exc.ID, Way: way, By: "ann"})
				if err != nil && way != coordinator.WayClose { // the run's end closes the other question
					t.Fatal(err)
				}
			}
			w.run(10*time.Minute, 1000)
			status := outerloop.StatusCompleted
			if way == coordinator.WayClose {
				status = outerloop.StatusFailed
			}
			if view := want(t, w, run, status); string(view.Output) != output || len(view.Waiting) != 0 {
				t.Errorf("output is %s, waiting %+v", view.Output, view.Waiting)
			}
		})
	}
}

// Parts that are missing again after a retry are asked about again.
func TestJoinAsksAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, files(askingJoins, nil))
	usual(w)
	echo := w.work["writer"].do
	w.work["writer"] = worker{do: func(t gate.Task) (any, *gate.Failure) {
		if s := string(t.Input); s == `{"text":"D-1"}` || s == `{"text":"right"}` {
			return nil, &gate.Failure{Class: outerloop.ClassFatal, Message: "cannot"}
		}
		return echo(t)
	}}
	run := start(t, w, `{"key":"a"}`)
	w.run(10*time.Minute, 1000)
	seen := map[string]bool{}
	for _, way := range []string{coordinator.WayRetry, coordinator.WaySkip} {
		open, err := w.coord.Exceptions(w.ctx, coordinator.ExceptionsQuery{Run: run})
		if err != nil || len(open) != 2 {
			t.Fatalf("before %s: %+v %v\n%s", way, open, err, w.tail(60))
		}
		for _, exc := range open {
			if seen[exc.ID] {
				t.Errorf("%s is asked twice under one id", exc.ID)
			}
			seen[exc.ID] = true
			if _, err := w.coord.Resolve(w.ctx, coordinator.ResolveRequest{Exception: exc.ID, Way: way, By: "ann"}); err != nil {
				t.Fatal(err)
			}
		}
		w.run(10*time.Minute, 1000)
	}
	want(t, w, run, outerloop.StatusCompleted)
}

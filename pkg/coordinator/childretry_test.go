package coordinator_test

import (
	"strings"
	"testing"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/gate"
)

const retriedChild = loopHead + `
steps:
  sub: {loop: inner, input: {text: a}, on_failure: {retry: {timeout: RETRIES}, then: ask}}
output: {text: "${sub.text}"}
`

const slowChild = `
loop: inner
version: 1
owner: ops
objective: A part.
subject: ${input.text}
input: {type: object, properties: {text: {type: string}}, required: [text], additionalProperties: false}
budget: {cost: 0.50 USD, deadline: 2h}
defaults: {on_failure: {then: halt}}
steps:
  first: {worker: backup, input: {text: "${input.text}"}}
  work: {worker: writer, input: {text: "${first.text}"}}
output: {text: "${work.text}"}
`

// A sub-loop that was not done in its time is driven on, as often as the step's
// rule says: its own work stays done, its cost is counted once; then the rule
// decides (R28, R29).
func TestSubLoopIsRetried(t *testing.T) {
	t.Parallel()
	for retries, status := range map[string]outerloop.Status{"1": outerloop.StatusCompleted, "0": outerloop.StatusAwaitingApproval} {
		t.Run(retries, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, files(strings.Replace(retriedChild, "RETRIES", retries, 1), map[string]string{"statemachines/inner.loop.yaml": slowChild}))
			usual(w)
			echo, early := w.work["writer"].do, w.now.Add(time.Hour)
			var firsts int
			w.work["writer"] = worker{do: func(t gate.Task) (any, *gate.Failure) {
				if w.now.Before(early) {
					return nil, &gate.Failure{Class: outerloop.ClassFatal, Message: "cannot"}
				}
				return echo(t)
			}}
			w.work["backup"] = worker{do: func(t gate.Task) (any, *gate.Failure) { firsts++; return echo(t) }}
			run := start(t, w, `{"key":"a"}`)
			w.later(3*time.Hour, "the watch", func() {
				if _, err := w.coord.Watch(w.ctx); err != nil {
					t.Error(err)
				}
			})
			w.run(4*time.Hour, 500)
			view := want(t, w, run, status)
			children, err := w.coord.Runs(w.ctx, coordinator.RunsQuery{Loop: "inner"})
			if err != nil || len(children) != 1 {
				t.Fatalf("%d runs of the sub-loop: %+v, %v", len(children), children, err)
			}
			if firsts != 1 {
				t.Errorf("its first step worked %d times", firsts)
			}
			if retries == "1" && string(view.Output) != `{"text":"writer backup a"}` {
				t.Errorf("output is %s", view.Output)
			}
			if left := view.Left; left != 1 {
				t.Errorf("left is %v", left)
			}
		})
	}
}

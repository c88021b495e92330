package coordinator_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/coordinator"
)

const eachLoop = loopHead + `
steps:
  plan:
    worker: lister
    input: {n: "${default(input.n, 3)}"}
    on_failure: {then: halt}
  deals:
    each: plan.items
    as: deal
    key: ${deal.id}
    max_items: 50000
    join: {need: 90%, otherwise: halt}
    steps:
      draft:
        worker: writer
        input: {text: "to ${deal.id}", n: "${deal.n}"}
        review: {worker: checker, input: {text: "${output.text}"}, pass: verdict.faults.size() == 0, revisions: 1, otherwise: approve}
      send:
        worker: sender
        action: send
        key: ${deal.id}
        resource: contact/${deal.id}
        input: {text: "${draft.text}"}
        approval: {when: "deal.n >= 2 && default(input.ask, false)", ask: "Send to ${deal.id}?"}
    output: {id: "${deal.id}", mail: '${default(send.id, "")}'}
  board:
    worker: board
    input: {n: "${deals.counts.completed}"}
    writes: {board/state: "${output}"}
output: {done: "${deals.results}", counts: "${deals.counts}"}
accept:
  - {rule: deals.counts.items == plan.items.size(), say: All.}
`

func TestARunOfItemsCompletes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, files(eachLoop, nil))
	usual(w)
	run := start(t, w, `{"key":"a","n":3}`)
	w.run(time.Hour, 1000)
	view := want(t, w, run, outerloop.StatusCompleted)
	const output = `{"counts":{"completed":3,"items":3,"missing":0},"done":[{"id":"D-0","mail":"sent"},{"id":"D-1","mail":"sent"},{"id":"D-2","mail":"sent"}]}`
	if string(view.Output) != output {
		t.Errorf("output is %s", view.Output)
	}
	got := steps(view)
	if s := got["deals[D-1]/send"]; s.Outcome != outerloop.OutcomeCompleted || s.Worker != "sender" || s.Attempts != 1 {
		t.Errorf("send of D-1 is %+v", s)
	}
	for key, n := range w.provider().effects {
		if n != 1 {
			t.Errorf("%s was done %d times", key, n)
		}
	}
	// Again is a duplicate, and nothing happens (R38).
	out, err := w.coord.Start(w.ctx, coordinator.StartRequest{Loop: "test", Input: json.RawMessage(`{"n":3,"key":"a"}`)})
	if err != nil || !out.Duplicate || out.Run != run {
		t.Errorf("second start gives %+v, %v", out, err)
	}
	_, err = w.coord.Start(w.ctx, coordinator.StartRequest{Loop: "test", Input: json.RawMessage(`{"n":4,"key":"a"}`)})
	var other *coordinator.OtherInputError
	if !errors.As(err, &other) || other.Run != run {
		t.Errorf("another input gives %v", err)
	}
}

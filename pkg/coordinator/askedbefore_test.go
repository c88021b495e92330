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

// A person who answers an old question does not pass over an action that an
// attempt began after it was asked (R37, R39).
func TestAnswerBesideAnActionUnderWay(t *testing.T) {
	t.Parallel()
	w := newWorld(t, files(loopHead+`
steps:
  send: {worker: sender, action: send, key: "${input.key}", input: {text: x}, on_failure: {then: ask}}
  later: {wait: {for: 5m}}
  other: {worker: writer, after: [later], input: {text: x}, on_failure: {then: halt}}
`, sender("retry", "")))
	broken := &gate.Failure{Class: outerloop.ClassFatal, Message: "broken"}
	w.work["writer"] = worker{do: func(gate.Task) (any, *gate.Failure) { return nil, broken }}
	run := start(t, w, `{"key":"a"}`)
	first := byHand(t, w, run, "sender", "send", "first")
	first.admit()
	first.settle(gate.SettleRequest{Failure: broken})
	w.run(10*time.Minute, 500)
	want(t, w, run, outerloop.StatusBlocked)
	question := ""
	list, err := w.coord.Exceptions(w.ctx, coordinator.ExceptionsQuery{})
	for _, exc := range list {
		if exc.Step == "send" {
			question = exc.ID
		}
	}
	if err != nil || question == "" {
		t.Fatalf("%+v %v", list, err)
	}
	if _, err := w.coord.Redrive(w.ctx, coordinator.PersonRequest{Run: run, By: "ann"}); err != nil {
		t.Fatal(err)
	}
	again := byHand(t, w, run, "sender", "send", "again")
	again.call.Gen = 2
	if out := again.admit(); out.Decision != gate.Go {
		t.Fatalf("admit is %+v", out)
	}
	if out := again.begin(`{"text":"x"}`); out.Claim != gate.ClaimGo {
		t.Fatalf("begin is %+v", out)
	}
	skip := coordinator.ResolveRequest{Exception: question, Way: coordinator.WaySkip, By: "ann"}
	if _, err := w.coord.Resolve(w.ctx, skip); !errors.Is(err, coordinator.ErrNotPossible) || !strings.Contains(err.Error(), "executing until") {
		t.Errorf("skipping beside the action: %v", err)
	}
	w.now = w.now.Add(5 * time.Minute)
	var bad *coordinator.InputError
	if _, err := w.coord.Resolve(w.ctx, skip); !errors.As(err, &bad) || !strings.Contains(err.Error(), "done or failed") {
		t.Errorf("skipping over an unknown outcome: %v", err)
	}
	skip.Outcome = string(gate.ActionFailed)
	if _, err := w.coord.Resolve(w.ctx, skip); err != nil {
		t.Error(err)
	}
}

// A request that nobody needs any more is closed before the run is completed: of
// a tool call whose caller was passed over (R36, R44).
func TestMootRequestIsClosedWithItsRun(t *testing.T) {
	t.Parallel()
	w, run := officeOf(t, `
steps:
  talk: {worker: writer, input: {text: "${input.key}"}, on_failure: {then: skip}}
`)
	agent := byHand(t, w, run, "writer", "talk", "first")
	agent.admit()
	tool := agent.tool("sender", "t1", agent.ask("sender", `{"text":"x","n":9}`))
	tool.admit()
	agent.settle(gate.SettleRequest{Failure: &gate.Failure{Class: outerloop.ClassFatal, Message: "cannot"}})
	w.run(10*time.Minute, 500)
	want(t, w, run, outerloop.StatusCompleted)
	if open, err := w.coord.Approvals(w.ctx, coordinator.ApprovalsQuery{}); err != nil || len(open) != 0 {
		t.Errorf("still asked: %+v %v", open, err)
	}
}

// A state's call that comes again late, with the token of an earlier one, does
// not take the place of the token that the machine waits with (R11).
func TestLateCallOfAWait(t *testing.T) {
	t.Parallel()
	w := newWorld(t, files(loopHead+`
steps:
  closed: {wait: {event: session.closed, match: event.key == input.key, within: 20h}, on_failure: {then: halt}}
`, map[string]string{"outerloop.yaml": eventsProject}))
	run := start(t, w, `{"key":"a"}`)
	w.run(time.Minute, 100)
	late := []byte(`{"op":"await","run":"` + run + `","gen":1,"step":"closed","token":"an earlier one"}`)
	if _, err := w.coord.Step(w.ctx, late); err != nil {
		t.Fatal(err)
	}
	if _, err := w.coord.Publish(w.ctx, coordinator.PublishRequest{Event: "session.closed", ID: "e1", Data: json.RawMessage(`{"key":"a"}`)}); err != nil {
		t.Fatal(err)
	}
	w.run(time.Minute, 100)
	want(t, w, run, outerloop.StatusCompleted)
}

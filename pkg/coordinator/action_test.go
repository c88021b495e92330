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

const sendLoop = loopHead + `
steps:
  send:
    worker: sender
    action: send
    key: ${input.key}
    resource: contact/x
    input: {text: "${input.key}"}
    on_failure: {retry: {transient: 3}, then: halt}
output: {id: "${send.id}"}
`

func sender(unknown string, more string) map[string]string {
	return map[string]string{"functions/workers/sender/charter.yaml": charterFile("sender", anyIn,
		"{type: object, properties: {id: {type: string}}, required: [id], additionalProperties: false}",
		"tools: {mail: [send]}", "actions: {send: {effect: none, undo: none, unknown: "+unknown+", start: limited"+more+"}}")}
}

// gateCall drives the gate by hand, as a worker's wrapper would.
type gateCall struct {
	t    testing.TB
	w    *world
	g    gate.Gate
	call gate.Call
}

// byHand takes the first delivery of a run's step away from the world.
func byHand(t testing.TB, w *world, run, worker, step, request string) *gateCall {
	t.Helper()
	return &gateCall{t: t, w: w, g: w.coord.For(worker), call: gate.Call{
		Delivery: gate.Delivery{Run: run, Gen: 1, Step: step}, Nonce: request + "/1",
	}}
}

func (c *gateCall) admit() gate.AdmitAnswer {
	c.t.Helper()
	out, err := c.g.Admit(c.w.ctx, gate.AdmitRequest{Call: c.call, Limit: c.w.now.Add(time.Hour)})
	if err != nil {
		c.t.Fatal(err)
	}
	if out.Task != nil {
		c.call.Fence = out.Task.Fence
	}
	return out
}

func (c *gateCall) begin(payload string) gate.BeginAnswer {
	c.t.Helper()
	out, err := c.g.Begin(c.w.ctx, gate.BeginRequest{Call: c.call, Action: "send", Payload: json.RawMessage(payload)})
	if err != nil {
		c.t.Fatal(err)
	}
	return out
}

func (c *gateCall) settle(req gate.SettleRequest) gate.SettleAnswer {
	c.t.Helper()
	req.Call = c.call
	out, err := c.g.Settle(c.w.ctx, req)
	if err != nil {
		c.t.Fatal(err)
	}
	return out
}

func done(entry string) []gate.ActionReport {
	return []gate.ActionReport{{Entry: entry, Outcome: gate.ActionDone, Result: json.RawMessage(`{"id":"m1"}`)}}
}

var sent = &gate.Result{Output: json.RawMessage(`{"id":"m1"}`)}

// The protocol's action table at the gate (R37).
func TestActionsAreDoneOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, files(sendLoop, nil))
	run := start(t, w, `{"key":"a"}`)
	a := byHand(t, w, run, "sender", "send", "first")
	if out := a.admit(); out.Decision != gate.Go || out.Task.Action != "send" {
		t.Fatalf("admit is %+v", out)
	}
	begun := a.begin(`{"text":"a"}`)
	if begun.Claim != gate.ClaimGo || begun.Entry != "a:send" || begun.Until != w.now.Add(30*time.Second) {
		t.Fatalf("begin is %+v", begun)
	}
	w.now = w.now.Add(time.Second)
	if again := a.begin(`{"text":"a"}`); again.Claim != gate.ClaimGo || again.Until != begun.Until {
		t.Errorf("the same begin again is %+v", again) // the recorded end, never a new one
	}
	if other := a.begin(`{"text":"b"}`); other.Claim != gate.ClaimRefused || other.Class != outerloop.ClassConflict || !strings.Contains(other.Reason, "sha256:") {
		t.Errorf("another payload is %+v", other)
	}
	b := byHand(t, w, run, "sender", "send", "second")
	if out := b.admit(); out.Decision != gate.Later {
		t.Errorf("a live attempt was displaced: %+v", out)
	}
	w.now = w.now.Add(2 * time.Minute) // the first owner is paused past its lease
	if out := b.admit(); out.Decision != gate.Go {
		t.Fatalf("admit over a dead lease is %+v", out)
	}
	verify := b.begin(`{"text":"a"}`)
	if verify.Claim != gate.ClaimVerify || verify.ProviderKey != begun.ProviderKey {
		t.Fatalf("begin past the limit is %+v", verify)
	}
	if out := a.begin(`{"text":"a"}`); out.Claim != gate.ClaimRefused {
		t.Errorf("the owner that woke up may act: %+v", out)
	}
	late := a.settle(gate.SettleRequest{Result: sent, Actions: done("a:send")})
	if late.Answered {
		t.Errorf("a superseded attempt is answered: %+v", late)
	}
	if out := b.begin(`{"text":"a"}`); out.Claim != gate.ClaimDone || string(out.Result) != `{"id":"m1"}` {
		t.Errorf("the old owner reported after all, begin is %+v", out)
	}
	if out := b.settle(gate.SettleRequest{Result: sent}); !out.Answered || out.Verdict.Error != "" {
		t.Errorf("settle is %+v", out)
	}
	if out := b.settle(gate.SettleRequest{Result: sent}); !out.Answered || *out.Verdict.Note.Outcome != outerloop.OutcomeCompleted {
		t.Errorf("the lost answer again is %+v", out)
	}
	list, err := w.coord.Actions(w.ctx, coordinator.ActionsQuery{Key: "a:"})
	if err != nil || len(list) != 1 || list[0].State != "done" || list[0].Run != run {
		t.Errorf("the action log is %+v, %v", list, err)
	}
}

// What nobody can know is asked; the step waits with its question and goes on
// with what the person says (R37, R39).
func TestAnUnknownOutcomeIsAsked(t *testing.T) {
	t.Parallel()
	w := newWorld(t, files(sendLoop, sender("ask", "")))
	usual(w)
	run := start(t, w, `{"key":"a"}`)
	a := byHand(t, w, run, "sender", "send", "first")
	a.admit()
	a.begin(`{"text":"a"}`) // and then silence
	w.provider().effects["by hand"]++
	w.run(30*time.Minute, 500)
	exc := exceptionOf(t, w)
	if exc.Entry != "a:send" {
		t.Fatalf("the exception is %+v", exc)
	}
	want(t, w, run, outerloop.StatusAwaitingApproval)
	req := coordinator.ResolveRequest{Exception: exc.ID, Way: coordinator.WayRetry, By: "ann"}
	if _, err := w.coord.Resolve(w.ctx, req); err == nil {
		t.Error("resolved without saying what became of the action")
	}
	req.Outcome = "done"
	if _, err := w.coord.Resolve(w.ctx, req); err != nil {
		t.Fatal(err)
	}
	w.run(30*time.Minute, 500)
	want(t, w, run, outerloop.StatusCompleted)
	if len(w.provider().effects) != 1 {
		t.Errorf("effects are %v", w.provider().effects)
	}
}

// At most N in a period, over all runs and across the edge of any window (R73).
func TestQuota(t *testing.T) {
	t.Parallel()
	w := newWorld(t, files(sendLoop, sender("verify", `, at_most: {count: 2, per: 30d, by: "${default(input.text, \"\").size() > 0}"}`)))
	usual(w)
	for i, day := range []int{0, 20, 29, 31} {
		w.now = time.Date(2026, 12, 1, 8, 0, 0, 0, time.UTC).AddDate(0, 0, day)
		run := start(t, w, fmt.Sprintf(`{"key":"k%d"}`, i))
		w.run(10*time.Minute, 300)
		status := outerloop.StatusCompleted
		if day == 29 {
			status = outerloop.StatusBlocked
		}
		view := want(t, w, run, status)
		if day == 29 && !strings.Contains(view.Reason, "at most 2 send per") {
			t.Errorf("reason is %s", view.Reason)
		}
	}
}

// An engine whose workers died with it lets go of what they held: no lease is
// waited for, and the unknown action is verified.
func TestAbandon(t *testing.T) {
	t.Parallel()
	w := newWorld(t, files(sendLoop, nil))
	run := start(t, w, `{"key":"a"}`)
	a := byHand(t, w, run, "sender", "send", "first")
	a.admit()
	a.begin(`{"text":"a"}`)
	for range 2 {
		if err := w.coord.Abandon(w.ctx, a.call.Delivery); err != nil {
			t.Fatal(err)
		}
	}
	b := byHand(t, w, run, "sender", "send", "second")
	if out := b.admit(); out.Decision != gate.Go || out.Task.Attempt != 2 {
		t.Fatalf("admit is %+v", out)
	}
	if out := b.begin(`{"text":"a"}`); out.Claim != gate.ClaimVerify {
		t.Errorf("begin is %+v", out)
	}
	if out := a.settle(gate.SettleRequest{Result: sent}); out.Answered {
		t.Errorf("the dead attempt settled: %+v", out)
	}
}

// One at a time per resource, over all runs (R26).
func TestResourceLease(t *testing.T) {
	t.Parallel()
	w := newWorld(t, files(sendLoop, nil))
	first, second := start(t, w, `{"key":"a"}`), start(t, w, `{"key":"b"}`)
	a, b := byHand(t, w, first, "sender", "send", "r1"), byHand(t, w, second, "sender", "send", "r2")
	a.admit()
	if out := b.admit(); out.Decision != gate.Later || out.Reason != "contact/x is held by send" {
		t.Errorf("admit is %+v", out)
	}
	w.now = w.now.Add(2 * time.Minute) // the owner sleeps past its lease
	if out := b.admit(); out.Decision != gate.Go {
		t.Fatalf("admit is %+v", out)
	}
	if out := a.begin(`{"text":"a"}`); out.Claim != gate.ClaimRefused || out.Class != outerloop.ClassTransient {
		t.Errorf("the old owner of the resource may act: %+v", out)
	}
	if out := b.begin(`{"text":"b"}`); out.Claim != gate.ClaimGo {
		t.Errorf("begin is %+v", out)
	}
	b.settle(gate.SettleRequest{Result: sent, Actions: done("b:send")})
	if out := a.admit(); out.Decision != gate.Go {
		t.Errorf("the lease was not released: %+v", out)
	}
}

// A handler that fails while nobody knows what its action came to leaves the
// resource held until nothing can come of it any more (R26).
func TestResourceStaysHeldWhileAnOutcomeIsOpen(t *testing.T) {
	t.Parallel()
	w := newWorld(t, files(sendLoop, nil))
	first, second := start(t, w, `{"key":"a"}`), start(t, w, `{"key":"b"}`)
	a, b := byHand(t, w, first, "sender", "send", "r1"), byHand(t, w, second, "sender", "send", "r2")
	a.admit()
	if out := a.begin(`{"text":"a"}`); out.Claim != gate.ClaimGo {
		t.Fatalf("begin is %+v", out)
	}
	a.settle(gate.SettleRequest{Failure: &gate.Failure{Class: outerloop.ClassTransient, Message: "no answer"}})
	if out := b.admit(); out.Decision != gate.Later || out.Reason != "contact/x is held by send" {
		t.Errorf("admit beside an action whose outcome is open: %+v", out)
	}
	w.now = w.now.Add(2 * time.Minute)
	if out := b.admit(); out.Decision != gate.Go {
		t.Errorf("admit when nothing can come of it any more: %+v", out)
	}
}

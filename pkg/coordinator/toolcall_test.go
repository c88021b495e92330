package coordinator_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/gate"
)

// office is a world whose writer is an agent with the tools lister and sender;
// the sender's limit sends large numbers to people.
func office(t *testing.T) (*world, string) {
	t.Helper()
	return officeOf(t, `
steps:
  talk: {worker: writer, input: {text: "${input.key}"}}
output: {text: "${talk.text}"}
`)
}

// officeOf is the same with other steps.
func officeOf(t *testing.T, steps string) (*world, string) {
	t.Helper()
	w := newWorld(t, files(loopHead+steps, map[string]string{
		"functions/workers/writer/charter.yaml": strings.NewReplacer("max_calls: 1", "calls: [lister, sender], max_calls: 3", "max_tokens: 10000", "max_tokens: 1000").Replace(agentCharter),
		"functions/workers/writer/prompt.md":    "Write.",
		"functions/workers/sender/charter.yaml": charterFile("sender", anyIn, "{type: object, properties: {id: {type: string}}, required: [id], additionalProperties: false}",
			"tools: {mail: [send]}", `actions: {send: {key: "${input.text}", effect: none, undo: none, unknown: verify, start: limited}}`,
			"limits: [{rule: input.n <= 5, otherwise: approve, say: Numbers over 5 need a person.}]"),
		"outerloop.yaml": projectFile + models,
	}))
	usual(w)
	return w, start(t, w, `{"key":"a"}`)
}

// ask makes a tool call of the attempt.
func (c *gateCall) ask(worker, input string) gate.CallAnswer {
	c.t.Helper()
	out, err := c.g.(gate.Caller).Call(c.w.ctx, gate.CallRequest{Call: c.call, Worker: worker, Input: json.RawMessage(input)})
	if err != nil {
		c.t.Fatal(err)
	}
	return out
}

// tool drives a called worker by hand.
func (c *gateCall) tool(worker, request string, answer gate.CallAnswer) *gateCall {
	c.t.Helper()
	if answer.Outcome != gate.CallRun || answer.Delivery == nil {
		c.t.Fatalf("%s is not to be run: %+v", worker, answer)
	}
	return &gateCall{t: c.t, w: c.w, g: c.w.coord.For(worker), call: gate.Call{Delivery: *answer.Delivery, Nonce: request + "/1"}}
}

var written = &gate.Result{Output: json.RawMessage(`{"text":"done"}`), Confidence: outerloop.ConfidenceHigh, Reason: "clear"}

// A tool call is a step beside its caller; what it gave is recorded, and the
// charter bounds whom an agent calls, with what and how often (R8).
func TestToolCalls(t *testing.T) {
	t.Parallel()
	w, run := office(t)
	agent := byHand(t, w, run, "writer", "talk", "first")
	if out := agent.admit(); out.Decision != gate.Go || len(out.Task.Agent.Calls) != 2 {
		t.Fatalf("admit is %+v", out)
	}
	tool := agent.tool("lister", "tool", agent.ask("lister", `{"n": 2}`))
	if out := tool.admit(); out.Decision != gate.Go || string(out.Task.Input) != `{"n":2}` {
		t.Fatalf("the tool's admit is %+v", out)
	}
	tool.settle(gate.SettleRequest{Result: &gate.Result{Output: json.RawMessage(`{"items":[]}`)}})
	for _, input := range []string{`{"n":2}`, `{ "n": 2.0 }`} {
		if out := agent.ask("lister", input); out.Outcome != gate.CallDone || string(out.Output) != `{"items":[]}` {
			t.Errorf("the call again is %+v", out)
		}
	}
	for name, out := range map[string]gate.CallAnswer{
		"calls no worker": agent.ask("board", `{"n": 1}`), "does not fit": agent.ask("lister", `{"n": "x"}`),
	} {
		if out.Outcome != gate.CallRefused || !strings.Contains(out.Says, name) {
			t.Errorf("%s: %+v", name, out)
		}
	}
	for _, input := range []string{`{"n": 3}`, `{"n": 4}`} {
		if out := agent.ask("lister", input); out.Outcome != gate.CallRun {
			t.Errorf("%s: %+v", input, out)
		}
	}
	if out := agent.ask("lister", `{"n": 5}`); out.Outcome != gate.CallRefused || !strings.Contains(out.Says, "no calls are left") {
		t.Errorf("the fourth call is %+v", out)
	}
	stranger := byHand(t, w, run, "writer", "talk", "second")
	if out := stranger.ask("lister", `{"n": 2}`); out.Outcome != gate.CallStopped {
		t.Errorf("a call of an attempt that does not own the step is %+v", out)
	}
	if out := agent.settle(gate.SettleRequest{Result: written}); out.Verdict.Error != "" {
		t.Errorf("settle is %+v", out)
	}
	if view := show(t, w, run); view.Counts["completed"] != 2 {
		t.Errorf("counts are %v", view.Counts)
	}
}

// The caller waits with its tool call, runs again after the decision, and the
// action is done once with what was approved; a rejection is what it hears (R44).
func TestToolCallAsksAPerson(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		decision, edit, payload string
		outcome                 gate.CallOutcome
	}{
		"approved": {coordinator.Approve, "", `{"n":9,"text":"x"}`, gate.CallDone},
		"edited":   {coordinator.Approve, `{"text":"x","n":4}`, `{"n":4,"text":"x"}`, gate.CallDone},
		"rejected": {coordinator.Reject, "", "", gate.CallRefused},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, run := office(t)
			first := byHand(t, w, run, "writer", "talk", "first")
			first.admit()
			tool := first.tool("sender", "t1", first.ask("sender", `{"text":"x","n":9}`))
			if out := tool.admit(); out.Verdict == nil || out.Verdict.Error != outerloop.ErrorNeedsApproval {
				t.Fatalf("the tool's admit is %+v", out)
			}
			if out := first.ask("sender", `{"text":"x","n":9}`); out.Outcome != gate.CallWaiting || !strings.Contains(out.Says, "Numbers over 5") {
				t.Errorf("the call is %+v", out)
			}
			if out := first.settle(gate.SettleRequest{Result: written}); out.Verdict.Error != outerloop.ErrorNeedsApproval {
				t.Fatalf("settling while a call waits is %+v", out)
			}
			waiting := show(t, w, run).Waiting
			if len(waiting) != 1 {
				t.Fatalf("%+v waits", waiting)
			}
			if _, err := w.coord.Decide(w.ctx, coordinator.DecideRequest{Approval: waiting[0].ID, Verdict: c.decision, By: "ann@example.com", Reason: "known", Edit: json.RawMessage(c.edit)}); err != nil {
				t.Fatal(err)
			}
			second := byHand(t, w, run, "writer", "talk", "second")
			if out := second.admit(); out.Decision != gate.Go {
				t.Fatalf("admit after the decision is %+v", out)
			}
			answer := second.ask("sender", `{"text":"x","n":9}`)
			if answer.Outcome == gate.CallRun {
				tool = second.tool("sender", "t2", answer)
				tool.admit()
				if out := tool.begin(c.payload); out.Claim != gate.ClaimGo || out.Entry != "x:send" {
					t.Fatalf("begin is %+v", out)
				}
				tool.settle(gate.SettleRequest{Result: sent, Actions: done("x:send")})
				answer = second.ask("sender", `{"text":"x","n":9}`)
			}
			if answer.Outcome != c.outcome {
				t.Errorf("the call after the decision is %+v, want %s", answer, c.outcome)
			}
			if out := second.settle(gate.SettleRequest{Result: written}); out.Verdict.Error != "" {
				t.Errorf("settle is %+v", out)
			}
		})
	}
}

// An engine that died within a tool call lets go of both, so that the caller's
// next attempt need not wait for a lease.
func TestAbandonedToolCall(t *testing.T) {
	t.Parallel()
	w, run := office(t)
	first := byHand(t, w, run, "writer", "talk", "first")
	first.admit()
	tool := first.tool("lister", "t1", first.ask("lister", `{"n": 2}`))
	tool.admit()
	if err := w.coord.Abandon(w.ctx, first.call.Delivery); err != nil {
		t.Fatal(err)
	}
	second := byHand(t, w, run, "writer", "talk", "second")
	if out := second.admit(); out.Decision != gate.Go {
		t.Fatalf("admit is %+v", out)
	}
	again := second.tool("lister", "t2", second.ask("lister", `{"n": 2}`))
	if out := again.admit(); out.Decision != gate.Go || out.Task.Attempt != 2 {
		t.Errorf("the tool's admit is %+v", out)
	}
	if out := tool.settle(gate.SettleRequest{Result: &gate.Result{Output: json.RawMessage(`{"items":[]}`)}}); out.Answered && out.Verdict.Error == "" {
		t.Errorf("the dead tool settled: %+v", out)
	}
}

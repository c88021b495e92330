package coordinator_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/gate"
)

// studio is a world whose writer is an agent with an agent as tool, the poet,
// which has the sender as a tool. Its money is watched at every write.
func studio(t *testing.T) (*world, string) {
	t.Helper()
	poet := strings.NewReplacer("worker: writer", "worker: poet", "max_calls: 1", "calls: [sender], max_calls: 1", "max_tokens: 10000", "max_tokens: 1000")
	w := newWorld(t, files(loopHead+`
steps:
  talk: {worker: writer, input: {text: "${input.key}"}}
output: {text: "${talk.text}"}
`, map[string]string{
		"functions/workers/writer/charter.yaml": strings.NewReplacer("max_calls: 1", "calls: [poet], max_calls: 2", "max_tokens: 10000", "max_tokens: 1000").Replace(agentCharter),
		"functions/workers/writer/prompt.md":    "Write.",
		"functions/workers/poet/charter.yaml":   poet.Replace(agentCharter),
		"functions/workers/poet/prompt.md":      "Rhyme.",
		"functions/workers/sender/charter.yaml": charterFile("sender", anyIn, "{type: object, properties: {id: {type: string}}, required: [id], additionalProperties: false}",
			"tools: {mail: [send]}", `actions: {send: {key: "${input.text}", effect: none, undo: none, unknown: verify, start: limited}}`,
			"limits: [{rule: input.n <= 5, otherwise: approve, say: Numbers over 5 need a person.}]"),
		"outerloop.yaml": projectFile + models,
	}))
	usual(w)
	conserves(t, w.store.(*memory), 1_000_000)
	return w, start(t, w, `{"key":"a"}`)
}

// money is what the run has left and spent, and what is reserved in how many numbers.
func (w *world) money(run string) (left, spent, reserved int64, names int) {
	w.t.Helper()
	r, err := record.DecodeRun(w.store.(*memory).items[record.RunKey(run)])
	if err != nil {
		w.t.Fatal(err)
	}
	for name, n := range r.Numbers {
		if strings.HasPrefix(name, "res.") {
			reserved += n
			names++
		}
	}
	return r.Numbers[record.RunLeft], r.Numbers[record.RunSpent], reserved, names
}

func costing(micros int64) *gate.Result {
	r := *written
	r.Cost = micros
	return &r
}

// A tool call is paid from its caller's money, which the caller's attempt has
// reserved with its own; what it did not cost goes back to the run (R49, R8).
func TestToolCallSpendsItsCallersMoney(t *testing.T) {
	t.Parallel()
	w, run := studio(t)
	caller := byHand(t, w, run, "writer", "talk", "first")
	own := caller.admit().Task.Budget
	left, _, reserved, _ := w.money(run)
	if own == 0 || reserved <= own || left+reserved != 1_000_000 {
		t.Fatalf("%d are left, %d reserved, of which %d are for the caller's own model", left, reserved, own)
	}
	tool := caller.tool("poet", "tool", caller.ask("poet", `{"text":"x"}`))
	share := tool.admit().Task.Budget
	if now, _, same, names := w.money(run); now != left || same != reserved || names != 3 || share == 0 {
		t.Errorf("the tool's claim left %d of %d and made %d of %d reserved, in %d numbers; its own model has %d", now, left, same, reserved, names, share)
	}
	tool.settle(gate.SettleRequest{Result: costing(7_000)})
	if _, spent, still, names := w.money(run); spent != 7_000 || still >= reserved || still <= own || names != 2 {
		t.Errorf("after the tool %d are spent, %d reserved in %d numbers", spent, still, names)
	}
	caller.settle(gate.SettleRequest{Result: costing(20_000)})
	if left, spent, still, names := w.money(run); left != 973_000 || spent != 27_000 || still != 0 || names != 0 {
		t.Errorf("at the end %d are left, %d spent, %d reserved in %d numbers", left, spent, still, names)
	}
}

// A tool call that would cost more than its caller's share is not made, however
// much the run has left; the caller hears why.
func TestToolCallOverItsCallersShare(t *testing.T) {
	t.Parallel()
	w, run := studio(t)
	caller := byHand(t, w, run, "writer", "talk", "first")
	caller.admit()
	left, _, reserved, _ := w.money(run)
	long := `{"text":"` + strings.Repeat("x", 300_000) + `"}`
	tool := caller.tool("poet", "tool", caller.ask("poet", long))
	if out := tool.admit(); out.Decision == gate.Go {
		t.Fatalf("a call above its caller's share is %+v", out)
	}
	if out := caller.ask("poet", long); out.Outcome != gate.CallRefused || !strings.Contains(out.Says, "its caller's share of the budget has") {
		t.Errorf("the caller hears %+v", out)
	}
	if now, spent, same, _ := w.money(run); now != left || spent != 0 || same != reserved || now < 500_000 {
		t.Errorf("%d are left, %d spent, %d reserved", now, spent, same)
	}
}

// Whatever ends or takes over a caller's attempt does so with its tool calls'
// money, and a tool that settles afterwards brings back nothing twice.
func TestToolMoneyOfADeadCaller(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(w *world, run string, caller *gateCall){
		"a new attempt over the dead lease": func(w *world, run string, _ *gateCall) {
			w.now = w.now.Add(10 * time.Minute)
			if out := byHand(w.t, w, run, "writer", "talk", "second").admit(); out.Decision != gate.Go {
				w.t.Fatalf("the second attempt is %+v", out)
			}
		},
		"abandoned": func(w *world, _ string, caller *gateCall) {
			if err := w.coord.Abandon(w.ctx, caller.call.Delivery); err != nil {
				w.t.Fatal(err)
			}
		},
		"settled before its tool": func(_ *world, _ string, caller *gateCall) {
			caller.settle(gate.SettleRequest{Result: costing(5_000)})
		},
		"failed before its tool": func(_ *world, _ string, caller *gateCall) {
			caller.settle(gate.SettleRequest{Failure: &gate.Failure{Class: outerloop.ClassTransient, Message: "cut"}})
		},
		"cancelled": func(w *world, run string, _ *gateCall) {
			if _, err := w.coord.Cancel(w.ctx, coordinator.PersonRequest{Run: run, By: "ann@example.com", Reason: "no"}); err != nil {
				w.t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, run := studio(t)
			caller := byHand(t, w, run, "writer", "talk", "first")
			caller.admit()
			_, _, whole, _ := w.money(run)
			tool := caller.tool("poet", "tool", caller.ask("poet", `{"text":"x"}`))
			tool.admit()
			deep := tool.tool("sender", "deep", tool.ask("sender", `{"text":"x","n":1}`))
			deep.admit()
			end(w, run, caller)
			before, _, reserved, _ := w.money(run)
			if reserved != 0 && reserved != whole {
				t.Errorf("%d stay reserved, an attempt has %d", reserved, whole)
			}
			tool.settle(gate.SettleRequest{Result: costing(3_000)})
			if after, _, still, _ := w.money(run); after > before || still != reserved {
				t.Errorf("the late tool made %d left of %d, and %d reserved of %d", after, before, still, reserved)
			}
		})
	}
}

// A stale copy of a tool call whose caller does not run any more waits and
// takes nobody's money.
func TestToolCallWithoutItsCaller(t *testing.T) {
	t.Parallel()
	w, run := studio(t)
	caller := byHand(t, w, run, "writer", "talk", "first")
	caller.admit()
	tool := caller.tool("poet", "tool", caller.ask("poet", `{"text":"x"}`))
	caller.settle(gate.SettleRequest{Failure: &gate.Failure{Class: outerloop.ClassTransient, Message: "cut"}})
	if out := tool.admit(); out.Decision != gate.Later || !strings.Contains(out.Reason, "does not run any more") {
		t.Errorf("admit is %+v", out)
	}
	if left, _, reserved, _ := w.money(run); left != 1_000_000 || reserved != 0 {
		t.Errorf("%d are left, %d reserved", left, reserved)
	}
}

// An agent's tool may be an agent with tools: what the innermost asks of a
// person holds up all of them, and is done once after the decision.
func TestToolOfATool(t *testing.T) {
	t.Parallel()
	w, run := studio(t)
	ask := `{"text":"x","n":9}`
	open := func(n string) (caller, tool *gateCall) {
		caller = byHand(t, w, run, "writer", "talk", n)
		if out := caller.admit(); out.Decision != gate.Go {
			t.Fatalf("the caller's admit is %+v", out)
		}
		tool = caller.tool("poet", n+"-tool", caller.ask("poet", `{"text":"x"}`))
		if out := tool.admit(); out.Decision != gate.Go {
			t.Fatalf("the tool's admit is %+v", out)
		}
		return caller, tool
	}
	caller, tool := open("first")
	deep := tool.tool("sender", "deep", tool.ask("sender", ask))
	deep.admit()
	if out := tool.ask("sender", ask); out.Outcome != gate.CallWaiting {
		t.Fatalf("the call is %+v", out)
	}
	if out := tool.settle(gate.SettleRequest{Result: costing(1_000)}); out.Verdict.Error != outerloop.ErrorNeedsApproval {
		t.Fatalf("the tool's settle is %+v", out)
	}
	if out := caller.ask("poet", `{"text":"x"}`); out.Outcome != gate.CallWaiting {
		t.Fatalf("the outer call is %+v", out)
	}
	if out := caller.settle(gate.SettleRequest{Result: costing(1_000)}); out.Verdict.Error != outerloop.ErrorNeedsApproval {
		t.Fatalf("the caller's settle is %+v", out)
	}
	waiting := show(t, w, run).Waiting
	if len(waiting) != 1 {
		t.Fatalf("%+v waits", waiting)
	}
	if _, err := w.coord.Decide(w.ctx, coordinator.DecideRequest{Approval: waiting[0].ID, Verdict: coordinator.Approve, By: "ann@example.com", Reason: "known"}); err != nil {
		t.Fatal(err)
	}
	caller, tool = open("second")
	deep = tool.tool("sender", "deep2", tool.ask("sender", ask))
	if out := deep.admit(); out.Decision != gate.Go {
		t.Fatalf("the action's admit is %+v", out)
	}
	if out := deep.begin(`{"n":9,"text":"x"}`); out.Claim != gate.ClaimGo {
		t.Fatalf("begin is %+v", out)
	}
	deep.settle(gate.SettleRequest{Result: sent, Actions: done("x:send")})
	tool.settle(gate.SettleRequest{Result: costing(1_000)})
	if out := caller.ask("poet", `{"text":"x"}`); out.Outcome != gate.CallDone || !json.Valid(out.Output) {
		t.Errorf("the outer call is %+v", out)
	}
	if out := caller.settle(gate.SettleRequest{Result: costing(1_000)}); out.Verdict.Error != "" {
		t.Errorf("the caller's settle is %+v", out)
	}
	if left, spent, reserved, _ := w.money(run); left != 996_000 || spent != 4_000 || reserved != 0 {
		t.Errorf("%d are left, %d spent, %d reserved", left, spent, reserved)
	}
}

// What an attempt cost more than was reserved for it is recorded as it is, and
// the next call that would break the budget is not made (R49).
func TestOvershootIsRecorded(t *testing.T) {
	t.Parallel()
	for name, cost := range map[string]int64{"above the reservation": 900_000, "above the budget": 1_200_000} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, run := studio(t)
			first := byHand(t, w, run, "writer", "talk", "first")
			if reserved := first.admit().Task.Budget; reserved >= cost {
				t.Fatalf("%d are reserved", reserved)
			}
			first.settle(gate.SettleRequest{Failure: &gate.Failure{Class: outerloop.ClassTransient, Message: "cut", Cost: cost}})
			if left, spent, reserved, _ := w.money(run); left != 1_000_000-cost || spent != cost || reserved != 0 {
				t.Fatalf("%d are left, %d spent, %d reserved", left, spent, reserved)
			}
			out := byHand(t, w, run, "writer", "talk", "second").admit()
			if out.Decision == gate.Go || out.Verdict == nil || !strings.Contains(out.Verdict.Cause, "the budget has") {
				t.Errorf("the next attempt is %+v", out)
			}
			if left, spent, _, _ := w.money(run); left != 1_000_000-cost || spent != cost {
				t.Errorf("%d are left, %d spent", left, spent)
			}
		})
	}
	w, run := studio(t) // a tool's overshoot is the run's, not its caller's
	caller := byHand(t, w, run, "writer", "talk", "first")
	own := caller.admit().Task.Budget
	tool := caller.tool("poet", "tool", caller.ask("poet", `{"text":"x"}`))
	tool.admit()
	_, _, before, _ := w.money(run)
	tool.settle(gate.SettleRequest{Result: costing(400_000)})
	if _, spent, reserved, _ := w.money(run); spent != 400_000 || reserved >= before || reserved < own {
		t.Errorf("%d are spent, %d of %d reserved", spent, reserved, before)
	}
}

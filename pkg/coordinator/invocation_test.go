package coordinator_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/asl"
	"github.com/outerloop-dev/outerloop/pkg/gate"
)

// worker is a test's worker: what it makes of a task, and whether it does the
// step's action between.
type worker struct {
	do func(t gate.Task) (any, *gate.Failure)
	// result may change what is handed over; nil: only the output.
	result func(t gate.Task, r *gate.Result)
}

// provider is the outside world: who did what, by the provider's key.
type provider struct {
	effects map[string]int
	calls   map[string]int
}

// chaos draws faults from a seed, as many as its budget allows.
type chaos struct {
	rand   *rand.Rand
	budget int
	seen   map[string]int
	// focus are faults that this seed wants to see: they are drawn often, others rarely.
	focus []string
}

func (c *chaos) draw(name string, one int) bool {
	if c == nil || c.budget == 0 {
		return false
	}
	if slices.Contains(c.focus, name) {
		one = 4
	} else {
		one *= 4
	}
	if c.rand.IntN(one) != 0 {
		return false
	}
	c.budget--
	c.seen[name]++
	return true
}

var faultNames = []string{
	"answer lost", "crash", "pause", "late copy", "token lost", "certainly not done", "call lost",
	"answer of the provider lost", "store throttled", "store answer lost",
}

func (c *chaos) lost() bool      { return c.draw("answer lost", 12) }
func (c *chaos) crash() bool     { return c.draw("crash", 12) }
func (c *chaos) pause() bool     { return c.draw("pause", 15) }
func (c *chaos) copied() bool    { return c.draw("late copy", 10) }
func (c *chaos) tokenLost() bool { return c.draw("token lost", 12) }

// invocation is one delivery in a worker. Each gate call is an event of its
// own, so that others come between.
type invocation struct {
	w        *world
	m        *message
	request  string
	calls    int
	delivery gate.Delivery
	task     gate.Task
	limit    time.Time
	dead     bool
	reports  []gate.ActionReport
	until    time.Time
	claimed  gate.BeginAnswer
	failure  *gate.Failure
}

func (v *invocation) next(what string, do func()) {
	name := fmt.Sprintf("%s %s %s%s", v.request, what, v.delivery.Step, at(v.delivery.Item))
	wait := time.Millisecond
	if v.w.chaos.pause() {
		wait = 100 * time.Second // past its lease and its time: the owner that wakes up
		name += " (after a pause)"
	}
	v.w.later(wait, name, func() {
		if v.dead {
			return
		}
		if v.w.chaos.crash() {
			v.w.log("  crashes")
			v.die()
			return
		}
		do()
	})
}

func at(item string) string {
	if item == "" {
		return ""
	}
	return "[" + item + "]"
}

// die ends the invocation without an answer. A direct caller is told at once.
func (v *invocation) die() {
	v.dead = true
	if v.m.direct != nil {
		v.answerDirect(nil, "Runtime.ExitError", "the function died")
	}
}

func (v *invocation) timeout() {
	if !v.dead && !v.m.done {
		v.dead = true
		v.answerDirect(nil, "Sandbox.Timedout", "the function timed out")
	}
}

func (v *invocation) call() gate.Call {
	v.calls++
	return gate.Call{Delivery: v.delivery, Nonce: fmt.Sprintf("%s/%d", v.request, v.calls), Fence: v.task.Fence}
}

func (v *invocation) gate() gate.Gate { return v.w.coord.For(v.m.worker) }

// twice makes a call; when its answer is lost it is made again, and a copy of
// it may arrive much later.
func twice[T any](v *invocation, what string, do func() (T, error)) (T, bool) {
	if v.w.chaos.lost() {
		_, _ = do()
		v.w.log("  answer lost")
	}
	if v.w.chaos.copied() {
		v.w.later(time.Duration(1+v.w.rand.IntN(200))*time.Second, "late copy of "+v.request+" "+what, func() { _, _ = do() })
	}
	for range 5 {
		out, err := do()
		if err == nil {
			v.w.log("  %s: %s", what, short(out))
			return out, true
		}
		v.w.log("  %s failed: %v", what, err)
	}
	var none T
	return none, false
}

func short(v any) string {
	raw, _ := json.Marshal(v)
	if len(raw) > 300 {
		raw = raw[:300]
	}
	return string(raw)
}

func (v *invocation) admit() {
	req := gate.AdmitRequest{Call: v.call(), Limit: v.limit}
	out, ok := twice(v, "admit", func() (gate.AdmitAnswer, error) { return v.gate().Admit(v.w.ctx, req) })
	switch {
	case !ok:
		v.die()
	case out.Decision == gate.Answered:
		v.answered(*out.Verdict)
	case out.Decision == gate.Later:
		v.notNow(out.Until)
	default:
		v.task = *out.Task
		if v.task.Action != "" {
			v.next("begin", v.begin)
			return
		}
		v.next("settle", v.settle)
	}
}

func (v *invocation) notNow(until time.Time) {
	v.dead = true
	if v.m.direct != nil {
		v.answerDirect(nil, outerloop.ErrorNotNow, "not now")
		return
	}
	v.w.at(until, "message again: "+v.delivery.Step, func() { v.w.deliver(v.m) })
}

func (v *invocation) begin() {
	req := gate.BeginRequest{Call: v.call(), Action: v.task.Action, Payload: v.task.Input}
	out, ok := twice(v, "begin", func() (gate.BeginAnswer, error) { return v.gate().Begin(v.w.ctx, req) })
	if !ok {
		v.die()
		return
	}
	v.claimed = out
	switch out.Claim {
	case gate.ClaimGo:
		v.until = out.Until
		v.next("call", v.act)
	case gate.ClaimDone:
		v.next("settle", v.settle)
	case gate.ClaimVerify:
		v.next("verify", v.verify)
	case gate.ClaimBusy:
		v.fail(outerloop.ClassTransient, "busy")
	default:
		v.fail(out.Class, out.Reason)
	}
}

// act is the one outside call. It has no effect after its time (the wrapper
// looks at its clock immediately before); its answer may be lost.
func (v *invocation) act() {
	if !v.w.now.Before(v.until) {
		v.fail(outerloop.ClassTransient, "too late to call")
		return
	}
	key := v.claimed.ProviderKey
	v.w.provider().calls[key]++
	switch {
	case v.w.chaos.draw("certainly not done", 10):
		v.reports = append(v.reports, gate.ActionReport{Entry: v.claimed.Entry, Outcome: gate.ActionFailed, Reason: "refused by the provider"})
		v.fail(outerloop.ClassTransient, "not done")
	case v.w.chaos.draw("call lost", 10):
		v.fail(outerloop.ClassTransient, "the call did not get through, or did it?")
	case v.w.chaos.draw("answer of the provider lost", 10):
		v.w.provider().effects[key]++
		v.fail(outerloop.ClassTransient, "no answer")
	default:
		v.w.provider().effects[key]++
		v.w.log("  EFFECT %s", key)
		v.reports = append(v.reports, gate.ActionReport{Entry: v.claimed.Entry, Outcome: gate.ActionDone, Result: json.RawMessage(`{"id":"` + key + `"}`)})
		v.next("settle", v.settle)
	}
}

// verify asks the provider what became of the action.
func (v *invocation) verify() {
	outcome := gate.ActionFailed
	if v.w.provider().effects[v.claimed.ProviderKey] > 0 {
		outcome = gate.ActionDone
	}
	req := gate.ReportRequest{Call: v.call(), Report: gate.ActionReport{Entry: v.claimed.Entry, Outcome: outcome, Seen: v.claimed.Seen}}
	if _, ok := twice(v, "report", func() (gate.ReportAnswer, error) { return v.gate().Report(v.w.ctx, req) }); !ok {
		v.die()
		return
	}
	v.next("begin", v.begin)
}

func (v *invocation) fail(class outerloop.Class, message string) {
	v.failure = &gate.Failure{Class: class, Message: message}
	v.next("settle", v.settle)
}

func (v *invocation) settle() {
	req := gate.SettleRequest{Call: v.call(), Actions: v.reports, Failure: v.failure}
	if v.failure == nil {
		output, failure := v.w.workerNamed(v.m.worker).do(v.task)
		req.Failure = failure
		if failure == nil {
			raw, _ := json.Marshal(output)
			req.Result = &gate.Result{Output: raw, Confidence: outerloop.ConfidenceHigh, Reason: "sure"}
			if change := v.w.workerNamed(v.m.worker).result; change != nil {
				change(v.task, req.Result)
			}
		}
	}
	out, ok := twice(v, "settle", func() (gate.SettleAnswer, error) { return v.gate().Settle(v.w.ctx, req) })
	switch {
	case !ok:
		v.die()
	case out.Answered:
		v.answered(out.Verdict)
	default:
		v.dead = true // not acknowledged: the message comes back
		if v.m.direct != nil {
			v.answerDirect(nil, outerloop.ErrorNotNow, "superseded")
		}
	}
}

// answered acknowledges: a queue's gate has completed the token itself.
func (v *invocation) answered(verdict gate.Verdict) {
	v.next("ack", func() {
		v.dead = true
		v.m.done = v.m.direct == nil
		if v.m.direct == nil {
			return
		}
		if verdict.Error != "" {
			v.answerDirect(nil, verdict.Error, verdict.Cause)
			return
		}
		note, _ := json.Marshal(verdict.Note)
		v.answerDirect(note, "", "")
	})
}

func (v *invocation) answerDirect(note json.RawMessage, name, cause string) {
	if v.m.done {
		return
	}
	v.m.done = true
	ev := asl.Event{Kind: asl.TaskSucceeded, Task: v.m.direct.task, Output: lambdaAnswer(note)}
	if name != "" {
		ev = asl.Event{Kind: asl.TaskFailed, Task: v.m.direct.task, Error: &name, Cause: &cause}
	}
	v.w.apply(v.m.direct.run, ev)
}

func (w *world) workerNamed(name string) worker {
	if found, ok := w.work[name]; ok {
		return found
	}
	return worker{do: func(gate.Task) (any, *gate.Failure) {
		return nil, &gate.Failure{Class: outerloop.ClassFatal, Message: "no worker " + name}
	}}
}

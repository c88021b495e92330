package sim

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/protocol"
	"github.com/outerloop-dev/outerloop/pkg/gate"
)

// invocation is one delivery in a worker: it does what the workers' wrapper does.
type invocation struct {
	s        *Sim
	m        *message
	actor    *actor
	request  string
	skew     time.Duration
	calls    int
	delivery gate.Delivery
	limit    time.Time
	task     gate.Task
	reports  []gate.ActionReport
	// payload is what the action is begun with, seen the fence that a verifier saw.
	payload json.RawMessage
	seen    int64
	// began is when the worker last asked to be admitted.
	began   time.Time
	failure *gate.Failure
}

func (v *invocation) now() time.Time { return v.s.now.Add(v.skew) }

func (v *invocation) attempt() string { return protocol.AttemptOf(v.request + "/1") }

// dies ends the invocation without an answer. A direct caller is told at once.
func (v *invocation) dies() {
	v.s.log("the worker dies")
	v.answerDirect(nil, "Runtime.ExitError", "the function died")
	panic(killed{})
}

// dieAt dies where the window's fault falls.
func (v *invocation) dieAt(w Fault) {
	if v.s.window(w) {
		v.dies()
	}
}

// run does the delivery's work.
func (v *invocation) run() {
	if v.m.poisoned {
		v.s.saw("dead-lettered before admit")
		v.dies()
	}
	v.dieAt("received / admit")
	if !v.admit() {
		return
	}
	v.dieAt("admit / handler dies")
	long := 3000
	if v.m.worker == "board" {
		long = 12_000
	}
	v.s.wait(time.Duration(v.s.random.IntN(long)) * time.Millisecond)
	if v.m.worker == "clerk" {
		v.tools()
	}
	if v.failure != nil {
		v.s.log("the worker gives up: %s", v.failure.Message)
	} else if v.task.Action != "" {
		v.sleepAt("owner paused past its lease begins")
		v.act()
	} else if v.s.flaky(v) {
		v.failure = &gate.Failure{Class: outerloop.ClassTransient, Message: "no answer", Cost: v.s.cost(v, 20_000)}
	}
	v.sleepAt("owner paused past its lease settles")
	v.redrivenUnder()
	v.settle()
}

// sleepAt may sleep past the lease and the invocation's own time.
func (v *invocation) sleepAt(w Fault) {
	if v.s.window(w) {
		v.s.wait(time.Duration(61+v.s.random.IntN([]int{50, 200}[v.s.random.IntN(2)])) * time.Second)
	}
}

// redrivenUnder may let the run be blocked and redriven while this worker is at it.
func (v *invocation) redrivenUnder() {
	if v.s.draw(RedrivenUnder, 100) {
		v.s.spawn(0, "bob", func() { v.s.blockAndRedrive(v.delivery) })
		v.s.wait(time.Duration(15+v.s.random.IntN(15)) * time.Second)
	}
}

func (v *invocation) call() gate.Call {
	v.calls++
	return gate.Call{Delivery: v.delivery, Nonce: fmt.Sprintf("%s/%d", v.request, v.calls), Fence: v.task.Fence}
}

// called makes a gate call until it is answered, always under its one nonce; a
// copy of it may be carried out much later. false: there is no answer.
func called[T any](v *invocation, op string, do func(gate.Gate) (T, error)) (T, bool) {
	s := v.s
	once := func(c *coordinator.Coordinator) (T, error) { return do(c.For(v.m.worker)) }
	if s.window("a late copy of a gate call") {
		copied := s.spawn(time.Duration(1+s.random.IntN(250))*time.Second, "late copy of "+v.request+" "+op, func() {
			out, err := attempt(s, op, once)
			s.log("the late copy is answered %s %v", brief(out), err)
		})
		copied.work, copied.gen, copied.run = v, v.delivery.Gen, v.delivery.Run
	}
	for range 5 {
		out, err := attempt(s, op, once)
		s.log("%s is answered %s %v", op, brief(out), err)
		if err == nil {
			return out, true
		}
		s.wait(time.Duration(1+s.random.IntN(1000)) * time.Millisecond)
		v.sleepAt("owner paused past its lease begins")
	}
	var none T
	return none, false
}

func brief(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(raw[:min(len(raw), 260)])
}

// admit asks whether to work; false: there is nothing to do.
func (v *invocation) admit() bool {
	req := gate.AdmitRequest{Call: v.call(), Limit: v.limit.Add(v.skew)}
	v.began = v.s.now
	out, ok := called(v, "admit", func(g gate.Gate) (gate.AdmitAnswer, error) { return g.Admit(v.s.ctx, req) })
	if ok {
		v.s.guard.admitted(v, out)
	}
	switch {
	case !ok:
		v.dies()
	case out.Decision == gate.Answered:
		v.acknowledge(*out.Verdict)
	case out.Decision == gate.Later && v.s.without("ack on busy"):
		v.acknowledge(gate.Verdict{})
	case out.Decision == gate.Later:
		if v.m.direct {
			v.answerDirect(nil, outerloop.ErrorNotNow, "not now")
		}
		v.s.hide(v.m, out.Until)
	default:
		v.task = *out.Task
		v.s.guard.granted(v)
		return true
	}
	return false
}

// act does the step's action.
func (v *invocation) act() {
	for range 3 {
		if v.s.window("begin on a run cancelled a moment ago") {
			v.s.spawn(v.s.latency(), "ann", func() { v.s.cancel(v.delivery.Run) })
			v.s.wait(v.s.latency())
		}
		v.redrivenUnder()
		v.payload = v.task.Input
		if v.s.draw(OtherPayload, 60) {
			v.payload = json.RawMessage(`{"text":"` + v.request + `"}`)
		}
		req := gate.BeginRequest{Call: v.call(), Action: v.task.Action, Payload: v.payload}
		out, ok := called(v, "begin", func(g gate.Gate) (gate.BeginAnswer, error) { return g.Begin(v.s.ctx, req) })
		if !ok {
			v.dies()
		}
		v.s.guard.answeredBegin(v, out)
		switch out.Claim {
		case gate.ClaimGo:
			v.effect(out)
			return
		case gate.ClaimDone:
			v.s.guard.reused(v, out)
			return
		case gate.ClaimVerify:
			if !v.verify(out) {
				v.dies()
			}
			continue
		case gate.ClaimBusy:
			v.fails(outerloop.ClassTransient, "busy")
		default:
			v.fails(out.Class, out.Reason)
		}
		return
	}
	v.fails(outerloop.ClassTransient, "its action is verified again and again")
}

// effect is the one outside call: it has no effect past its time, since the
// wrapper looks at its clock immediately before.
func (v *invocation) effect(claim gate.BeginAnswer) {
	s := v.s
	v.dieAt("begin / call")
	if s.window("owner paused past its lease begins") {
		s.wait(time.Duration(1+s.random.IntN(120)) * time.Second)
	}
	if !v.now().Before(claim.Until) && !s.without("call late") {
		v.fails(outerloop.ClassTransient, "too late to call")
		return
	}
	switch {
	case s.outside.effects[claim.ProviderKey] == 0 && s.draw(CallRefused, 10):
		v.reports = append(v.reports, gate.ActionReport{Entry: claim.Entry, Outcome: gate.ActionFailed, Reason: "refused by the provider"})
		v.fails(outerloop.ClassTransient, "not done")
		return
	case s.draw(CallLost, 10):
		v.fails(outerloop.ClassTransient, "the call did not get through, or did it?")
		return
	case s.window("inside the call"):
		if s.random.IntN(2) == 0 {
			s.outside.do(v, claim)
		}
		v.dies()
	}
	s.outside.do(v, claim)
	if s.random.IntN(4) == 0 {
		s.wait(time.Duration(s.random.IntN(15_000)) * time.Millisecond)
	}
	v.dieAt("call / done")
	if s.draw(AnswerLost, 10) {
		v.fails(outerloop.ClassTransient, "no answer")
		return
	}
	v.reports = append(v.reports, gate.ActionReport{Entry: claim.Entry, Outcome: gate.ActionDone, Result: json.RawMessage(`{"id":"` + claim.ProviderKey + `"}`)})
}

// verify asks the provider what became of the action and reports it.
func (v *invocation) verify(claim gate.BeginAnswer) bool {
	outcome := v.s.outside.became(claim.ProviderKey)
	v.seen = claim.Seen
	v.s.wait(v.s.latency())
	v.sleepAt("owner paused past its lease begins")
	req := gate.ReportRequest{Call: v.call(), Report: gate.ActionReport{Entry: claim.Entry, Outcome: outcome, Seen: claim.Seen}}
	_, ok := called(v, "report", func(g gate.Gate) (gate.ReportAnswer, error) { return g.Report(v.s.ctx, req) })
	return ok
}

func (v *invocation) fails(class outerloop.Class, message string) {
	v.failure = &gate.Failure{Class: class, Message: message}
}

// settle hands over the work and acknowledges what is answered.
func (v *invocation) settle() {
	req := gate.SettleRequest{Call: v.call(), Actions: v.reports, Failure: v.failure}
	if v.failure == nil {
		req.Result, req.Failure = v.s.handle(v)
	}
	out, ok := called(v, "settle", func(g gate.Gate) (gate.SettleAnswer, error) { return g.Settle(v.s.ctx, req) })
	if ok {
		v.s.guard.handedOver(v, out)
	}
	switch {
	case !ok:
		v.dies()
	case out.Answered:
		v.acknowledge(out.Verdict)
	default: // superseded: the message comes back
		v.answerDirect(nil, outerloop.ErrorNotNow, "superseded")
	}
}

// acknowledge deletes the message; a queue's gate has completed the token itself.
func (v *invocation) acknowledge(verdict gate.Verdict) {
	v.dieAt("token completed / message not deleted")
	v.s.wait(v.s.latency())
	if !v.m.direct {
		v.m.done = true
		v.s.guard.acknowledged(v)
		return
	}
	note, err := json.Marshal(verdict.Note)
	if err != nil {
		panic(err)
	}
	v.answerDirect(note, verdict.Error, verdict.Cause)
}

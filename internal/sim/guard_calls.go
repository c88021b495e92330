package sim

import (
	"fmt"
	"strings"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/asl"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/gate"
)

// admitted: I19, I3, I16 what an admit answers.
func (g *guard) admitted(v *invocation, out gate.AdmitAnswer) {
	run, step := g.runs[v.delivery.Run], g.stepOf(v)
	if run == nil || step == nil {
		return
	}
	holds := step.State == outerloop.StepRunning && step.Nonce == v.attempt() && step.LeaseMs > g.s.now.Add(2*largestSkew).UnixMilli()
	goes := run.Open() && run.Gen == v.delivery.Gen && run.Deadline.After(g.s.now.Add(2*largestSkew))
	if holds && goes && out.Decision != gate.Go {
		g.bad("I19", "%s has claimed %s and is answered %s", v.attempt(), step.Name, out.Decision)
	}
	if out.Decision != gate.Go {
		return
	}
	if g.since[run.ID].Before(v.began) && (!run.Open() || run.Gen != v.delivery.Gen) {
		g.bad("I3", "%s may work on %s of generation %d, its run is %s in %d since %s", v.attempt(), step.Name, v.delivery.Gen, run.Status, run.Gen, g.since[run.ID].Format(time.TimeOnly))
	}
	g.passed(v)
}

// passed: I16 an open breaker and a provider's rate let nobody through.
func (g *guard) passed(v *invocation) {
	b := must(record.DecodeBreaker(g.s.shadow[record.BreakerKey(v.m.worker)]))
	if b != nil && b.IsOpen() && b.Probe != v.attempt() && b.Opened.Before(v.began.Add(-2*largestSkew)) && b.UntilMs > g.s.now.Add(2*largestSkew).UnixMilli() {
		g.bad("I16", "%s is let through, the breaker of %s is open", v.attempt(), v.m.worker)
	}
	if v.m.worker != "rated" || g.turn[v.attempt()] {
		return
	}
	g.turn[v.attempt()] = true
	g.turns = append(g.turns, g.s.now)
	n := 0
	for _, at := range g.turns {
		if g.s.now.Sub(at) < 40*time.Second {
			n++
		}
	}
	if n > 4 {
		g.bad("I16", "%d attempts have had a turn in 40 s, 4 a minute may", n)
	}
}

// rate: I16 a turn that is held goes only with its attempt or its time.
func (g *guard) rate(c change) {
	a, b := must(record.DecodeRate(c.after)), must(record.DecodeRate(c.before))
	if b == nil {
		return
	}
	for _, turn := range b.Turns {
		own := g.s.cur.work != nil && g.s.cur.work.attempt() == turn.Attempt
		if !own && !a.Holds(turn.Attempt) && turn.UntilMs > g.s.now.Add(2*largestSkew).UnixMilli() {
			g.bad("I16", "%s has lost its turn at %s", turn.Attempt, a.Name)
		}
	}
}

// answeredBegin: I19 what was begun is begun again the same.
func (g *guard) answeredBegin(v *invocation, out gate.BeginAnswer) {
	run, step := g.runs[v.delivery.Run], g.stepOf(v)
	if run == nil || step == nil || !run.Open() || run.Gen != v.delivery.Gen || step.Nonce != v.attempt() {
		return
	}
	act := g.actionOf(step)
	if act == nil || act.State != record.ActionExecuting || act.Owner != v.attempt() || act.Hash != record.HashOf(v.payload) {
		return
	}
	if act.UntilMs > g.s.now.Add(2*largestSkew).UnixMilli() && out.Claim != gate.ClaimGo {
		g.bad("I19", "%s has begun %s and is answered %s", v.attempt(), act.Entry, out.Claim)
	}
}

// answeredCall: I19 a tool call that was done stays done for its visit, with its output.
func (g *guard) answeredCall(v *invocation, req gate.CallRequest, out gate.CallAnswer) {
	key := fmt.Sprint(v.delivery.Run, "/", v.delivery.Step, v.delivery.Item, v.task.Visit, req.Worker, string(req.Input))
	before, done := g.calls[key]
	if done && (out.Outcome != gate.CallDone || string(out.Output) != before) {
		g.bad("I19", "the call %s was done with %s and is answered %s", key, before, brief(out))
	}
	if out.Outcome == gate.CallDone {
		g.calls[key] = string(out.Output)
	}
}

// handedOver: I19 a settle is answered as it was recorded, and I1e what its
// owner knows is recorded.
func (g *guard) handedOver(v *invocation, out gate.SettleAnswer) {
	if step := g.stepOf(v); step != nil && step.LastNonce == v.attempt() && !out.Answered {
		g.bad("I19", "%s has settled %s and is not answered", v.attempt(), step.Name)
	}
	for _, r := range v.reports {
		for _, item := range g.s.shadow {
			if item.Sort != "ACT" {
				continue
			}
			act := must(record.DecodeAction(item))
			if act.Entry == r.Entry && act.Owner == v.attempt() && r.Outcome == gate.ActionDone && act.State != record.ActionDone {
				g.bad("I1e", "%s has done %s, it is recorded as %s", v.attempt(), r.Entry, act.State)
			}
		}
	}
}

// acknowledged: I7 nobody waits for what was acknowledged.
func (g *guard) acknowledged(v *invocation) {
	run := g.runs[v.delivery.Run]
	at, waits := g.s.tokens[v.delivery.Token]
	if run == nil || !waits || !run.Open() || run.Gen != v.delivery.Gen || at.run.over() || !isOpen(at) {
		return
	}
	g.bad("I7", "the message of %s is acknowledged, its state waits on", v.m)
}

// isOpen tells whether the engine still waits for a task.
func isOpen(at waiting) bool {
	for _, e := range at.run.x.Open() {
		if task, ok := e.(asl.ScheduleTask); ok && task.Task == at.task {
			return true
		}
	}
	return false
}

// seenTo: I7 a round of the watch without errors leaves nothing that is due.
func (g *guard) seenTo() {
	late := g.s.now.Add(-time.Minute)
	for key, item := range g.s.shadow {
		if item.Due == nil {
			continue
		}
		stamp, _, _ := strings.Cut(item.Due.Sort, "#")
		at, err := time.Parse("2006-01-02T15:04:05.000Z", stamp)
		if err != nil || at.After(late) {
			continue
		}
		switch key.Sort {
		case "APPROVAL":
			if ap := must(record.DecodeApproval(item)); ap.Decided() && ap.Token != "" {
				g.bad("I7", "the decision on %s is not delivered by the watch", ap.Step)
			}
		case "EXC":
			g.bad("I7", "the answer to %s is not delivered by the watch", must(record.DecodeException(item)).Step)
		case "ACT":
			if act := must(record.DecodeAction(item)); act.State == record.ActionExecuting {
				g.bad("I7", "%s is past its limit and executing after a round of the watch", act.Entry)
			}
		}
	}
}

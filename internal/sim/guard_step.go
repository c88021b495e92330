package sim

import (
	"strings"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// step looks at a step's record before and after a write.
func (g *guard) step(c change, w *written) {
	a := must(record.DecodeStep(c.after))
	run := g.runs[a.Run]
	b := must(record.DecodeStep(c.before))
	if b == nil {
		b = &record.Step{Visit: 1}
	}
	if a.Fence < b.Fence || a.Visit < b.Visit {
		g.bad("I4", "fence or visit of %s went back", a.Name)
	}
	if run.Status.Closed() && a.State != b.State && a.State != outerloop.StepRunning {
		g.bad("I3", "%s became %s in a closed run", a.Name, a.State)
	}
	g.answer(b, a, w)
	if a.State == outerloop.StepSettled && b.State != a.State {
		g.settled(a, run, w)
	}
	if a.State == outerloop.StepRunning {
		g.claimed(b, a)
	}
	if g.op == "rule" && a.State == outerloop.StepOpen && run.Status == outerloop.StatusBlocked && g.undecided(a) {
		g.bad("I10", "the run halts at %s while its action is open", a.Name)
	}
}

// answer: I2 a settled answer stays, but for a new visit, which keeps it.
func (g *guard) answer(b, a *record.Step, w *written) {
	if b.State != outerloop.StepSettled {
		return
	}
	same := a.State == b.State && a.Outcome == b.Outcome && a.Output.Hash == b.Output.Hash && a.Visit == b.Visit
	if !same && !(a.Visit == b.Visit+1 && w.has("VISIT#"+string(a.Address)+"#")) {
		g.bad("I2", "the settled answer of %s changed from %s %s to %s %s", a.Name, b.State, b.Outcome, a.State, a.Outcome)
	}
}

// settled: I3b the run is open; I8 and I10 the step's action is decided.
func (g *guard) settled(a *record.Step, run *record.Run, w *written) {
	if !run.Open() && !w.touched[run.ID] {
		g.bad("I3b", "%s is settled while its run is %s, cancelling %t", a.Name, run.Status, run.Cancelling)
	}
	if cur := g.s.cur; cur != nil && cur.run == run.ID && cur.gen != run.Gen && !w.touched[run.ID] {
		g.bad("I3b", "%s is settled by generation %d of %d", a.Name, cur.gen, run.Gen)
	}
	if a.Block == nil && a.Outcome == outerloop.OutcomeFailed {
		g.bad("I2", "%s is settled as failed: the machine goes on without its rule", a.Name)
	}
	if act := g.actionOf(a); act != nil {
		switch {
		case a.Outcome == outerloop.OutcomeCompleted && act.State != record.ActionDone:
			g.bad("I8", "%s is completed, its action is %s", a.Name, act.State)
		case a.Outcome != outerloop.OutcomeCompleted && g.undecided(a):
			g.bad("I10", "%s is %s while its action is %s", a.Name, a.Outcome, act.State)
		}
	}
	if a.Exception != "" {
		if exc := must(record.DecodeException(g.s.shadow[record.ExceptionKey(a.Exception)])); exc != nil && !exc.Resolved() {
			g.bad("I15", "%s is settled, its exception %s is open", a.Name, exc.ID)
		}
	}
}

// actionOf is the action that a step of this run began, if it did.
func (g *guard) actionOf(a *record.Step) *record.Action {
	if a.Entry == "" || strings.HasSuffix(string(a.Address), ".review") {
		return nil
	}
	act := must(record.DecodeAction(g.s.shadow[record.ActionKey(g.runs[a.Run].Loop, a.Entry)]))
	if act == nil || act.Run != a.Run || act.Address != a.Address {
		return nil
	}
	return act
}

func (g *guard) undecided(a *record.Step) bool {
	act := g.actionOf(a)
	return act != nil && (act.State == record.ActionExecuting || act.State == record.ActionUnknown)
}

// claimed: I4, I9, I12 how a step came to be running.
func (g *guard) claimed(b, a *record.Step) {
	if b.State == outerloop.StepRunning && b.Nonce == a.Nonce && b.Fence == a.Fence {
		return // a heartbeat, or its action's extension
	}
	switch {
	case a.Fence == b.Fence:
		g.bad("I4", "%s was claimed by %s without a new fence", a.Name, a.Nonce)
	case b.State == outerloop.StepSettled && a.Visit == b.Visit:
		g.bad("I2", "%s was claimed although it is settled", a.Name)
	case b.State == outerloop.StepRunning && b.Nonce != a.Nonce && b.LeaseMs > g.s.now.Add(2*largestSkew).UnixMilli():
		g.bad("I4", "%s was claimed by %s while %s is alive", a.Name, a.Nonce, b.Nonce)
	case b.LastNonce != "" && a.Nonce == b.LastNonce:
		g.bad("I12", "%s was claimed by %s, which has settled it", a.Name, a.Nonce)
	case b.GaveUp != nil && b.Gen == a.Gen && b.Backup == a.Backup && b.Visit == a.Visit:
		g.bad("I9", "%s was claimed by %s although its tries are used up", a.Name, a.Nonce)
	}
	if b.State == outerloop.StepParked {
		ap := must(record.DecodeApproval(g.s.shadow[record.ApprovalKey(b.Approval)]))
		heard := ap != nil && ap.Address != b.Address && ap.Decided() // the request of its tool call: it hears the answer
		if ap == nil || ap.Decision != record.DecisionApproved && !heard {
			g.bad("I5", "%s was claimed although nobody has approved it", a.Name)
		}
	}
}

// late notes what an old attempt hands over.
func (g *guard) late(item *store.Item) {
	_ = item
	if g.op != "settle" || g.s.cur.work == nil {
		return
	}
	d := g.s.cur.work.delivery
	for key, stored := range g.s.shadow {
		if key.Part == "RUN#"+d.Run && strings.HasPrefix(key.Sort, "STEP#") {
			step := must(record.DecodeStep(stored))
			if step.Path == d.Step && step.Item == d.Item && step.State == outerloop.StepSettled && (step.Outcome == outerloop.OutcomeSkipped || step.Outcome == outerloop.OutcomeSubstituted) {
				g.s.saw("rule ran, old worker settles")
			}
		}
	}
}

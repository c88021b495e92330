package sim

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/gate"
)

// action: I1c, I1d, I1e, I4 an entry of the action log before and after a write.
func (g *guard) action(c change) {
	a := must(record.DecodeAction(c.after))
	b := must(record.DecodeAction(c.before))
	if b != nil {
		switch {
		case b.State == record.ActionDone && a.State != record.ActionDone:
			g.bad("I1e", "%s left done", a.Entry)
		case a.Hash != b.Hash:
			g.bad("I1c", "%s was begun with two payloads", a.Entry)
		case b.State == record.ActionExecuting && a.State == record.ActionExecuting && a.Owner != b.Owner:
			g.bad("I1d", "%s began %s, which %s is executing", a.Owner, a.Entry, b.Owner)
		case a.Owner != b.Owner && a.Fence == b.Fence:
			g.bad("I1d", "%s passed from %s to %s without a begin", a.Entry, b.Owner, a.Owner)
		case a.Fence < b.Fence:
			g.bad("I4", "the fence of %s went back", a.Entry)
		}
	}
	if a.State == record.ActionExecuting && (b == nil || a.Fence > b.Fence) {
		g.begun(a)
	}
}

// begun: I3c, I5, I14 what a begin demands.
func (g *guard) begun(a *record.Action) {
	run := g.runs[a.Run]
	step := must(record.DecodeStep(g.s.shadow[record.StepKey(a.Run, a.Address)]))
	switch {
	case step == nil || step.State != outerloop.StepRunning || step.Nonce != a.Owner:
		g.bad("I3c", "%s began %s and does not own its step", a.Owner, a.Entry)
		return
	case !run.Open():
		g.bad("I3c", "%s was begun while run %s is %s, cancelling %t", a.Entry, run.ID, run.Status, run.Cancelling)
	case step.Gen != run.Gen:
		g.bad("I3c", "%s was begun by generation %d of %d", a.Entry, step.Gen, run.Gen)
	case step.LeaseMs+1 < a.UntilMs-grace.Milliseconds():
		g.bad("I3c", "%s may execute until after its lease", a.Entry)
	}
	if step.Approval != "" {
		ap := must(record.DecodeApproval(g.s.shadow[record.ApprovalKey(step.Approval)]))
		if ap == nil || ap.Decision != record.DecisionApproved || ap.Hash != a.Hash {
			g.bad("I5", "%s was begun, its approval does not stand or is of another payload", a.Entry)
		}
	}
	if step.Resource != "" {
		g.alone(a, step)
	}
}

// alone: I14 nobody else acts on the resource.
func (g *guard) alone(a *record.Action, step *record.Step) {
	for key, item := range g.s.shadow {
		if !strings.HasPrefix(key.Part, "ACT#") {
			continue
		}
		other := must(record.DecodeAction(item))
		if other.State != record.ActionExecuting || other.Entry == a.Entry && other.Loop == a.Loop || g.s.now.After(time.UnixMilli(other.UntilMs).Add(largestSkew-grace)) {
			continue
		}
		owner := must(record.DecodeStep(g.s.shadow[record.StepKey(other.Run, other.Address)]))
		if owner != nil && owner.Resource == step.Resource {
			g.bad("I14", "%s and %s act on %s at once", a.Entry, other.Entry, step.Resource)
		}
	}
}

// closedActing: I10 a cancelled run is closed only when nothing is executing.
func (g *guard) closedActing(run *record.Run) {
	for _, item := range g.s.shadow {
		if item.Sort != "ACT" {
			continue
		}
		act := must(record.DecodeAction(item))
		if act.Run == run.ID && act.State == record.ActionExecuting && act.UntilMs > g.s.now.Add(2*largestSkew).UnixMilli() {
			g.bad("I10", "%s is closed while %s is executing", run.ID, act.Entry)
		}
	}
}

// fact: I21 a step writes a fact as it read it.
func (g *guard) fact(c change) {
	v := g.s.cur.work
	if g.op != "settle" || v == nil || c.before == nil {
		return
	}
	step := g.stepOf(v)
	if read, known := step.Facts[strings.TrimPrefix(c.after.Part, "FACT#")]; known && read != c.before.Version {
		g.bad("I21", "%s wrote a fact that it read at version %d over version %d", step.Name, read, c.before.Version)
	}
}

// granted: I5 a handler with an action runs only after its approval.
func (g *guard) granted(v *invocation) {
	step := g.stepOf(v)
	if step == nil || step.Nonce != v.attempt() || v.task.Action == "" || step.Approval == "" {
		return
	}
	ap := must(record.DecodeApproval(g.s.shadow[record.ApprovalKey(step.Approval)]))
	if ap == nil || ap.Decision != record.DecisionApproved || ap.Hash != record.HashOf(v.task.Input) {
		g.bad("I5", "the handler of %s runs without a standing approval of its input", step.Name)
	}
}

func (g *guard) stepOf(v *invocation) *record.Step {
	for key, item := range g.s.shadow {
		if key.Part == "RUN#"+v.delivery.Run && strings.HasPrefix(key.Sort, "STEP#") {
			if s := must(record.DecodeStep(item)); s.Path == v.delivery.Step && s.Item == v.delivery.Item {
				return s
			}
		}
	}
	return nil
}

// called: I1b, I1c, I5 what stands when the outside is called.
func (g *guard) called(v *invocation, claim gate.BeginAnswer) {
	act := g.entry(claim.ProviderKey)
	switch {
	case act == nil:
		g.bad("I1b", "%s is called and was never begun", claim.Entry)
	case act.State == record.ActionDone || act.State == record.ActionFailed:
		g.bad("I1b", "%s is called although it is recorded as %s", claim.Entry, act.State)
	case act.Owner != v.attempt():
		g.bad("I1b", "%s is called by %s, %s has begun it", claim.Entry, v.attempt(), act.Owner)
	case g.s.now.After(time.UnixMilli(act.UntilMs).Add(largestSkew - grace)):
		g.bad("I1b", "%s is called past the end that was recorded for it", claim.Entry)
	case act.Hash != record.HashOf(v.payload):
		g.bad("I1c", "%s is called with another payload than it was begun with", claim.Entry)
	}
}

// entry is the action of a provider key.
func (g *guard) entry(providerKey string) *record.Action {
	for key, item := range g.s.shadow {
		if strings.HasPrefix(key.Part, "ACT#") {
			if act := must(record.DecodeAction(item)); act.ProviderKey == providerKey {
				return act
			}
		}
	}
	return nil
}

// reused: I1c a recorded result is the one of this payload.
func (g *guard) reused(v *invocation, out gate.BeginAnswer) {
	act := g.entry(out.ProviderKey)
	if act == nil || act.State != record.ActionDone || act.Hash != record.HashOf(v.payload) {
		g.bad("I1c", "%s is answered with the result of another payload", out.Entry)
		return
	}
	var result struct{ ID string }
	if json.Unmarshal(out.Result, &result) == nil && result.ID != "" && g.s.outside.effects[result.ID] == 0 {
		g.bad("I1e", "%s is answered as done, the outside does not know it", out.Entry)
	}
}

// lease: I4, I14 a resource's lease changes hands only when it is free.
func (g *guard) lease(c change) {
	a := must(record.DecodeLease(c.after))
	b := must(record.DecodeLease(c.before))
	if b == nil {
		return
	}
	if a.Fence < b.Fence {
		g.bad("I4", "the fence of %s went back", a.Resource)
	}
	other := a.Run != b.Run || a.Address != b.Address
	if other && a.Fence == b.Fence {
		g.bad("I4", "%s changed hands without a new fence", a.Resource)
	}
	if other && b.UntilMs > g.s.now.Add(2*largestSkew).UnixMilli() {
		g.bad("I14", "%s was taken from %s by %s", a.Resource, b.Step, a.Step)
	}
}

package coordinator_test

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// guard checks every single write against what PROTOCOL promises, on the items
// as they are stored: the transitions of the executable model's invariants.
type guard struct {
	// budget is what the test's own run begins with; a sub-loop's run has its share.
	budget int64
	shares map[string]int64
	broken []string
	m      *memory
}

func watchOver(m *memory, budget int64) *guard {
	g := &guard{m: m, budget: budget, shares: map[string]int64{}}
	m.wrote = g.wrote
	return g
}

func (g *guard) bad(format string, args ...any) {
	g.broken = append(g.broken, fmt.Sprintf(format, args...))
}

func (g *guard) wrote(before, after []*store.Item) {
	for i := range before {
		item := after[i]
		if item == nil && strings.HasPrefix(before[i].Part, "WAITER#") {
			continue // a wait that is over
		}
		if item == nil {
			g.bad("%v was removed", before[i].Key)
			continue
		}
		kind, _, _ := strings.Cut(item.Part, "#")
		switch {
		case item.Sort == "RUN":
			g.run(before[i], item)
		case strings.HasPrefix(item.Sort, "STEP#"):
			g.step(before[i], item, after)
		case kind == "ACT":
			g.action(before[i], item)
		case kind == "APPROVAL":
			g.approval(before[i], item)
		case kind == "LEASE":
			if before[i] != nil && item.Numbers["fence"] < before[i].Numbers["fence"] {
				g.bad("the fence of %s went back", item.Part)
			}
		}
	}
}

// run: I3 a terminal run never changes but by redrive; I6 money is conserved.
func (g *guard) run(before, after *store.Item) {
	a, _ := record.DecodeRun(after)
	sum := a.Numbers[record.RunLeft] + a.Numbers[record.RunSpent]
	for name, n := range a.Numbers {
		if strings.HasPrefix(name, "res.") {
			sum += n
			if a.Status.Closed() {
				g.bad("I6 a reservation leaked at the end of %s", a.ID)
			}
		}
	}
	if before == nil && a.Parent != nil {
		g.shares[a.ID] = sum
	}
	if want, isChild := g.shares[a.ID]; !isChild && sum != g.budget || isChild && sum != want {
		g.bad("I6 money of %s is %d, not %d", a.ID, sum, g.budget)
	}
	if before == nil {
		return
	}
	b, _ := record.DecodeRun(before)
	if b.Status.Closed() && (b.Status != a.Status || b.Gen != a.Gen || fmt.Sprint(b.Numbers) != fmt.Sprint(a.Numbers)) && !(b.Status == outerloop.StatusFailed && a.Gen == b.Gen+1) {
		g.bad("I3 a closed run changed: %s gen %d to %s gen %d", b.Status, b.Gen, a.Status, a.Gen)
	}
	if !b.Status.Closed() && b.Status != a.Status && !b.Status.CanBecome(a.Status) {
		g.bad("R24 %s became %s", b.Status, a.Status)
	}
	if a.Gen < b.Gen {
		g.bad("the generation went back")
	}
}

// runOf is the run of a step as it stands after the write.
func (g *guard) runOf(id string) *record.Run {
	run, _ := record.DecodeRun(g.m.items[record.RunKey(id)])
	return run
}

// step: I2 a settled answer never changes (a new visit archives it in the same
// write), I3 nothing settles in a closed run, I4 fences rise, I8 the blocked run.
func (g *guard) step(before, after *store.Item, all []*store.Item) {
	a, _ := record.DecodeStep(after)
	run := g.runOf(a.Run)
	if before == nil {
		if run.Status.Closed() && a.State != outerloop.StepRunning {
			g.bad("I3 %s became %s in a closed run", a.Name, a.State)
		}
		return
	}
	b, _ := record.DecodeStep(before)
	if b.State == outerloop.StepSettled {
		archived := false
		for _, item := range all {
			archived = archived || item != nil && strings.HasPrefix(item.Sort, "VISIT#"+string(a.Address)+"#")
		}
		same := a.State == b.State && a.Outcome == b.Outcome && a.Output.Hash == b.Output.Hash && a.Visit == b.Visit
		if !same && !(archived && a.Visit == b.Visit+1) {
			g.bad("I2 the settled answer of %s changed", a.Name)
		}
	}
	if a.Fence < b.Fence || a.Visit < b.Visit {
		g.bad("I4 fence or visit of %s went back", a.Name)
	}
	if run.Status.Closed() && a.State != b.State && a.State != outerloop.StepRunning {
		g.bad("I3 %s became %s in a closed run", a.Name, a.State)
	}
	if b.State != outerloop.StepSettled && a.State == outerloop.StepSettled && (!run.Open() || a.Gen > run.Gen) {
		if run.Status != outerloop.StatusBlocked || !inWrite(all, "RUN") {
			g.bad("I3b %s settled while the run is %s", a.Name, run.Status)
		}
	}
	if b.State == outerloop.StepRunning && a.State == outerloop.StepRunning && a.Nonce != b.Nonce && a.Fence == b.Fence {
		g.bad("I4d %s was claimed without a new fence", a.Name)
	}
}

func inWrite(all []*store.Item, sort string) bool {
	for _, item := range all {
		if item != nil && item.Sort == sort {
			return true
		}
	}
	return false
}

// action: I1e done is never left, I1c one payload, fences rise.
func (g *guard) action(before, after *store.Item) {
	if before == nil {
		return
	}
	b, _ := record.DecodeAction(before)
	a, _ := record.DecodeAction(after)
	if b.State == record.ActionDone && a.State != record.ActionDone {
		g.bad("I1e %s left done", a.Entry)
	}
	if a.Hash != b.Hash {
		g.bad("I1c %s was begun with two payloads", a.Entry)
	}
	if b.State == record.ActionExecuting && a.State == record.ActionExecuting && a.Owner != b.Owner {
		g.bad("I1d a begin displaced another owner's executing %s", a.Entry)
	}
	if a.Fence < b.Fence {
		g.bad("the fence of %s went back", a.Entry)
	}
}

// approval: I5c a decision is final, and so is what was approved.
func (g *guard) approval(before, after *store.Item) {
	if before == nil {
		return
	}
	b, _ := record.DecodeApproval(before)
	a, _ := record.DecodeApproval(after)
	if b.Decided() && (a.Decision != b.Decision || a.Hash != b.Hash || a.By != b.By) {
		g.bad("I5c a decision changed: %s by %s to %s by %s", b.Decision, b.By, a.Decision, a.By)
	}
	if !b.Decided() && a.Decided() && g.runOf(a.Run).Status.Closed() {
		g.bad("I3a a decision was recorded on a closed run")
	}
}

// settledAll: what the run's end promises of its steps.
func (g *guard) settledAll(id string) {
	run := g.runOf(id)
	if run.Status != outerloop.StatusCompleted {
		return
	}
	for key, item := range g.m.items {
		if key.Part == "RUN#"+id && strings.HasPrefix(key.Sort, "STEP#") {
			if s, _ := record.DecodeStep(item); s.State != outerloop.StepSettled {
				raw, _ := json.Marshal(s)
				g.bad("I8 completed with %s %s: %s", s.Name, s.State, raw)
			}
		}
	}
}

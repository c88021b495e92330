package asl

import (
	"cmp"
	"slices"

	"github.com/outerloop-dev/outerloop/pkg/asl/internal/rawjson"
)

// fork runs a Parallel state.
func (t *transition) fork(f *flow) {
	_, input, bad := t.effectiveInput(f)
	if bad != nil {
		t.fail(f, *bad)
		return
	}
	n := len(f.state.branches)
	g := &group{Total: n, Next: n}
	f.Group = g
	t.record(f, startedType(typeParallel), nil)
	for i, b := range f.state.branches {
		branch := &flow{parent: f, Index: i, Last: f.Last, Input: input}
		g.Flows = append(g.Flows, branch)
		t.later(branch, func(t *transition, branch *flow) { t.enter(branch, b.start, branch.Input) })
	}
}

// branchDone takes the output of a branch or iteration.
func (t *transition) branchDone(branch *flow, output []byte) {
	f := branch.parent
	g := f.Group
	g.remove(branch)
	f.Last = branch.Last
	if f.state.kind == typeMap {
		t.record(f, historyIterationSucceeded, iteration(f, branch.Index))
	}
	g.put(branch.Index, output)
	t.advance(f)
}

// advance goes on with a group of which something ended.
func (t *transition) advance(f *flow) {
	g := f.Group
	switch {
	case t.overflow:
	case g.Done == g.Total && f.state.kind == typeMap:
		t.joinMap(f)
	case g.Done == g.Total:
		t.join(f, f.Last)
	case f.state.kind == typeMap:
		t.startIterations(f)
	}
}

// put notes the output of a part.
func (g *group) put(index int, output []byte) {
	g.Outputs = append(g.Outputs, partOutput{index, output})
	g.Done++
}

// result is the array of the outputs there are, in the order of the parts.
func (g *group) result() []byte {
	slices.SortFunc(g.Outputs, func(a, b partOutput) int { return cmp.Compare(a.Index, b.Index) })
	parts := make([][]byte, len(g.Outputs))
	for i, o := range g.Outputs {
		parts[i] = o.Value
	}
	return rawjson.Join(parts)
}

// join ends a group whose parts all ended, last with the given event.
func (t *transition) join(f *flow, previous int64) {
	output := f.Group.result()
	t.aside(previous, succeededType(f.state.kind), nil)
	f.Group = nil
	if oversized(output) {
		t.fail(f, t.tooLarge(f.state.name))
		return
	}
	t.finish(f, output)
}

func (g *group) remove(branch *flow) {
	branch.gone = true
	if i := slices.Index(g.Flows, branch); i >= 0 {
		g.Flows = slices.Delete(g.Flows, i, i+1)
	}
}

// branchFailed takes the failure of a branch or iteration.
func (t *transition) branchFailed(branch *flow, ft fault) {
	f := branch.parent
	g := f.Group
	g.remove(branch)
	f.Last = branch.Last
	if branch.state.kind == typeTask {
		t.aside(f.Last, abortedType(typeTask), nil)
	}
	if f.state.kind == typeMap {
		t.aside(f.Last, historyIterationFailed, iteration(f, branch.Index))
		if g.tolerates(g.Failed + 1) {
			g.Failed++
			g.Done++
			t.advance(f)
			return
		}
	}
	t.abandonGroup(f, true)
	t.fail(f, ft)
}

// iteration is the details of a Map iteration's events.
func iteration(f *flow, index int) *HistoryDetails {
	return &HistoryDetails{Name: f.state.name, Index: &index}
}

// abandonGroup stops all that runs in a flow's group.
func (t *transition) abandonGroup(f *flow, record bool) {
	g := f.Group
	if g == nil {
		return
	}
	for _, branch := range g.Flows {
		t.abandon(branch, record)
		if record && f.state.kind == typeMap {
			t.aside(branch.Last, historyIterationAborted, iteration(f, branch.Index))
		}
	}
	g.Flows = nil
	for _, c := range g.Children {
		delete(t.x.children, c.ID)
		t.emit(StopChild{c.ID})
	}
	g.Children = nil
	if record && g.MapRun != "" {
		t.aside(f.Last, historyMapRunAborted, nil)
	}
}

// abandon stops a flow and all within it.
func (t *transition) abandon(f *flow, record bool) {
	if f == nil || f.gone {
		return
	}
	f.gone = true
	if f.state == nil { // about to begin
		return
	}
	t.abandonGroup(f, record)
	waits := f.Group != nil
	f.Group = nil
	if f.Task != nil {
		waits = true
		delete(t.x.tasks, f.Task.ID)
		t.emit(CancelTask{f.Task.ID})
		f.Task = nil
	}
	if f.Timer != nil {
		waits = true
		delete(t.x.timers, f.Timer.ID)
		t.emit(CancelTimer{f.Timer.ID})
		f.Timer = nil
	}
	if waits && record {
		t.aside(f.Last, abortedType(f.state.kind), nil)
	}
}

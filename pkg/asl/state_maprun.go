package asl

import (
	"fmt"
	"slices"
	"strings"
)

// childEnd is how a child execution ended.
type childEnd struct {
	id     ChildID
	status Status
	output []byte
}

// startMapRun begins the Map Run of a distributed Map.
func (t *transition) startMapRun(f *flow) {
	label := f.state.mapping.label
	if label == "" {
		label = strings.ReplaceAll(t.random.uuid(), "-", "")[:8]
	}
	arn := strings.Replace(t.x.data.Start.MachineID, ":stateMachine:", ":mapRun:", 1)
	f.Group.MapRun = fmt.Sprintf("%s/%s:%s", arn, label, t.random.uuid())
	t.record(f, historyMapRunStarted, &HistoryDetails{MapRun: f.Group.MapRun})
}

// startChild asks for the child execution of one item or batch.
func (t *transition) startChild(f *flow, index int, input []byte) {
	c := openChild{ID: ChildID(t.nextID()), Index: index, Input: input}
	f.Group.Children = append(f.Group.Children, c)
	t.x.children[c.ID] = f
	t.emit(t.x.childEffect(f, c))
}

func (x *Execution) childEffect(f *flow, c openChild) StartChild {
	return StartChild{
		Child: c.ID, State: f.state.name, Machine: x.machine.processors[f.state.name],
		Input: c.Input, Index: c.Index, MapRun: f.Group.MapRun,
	}
}

// childEnded takes the end of a child execution.
func (t *transition) childEnded(f *flow, end childEnd) {
	g := f.Group
	i := slices.IndexFunc(g.Children, func(c openChild) bool { return c.ID == end.id })
	index := g.Children[i].Index
	g.Children = slices.Delete(g.Children, i, i+1)
	delete(t.x.children, end.id)
	if end.status == Succeeded {
		g.put(index, end.output)
	} else {
		g.Done++
		g.Failed++
		if !g.tolerates(g.Failed) {
			t.failMapRun(f)
			return
		}
	}
	if g.Done == g.Total {
		t.joinMap(f)
		return
	}
	t.startIterations(f)
}

// failMapRun ends a Map whose children failed too often.
func (t *transition) failMapRun(f *flow) {
	f.Group.MapRun = ""
	t.abandonGroup(f, true)
	name, cause := errThreshold, "The specified tolerated failure threshold was exceeded"
	ft := fault{Name: &name, Cause: &cause}
	t.failAfter(f, t.aside(f.Last, historyMapRunFailed, &HistoryDetails{Error: ft.Name, Cause: ft.Cause}), ft)
}

// joinMap ends a Map of which everything ended.
func (t *transition) joinMap(f *flow) {
	previous := f.Last
	if f.state.mapping.distributed {
		previous = t.aside(previous, historyMapRunSucceeded, nil)
	}
	if !t.overflow {
		t.join(f, previous)
	}
}

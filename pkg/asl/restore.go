package asl

import (
	"encoding/json"
	"fmt"

	"github.com/outerloop-dev/outerloop/pkg/asl/internal/rawjson"
)

// Snapshot returns the execution as JSON, to continue with Restore. Executions
// that went through the same events have the same snapshot. Its layout is the
// package's own and may only grow. The error is always nil.
func (x *Execution) Snapshot() ([]byte, error) {
	w := objectWriter{b: make([]byte, 0, 1024)}
	x.data.write(&w)
	return w.b, nil
}

// ownDepth is how deeply our own records nest: data, and the states around it.
const ownDepth = 8 * rawjson.MaxDepth

// Restore returns the execution of a snapshot. The machine must be that of the
// execution. Errors are ErrSnapshot.
func Restore(m *Machine, data []byte) (*Execution, error) {
	x := New(m)
	// Snapshots are in canonical form but for what a store may have done to
	// their white space and escapes.
	text, err := rawjson.NormalizeWithin(data, ownDepth)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSnapshot, err)
	}
	if err := json.Unmarshal(text, &x.data); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSnapshot, err)
	}
	if f := x.data.Flow; f != nil {
		if err := x.link(f, m.block); err != nil {
			return nil, err
		}
	}
	return x, nil
}

// link makes a restored flow and all within it point to each other again.
func (x *Execution) link(f *flow, b *block) error {
	if f.state = b.state(f.State); f.state == nil {
		return fmt.Errorf("%w: no state %q", ErrSnapshot, f.State)
	}
	s := f.state
	switch {
	case f.Task != nil && s.task == nil, f.Group != nil && len(s.blocks()) == 0,
		f.Used != nil && len(f.Used) != len(s.retry):
		return fmt.Errorf("%w: state %q is not what it was", ErrSnapshot, f.State)
	}
	if f.Task != nil {
		x.tasks[f.Task.ID] = f
	}
	if f.Timer != nil {
		x.timers[f.Timer.ID] = f
	}
	g := f.Group
	if g == nil {
		return nil
	}
	for _, c := range g.Children {
		x.children[c.ID] = f
	}
	for _, branch := range g.Flows {
		branch.parent = f
		inner := s.blocks()[0]
		if s.kind == typeParallel {
			if branch.Index >= len(s.branches) || branch.Index < 0 {
				return fmt.Errorf("%w: state %q has no branch %d", ErrSnapshot, f.State, branch.Index)
			}
			inner = s.branches[branch.Index]
		}
		if err := x.link(branch, inner); err != nil {
			return err
		}
	}
	return nil
}

// Open returns the effects that ask for all that the execution waits for, in
// the order of their ids: what a driver carries out again after a restart.
func (x *Execution) Open() []Effect {
	var open []Effect
	if x.data.Limit != 0 {
		open = append(open, StartTimer{x.data.Limit, x.data.LimitAt})
	}
	if x.data.Flow != nil {
		x.open(x.data.Flow, &open)
	}
	return sortEffects(open)
}

func (x *Execution) open(f *flow, open *[]Effect) {
	if f.Task != nil {
		*open = append(*open, f.scheduled())
	}
	if f.Timer != nil {
		*open = append(*open, StartTimer{f.Timer.ID, f.Timer.At})
	}
	if f.Group == nil {
		return
	}
	for _, c := range f.Group.Children {
		*open = append(*open, x.childEffect(f, c))
	}
	for _, branch := range f.Group.Flows {
		x.open(branch, open)
	}
}

package drill

import (
	"context"
	"slices"
	"strings"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/loop"
)

// seen is what became of a step, over all its items.
type seen struct {
	steps      []coordinator.StepView
	status     string
	reason     string
	exceptions []coordinator.ExceptionView
	blocked    bool
	// halted counts the blocked runs.
	halted int
}

// look finds a step in the runs of its loop: of its items those that are done
// when nothing is broken.
func (w *world) look(ctx context.Context, p place) (seen, error) {
	var out seen
	c := w.engine.Coordinator()
	runs, err := c.Runs(ctx, coordinator.RunsQuery{Loop: p.loop.Loop.Name, Limit: 100})
	if err != nil {
		return out, err
	}
	for _, run := range runs {
		show, err := c.Show(ctx, run.ID)
		if err != nil {
			return out, err
		}
		out.status, out.reason = string(run.Status), run.Reason
		if run.Status == outerloop.StatusBlocked {
			out.blocked, out.halted = true, out.halted+1
		}
		for _, s := range show.Steps {
			if static(s.Path) == p.node.Path && (w.d.done == nil || w.d.done[p.loop.Loop.Name+" "+s.Path]) {
				out.steps = append(out.steps, s)
			}
		}
		list, err := c.Exceptions(ctx, coordinator.ExceptionsQuery{Run: run.ID})
		if err != nil {
			return out, err
		}
		for _, exc := range list {
			if w.d.done == nil || out.has(exc.Step) {
				out.exceptions = append(out.exceptions, exc)
			}
		}
	}
	return out, nil
}

// has tells whether a step is among those that are looked at.
func (g seen) has(path string) bool {
	return slices.ContainsFunc(g.steps, func(s coordinator.StepView) bool { return s.Path == path })
}

// static is a step's path without the keys of items.
func static(path string) string {
	var b strings.Builder
	depth := 0
	for _, r := range path {
		switch {
		case r == '[':
			depth++
		case r == ']' && depth > 0:
			depth--
		case depth == 0:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// node finds a step of one of the world's loops.
func (w *world) node(name, path string) *loop.Node {
	for _, l := range w.d.loops() {
		if l.Definition.Loop.Name != name {
			continue
		}
		for _, n := range l.Definition.Nodes {
			if n.Path == path {
				return n
			}
		}
	}
	return nil
}

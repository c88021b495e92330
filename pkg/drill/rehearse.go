package drill

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/loop"
)

const (
	// rehearsals bounds the runs that look for values which go through, variants
	// those tried for one worker.
	rehearsals = 30
	variants   = 6
)

// rehearse looks for values that bring as much of the loop as possible through,
// with nothing broken: what does not go through is given another value.
func (d *driller) rehearse(ctx context.Context) error {
	d.report.Steps = len(d.places())
	best := survey{script: script{}}
	tried := map[string]uint64{}
	next := best.script
	var last error
	for range rehearsals {
		got, err := d.survey(ctx, next)
		if err != nil && !errors.Is(err, ErrUnreached) && !errors.Is(err, coordinator.ErrInput) {
			return fmt.Errorf("rehearsing: %w", err)
		}
		last = err
		if got.better(best) || len(best.reached) == 0 {
			best = got
		}
		name, more := best.vary(tried)
		if !more {
			break
		}
		tried[name]++
		next = best.script.with(name, best.script[name]+tried[name])
	}
	d.script, d.reached, d.done = best.script, best.reached, best.items
	d.report.Reached = len(d.reached)
	switch {
	case len(d.reached) == 0:
		return errors.Join(fmt.Errorf("no step of %s is done with values made from the schemas: %w", d.report.Loop, ErrUnreached), last)
	case d.cfg.Step == "":
	case !slices.ContainsFunc(d.reached, func(p place) bool { return p.node.Path == d.cfg.Step }):
		return fmt.Errorf("step %s: %w", d.cfg.Step, ErrUnreached)
	}
	return nil
}

// places are the steps that workers do, in the loops' order.
func (d *driller) places() []place {
	var out []place
	for _, l := range d.loops() {
		for _, n := range l.Definition.Nodes {
			if n.Kind == loop.KindWorker && n.Worker != nil {
				out = append(out, place{l.Definition, n})
			}
		}
	}
	return out
}

// survey is what a script came to.
type survey struct {
	script  script
	reached []place
	items   map[string]bool
	// stuck are the workers whose values did not go through, in the loops' order.
	stuck []string
	done  bool
}

// better prefers more steps, and a run that completes.
func (s survey) better(other survey) bool {
	if s.done != other.done && len(s.reached) == len(other.reached) {
		return s.done
	}
	return len(s.reached) > len(other.reached)
}

// vary picks the worker that is given another value; false: all were tried.
func (s survey) vary(tried map[string]uint64) (string, bool) {
	for _, name := range s.stuck {
		if tried[name] < variants {
			return name, true
		}
	}
	return "", false
}

// survey runs a script in a world of its own.
func (d *driller) survey(ctx context.Context, s script) (out survey, err error) {
	out = survey{script: s, stuck: []string{inputName}}
	w, err := d.newWorld(ctx, s, nil)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	if err := w.start(ctx); err != nil {
		return out, err
	}
	if err := w.settle(ctx); err != nil && !errors.Is(err, errRestless) {
		return out, err
	}
	view, err := w.engine.Coordinator().Run(ctx, w.run)
	if err != nil {
		return out, err
	}
	out.done = view.Status == outerloop.StatusCompleted
	out.stuck, out.items = nil, map[string]bool{}
	for _, p := range d.places() {
		got, err := w.look(ctx, p)
		if err != nil {
			return out, err
		}
		for _, s := range got.steps {
			out.items[p.loop.Loop.Name+" "+s.Path] = completed(s)
		}
		if slices.ContainsFunc(got.steps, completed) {
			out.reached = append(out.reached, p)
			continue
		}
		out.stuck = append(out.stuck, blame(p.node)...)
		for _, read := range p.node.Reads {
			out.stuck = append(out.stuck, factName(p.loop.DeclaredFact(read.Fact)))
		}
	}
	if !out.done && len(out.stuck) == 0 { // its output or conditions do not hold
		for _, p := range out.reached {
			out.stuck = append(out.stuck, p.node.Worker.Charter.Worker)
		}
	}
	out.stuck = append(out.stuck, inputName)
	return out, nil
}

func completed(s coordinator.StepView) bool { return s.Outcome == outerloop.OutcomeCompleted }

// blame are the workers whose values may keep a step from being done: its own, its
// reviewer's, those that it reads, and those that its blocks read.
func blame(n *loop.Node) []string {
	var names []string
	if n.Worker != nil {
		names = append(names, n.Worker.Charter.Worker)
	}
	if n.Review != nil && n.Review.Worker != nil {
		names = append(names, n.Review.Worker.Charter.Worker)
	}
	for at := n; at != nil; at = at.Parent {
		for _, need := range at.Needs {
			if need.Node.Worker != nil {
				names = append(names, need.Node.Worker.Charter.Worker)
			}
		}
	}
	return names
}

package project

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/outerloop-dev/outerloop/pkg/loop"
	"github.com/outerloop-dev/outerloop/pkg/source"
)

// link is that one loop starts another, and where that is said.
type link struct {
	to string
	at *source.Node
}

// inOrder sorts loops so that those called as steps come before their callers,
// and those followed by `after` before their followers. In a circle the order
// of names decides.
func (l *loader) inOrder() []string {
	var out []string
	state := map[string]bool{}
	var visit func(name string)
	visit = func(name string) {
		if state[name] || l.read[name] == nil {
			return
		}
		state[name] = true
		for _, called := range l.called(name) {
			visit(called)
		}
		out = append(out, name)
	}
	for _, name := range slices.Sorted(maps.Keys(l.read)) {
		visit(name)
	}
	return out
}

// waves are the loops in order, together those that are called by none of their
// own wave.
func (l *loader) waves() [][]string {
	var out [][]string
	level := map[string]int{}
	for _, name := range l.inOrder() {
		own := 0
		for _, called := range l.called(name) {
			if n, known := level[called]; known {
				own = max(own, n+1)
			}
		}
		level[name] = own
		for len(out) <= own {
			out = append(out, nil)
		}
		out[own] = append(out[own], name)
	}
	return out
}

// called are the loops that must be checked before one: its sub-loops, and
// those it follows.
func (l *loader) called(name string) []string {
	var out []string
	for _, step := range allSteps(l.read[name].Steps) {
		if step.Loop != "" {
			out = append(out, step.Loop)
		}
	}
	for _, t := range l.read[name].Triggers {
		if t.Kind == loop.TriggerAfter {
			out = append(out, t.Name)
		}
	}
	return out
}

// allSteps lists steps and those inside them.
func allSteps(steps []*loop.Step) []*loop.Step {
	var out []*loop.Step
	for _, s := range steps {
		out = append(out, s)
		if s.Each != nil {
			out = append(out, allSteps(s.Each.Steps)...)
		}
		if s.Branches != nil {
			for _, b := range s.Branches.Branches {
				if b.Step != nil {
					out = append(out, allSteps([]*loop.Step{b.Step})...)
				}
				out = append(out, allSteps(b.Steps)...)
			}
		}
		for _, way := range s.Switch {
			out = append(out, allSteps(way.Steps)...)
		}
	}
	return out
}

// links are all ways in which loops start loops: as steps, by `after`, and by events.
func (l *loader) links() map[string][]link {
	out := map[string][]link{}
	emits := map[string][]link{}
	for _, name := range slices.Sorted(maps.Keys(l.read)) {
		for _, s := range allSteps(l.read[name].Steps) {
			if s.Loop != "" {
				out[name] = append(out[name], link{s.Loop, s.Source.Get("loop")})
			}
			if s.Emit != nil {
				emits[s.Emit.Event] = append(emits[s.Emit.Event], link{name, s.Emit.Source})
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(l.read)) {
		for _, t := range l.read[name].Triggers {
			switch t.Kind {
			case loop.TriggerAfter:
				if t.Name != name {
					out[t.Name] = append(out[t.Name], link{name, t.Source})
				}
			case loop.TriggerEvent:
				for _, from := range emits[t.Name] {
					out[from.to] = append(out[from.to], link{name, from.at})
				}
			}
		}
	}
	return out
}

// circles refuses loops that start each other (R11).
func (l *loader) circles() {
	links := l.links()
	done := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(links)) {
		if circle := findCircle(links, name, nil, done); circle != nil {
			first := circle[0]
			names := make([]string, 0, len(circle)+1)
			for _, step := range circle {
				names = append(names, step.to)
			}
			names = append(names, first.to)
			p := first.at.Problem("E208", fmt.Sprintf("These loops start each other without end: %s. Take one of these starts out.", strings.Join(names, " → ")))
			l.problems = append(l.problems, p)
			for _, step := range circle {
				l.project.Loops[step.to] = nil
				done[step.to] = true
			}
		}
	}
}

// findCircle follows links from a loop; it gives the loops of a circle, each
// with the place that starts the next.
func findCircle(links map[string][]link, name string, path []link, done map[string]bool) []link {
	for i, step := range path {
		if step.to == name {
			return path[i:]
		}
	}
	if done[name] {
		return nil
	}
	for _, next := range links[name] {
		if circle := findCircle(links, next.to, append(slices.Clone(path), link{name, next.at}), done); circle != nil {
			return circle
		}
	}
	done[name] = true
	return nil
}

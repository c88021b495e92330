package asl

import (
	"fmt"
	"math"
)

// Bounds says how often things happen at most where the definition leaves it
// open.
type Bounds struct {
	// Items is the most items of a Map, by the name of its state. A
	// distributed Map needs none.
	Items map[string]int
	// Visits is how often an execution (a branch, an iteration) enters a state
	// at most. Each cycle of the machine needs one for at least one of its
	// states.
	Visits map[string]int
}

// EventBound returns how many history events one execution of the machine has
// at most: of the machine itself or of a child execution of a distributed Map,
// whichever may have more. Retries are counted in full. The figure is an upper
// bound, not an estimate of the usual.
//
// A cycle or an inline Map without a bound, or a bound above MaxEvents for a
// standard machine, is a *DefinitionError that names the states (code
// EVENT_BOUND); the figure is then the one that was exceeded, or
// math.MaxInt64.
func (m *Machine) EventBound(b Bounds) (int64, error) {
	c := &bounder{bounds: b}
	most := c.machine(m, "/")
	if c.found == nil {
		return most, nil
	}
	return most, &DefinitionError{Diagnostics: c.found}
}

type bounder struct {
	bounds Bounds
	found  []Diagnostic
}

const unbounded = math.MaxInt64

func (c *bounder) report(path, format string, args ...any) {
	c.found = append(c.found, Diagnostic{Code: codeBound, Message: fmt.Sprintf(format, args...), Path: path})
}

// machine bounds one machine and those of its distributed Maps.
func (c *bounder) machine(m *Machine, path string) int64 {
	before := len(c.found)
	most := plus(2, c.block(m.block))
	if m.kind == Standard && most > MaxEvents && len(c.found) == before {
		c.report(path, "One execution may have %d events, at most %d are allowed", most, MaxEvents)
	}
	m.block.eachState(func(s *state) {
		if p := m.processors[s.name]; p != nil && s.mapping.distributed {
			most = max(most, c.machine(p, s.path))
		}
	})
	return most
}

// eachState calls fn for the states of a block and of the blocks within that
// belong to the same execution.
func (b *block) eachState(fn func(*state)) {
	for _, s := range b.states {
		fn(s)
		if s.mapping != nil && s.mapping.distributed {
			continue
		}
		for _, inner := range s.blocks() {
			inner.eachState(fn)
		}
	}
}

// block bounds one run through a block: the longest way from its start.
func (c *bounder) block(b *block) int64 {
	g := graph{weight: map[*state]int64{}, visits: c.bounds.Visits}
	for _, s := range b.states {
		g.weight[s] = c.state(s)
	}
	most, cycle := g.longest(b.states)
	if cycle != nil {
		c.report(cycle.path, "A cycle through state %q has no bound", cycle.name)
	}
	return most
}

// groupEnd are the events at the end of a Map or Parallel: that it succeeded, and
// that its state failed all the same, over its result.
const groupEnd = 2

// state bounds one visit of a state.
func (c *bounder) state(s *state) int64 {
	attempts := int64(1)
	for _, r := range s.retry {
		attempts = plus(attempts, r.maxAttempts)
	}
	switch s.kind {
	case typeFail:
		return 1
	case typeTask:
		each := int64(3)
		if s.task.resource.Pattern != RequestResponse {
			each = 4
		}
		return plus(2, times(attempts, each))
	case typeParallel:
		each := int64(1 + groupEnd)
		for _, inner := range s.branches {
			each = plus(each, c.block(inner))
		}
		return plus(2, times(attempts, each))
	case typeMap:
		return plus(2, times(attempts, plus(groupEnd, c.mapEvents(s))))
	}
	return 2
}

func (c *bounder) mapEvents(s *state) int64 {
	if s.mapping.distributed {
		return 3
	}
	items, ok := c.bounds.Items[s.name]
	if !ok {
		c.report(s.path, "Map %q has no bound of its items", s.name)
		return unbounded
	}
	return plus(1, times(int64(items), plus(2, c.block(s.mapping.body))))
}

func plus(a, b int64) int64 {
	if a > unbounded-b {
		return unbounded
	}
	return a + b
}

func times(a, b int64) int64 {
	if a == 0 || b == 0 {
		return 0
	}
	if a > unbounded/b {
		return unbounded
	}
	return a * b
}

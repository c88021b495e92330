package loop

import (
	"fmt"
	"slices"
	"strings"

	"github.com/outerloop-dev/outerloop/pkg/source"
)

// siblingsBefore are the nodes of the body that n, or anything in it, waits for.
func (c *checker) siblingsBefore(b *Body, n *Node) []*Node {
	var out []*Node
	c.eachBelow(n, func(inner *Node) {
		for _, d := range c.depends[inner] {
			if other := ancestorIn(b, d.Node); other != nil && other != n {
				out = appendNew(out, other)
			}
		}
	})
	return out
}

// findCycle gives the nodes of a cycle in order, or nil.
func (c *checker) findCycle(b *Body) []*Node {
	const visiting, done = 1, 2
	state := map[*Node]int{}
	var path, cycle []*Node
	var visit func(n *Node)
	visit = func(n *Node) {
		state[n] = visiting
		path = append(path, n)
		for _, before := range c.before[n] {
			if cycle != nil {
				return
			}
			switch state[before] {
			case visiting:
				cycle = slices.Clone(path[slices.Index(path, before):])
			case 0:
				visit(before)
			}
		}
		path = path[:len(path)-1]
		state[n] = done
	}
	for _, n := range b.Nodes {
		if state[n] == 0 && cycle == nil {
			visit(n)
		}
	}
	return cycle
}

func (c *checker) reportCycle(cycle []*Node) {
	names := make([]string, len(cycle)+1)
	for i, n := range cycle {
		names[i] = n.Name
	}
	names[len(cycle)] = cycle[0].Name
	var see *source.Node
	if len(cycle) > 1 {
		see = c.labelOf(cycle[1])
	}
	c.faultSee(c.labelOf(cycle[0]), see, "E201", fmt.Sprintf("These steps wait for each other: %s. Let one of them do without the other's output, or make two steps of it.", strings.Join(names, " → ")))
}

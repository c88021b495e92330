package loop

import (
	"slices"

	"github.com/outerloop-dev/outerloop/pkg/charter"
)

// order sorts every body by its dependencies, finds cycles and plans how the steps run.
func (c *checker) order() {
	c.orderBody(c.def.Body)
	c.eachNode(c.def.Body, func(n *Node) {
		if n.Body != nil {
			c.orderBody(n.Body)
		}
	})
}

func (c *checker) orderBody(b *Body) {
	for _, n := range b.Nodes {
		c.before[n] = c.siblingsBefore(b, n)
	}
	if cycle := c.findCycle(b); cycle != nil {
		c.reportCycle(cycle)
		for _, n := range b.Nodes {
			c.before[n] = nil
		}
	}
	b.Nodes = c.sorted(b.Nodes)
	b.Plan = c.plan(b.Nodes)
}

// sorted orders nodes so that each comes after those it waits for; among those
// that may come next, the first in the file does.
func (c *checker) sorted(nodes []*Node) []*Node {
	out := make([]*Node, 0, len(nodes))
	done := map[*Node]bool{}
	for len(out) < len(nodes) {
		for _, n := range nodes {
			if !done[n] && !slices.ContainsFunc(c.before[n], func(b *Node) bool { return !done[b] }) {
				done[n] = true
				out = append(out, n)
				break
			}
		}
	}
	return out
}

// plan finds the series-parallel structure of nodes that are sorted.
func (c *checker) plan(nodes []*Node) *Plan {
	if len(nodes) == 0 {
		return nil
	}
	p := planner{reach: c.reach(nodes)}
	return p.split(nodes)
}

// reach is for each node everything that must be done before it, at whatever distance.
func (c *checker) reach(nodes []*Node) map[*Node]map[*Node]bool {
	out := map[*Node]map[*Node]bool{}
	for _, n := range nodes {
		all := map[*Node]bool{}
		for _, before := range c.before[n] {
			all[before] = true
			for far := range out[before] {
				all[far] = true
			}
		}
		out[n] = all
	}
	return out
}

type planner struct {
	reach map[*Node]map[*Node]bool
}

func (p planner) ordered(a, b *Node) bool { return p.reach[a][b] || p.reach[b][a] }

// split divides nodes into parts that have nothing to do with each other
// (parallel), else into parts that all follow each other (sequence), else by levels.
func (p planner) split(nodes []*Node) *Plan {
	if len(nodes) == 1 {
		return &Plan{Node: nodes[0]}
	}
	if parts := components(nodes, p.ordered); len(parts) > 1 {
		return &Plan{Parallel: p.all(parts)}
	}
	apart := func(a, b *Node) bool { return !p.ordered(a, b) }
	if parts := components(nodes, apart); len(parts) > 1 {
		slices.SortStableFunc(parts, func(a, b []*Node) int {
			if p.reach[b[0]][a[0]] {
				return -1
			}
			return 1
		})
		return &Plan{Sequence: p.all(parts)}
	}
	return &Plan{Sequence: p.all(p.levels(nodes)), Levelled: true}
}

func (p planner) all(parts [][]*Node) []*Plan {
	plans := make([]*Plan, len(parts))
	for i, part := range parts {
		plans[i] = p.split(part)
	}
	return plans
}

// components divides nodes into groups connected by a relation, each in the given order.
func components(nodes []*Node, related func(a, b *Node) bool) [][]*Node {
	var out [][]*Node
	seen := make([]bool, len(nodes))
	for i := range nodes {
		if seen[i] {
			continue
		}
		seen[i] = true
		found := []int{i}
		for k := 0; k < len(found); k++ {
			for j := range nodes {
				if !seen[j] && related(nodes[found[k]], nodes[j]) {
					seen[j] = true
					found = append(found, j)
				}
			}
		}
		slices.Sort(found)
		part := make([]*Node, len(found))
		for k, j := range found {
			part[k] = nodes[j]
		}
		out = append(out, part)
	}
	return out
}

// levels groups nodes by the longest way to them.
func (p planner) levels(nodes []*Node) [][]*Node {
	level := map[*Node]int{}
	var out [][]*Node
	for _, n := range nodes {
		for _, other := range nodes {
			if p.reach[n][other] {
				level[n] = max(level[n], level[other]+1)
			}
		}
		if level[n] == len(out) {
			out = append(out, nil)
		}
		out[level[n]] = append(out[level[n]], n)
	}
	return out
}

// decider is the step whose settle can answer for a block that a plan puts
// right after it.
func decider(previous *Plan) *Node {
	if previous == nil || previous.Node == nil {
		return nil
	}
	switch n := previous.Node; n.Kind {
	case KindWorker:
		return n
	default:
		return nil
	}
}

// linkDeciders connects blocks with the steps right before them.
func linkDeciders(p *Plan) {
	if p == nil {
		return
	}
	for i, part := range p.Sequence {
		if i > 0 && part.Node != nil && asks(part.Node) {
			if d := decider(p.Sequence[i-1]); d != nil {
				part.Node.Decider, d.Decides = d, part.Node
			}
		}
	}
	for _, part := range slices.Concat(p.Sequence, p.Parallel) {
		linkDeciders(part)
	}
}

// asks tells whether the machine needs an answer before it enters the node.
func asks(n *Node) bool {
	switch n.Kind {
	case KindEach, KindSwitch, KindRoute:
		return true
	case KindWait:
		return n.Step.Wait.Event == ""
	}
	return false
}

// mode is how a worker's work is dispatched at a node: as its charter says,
// else by queue for agents, in `each` and with a bound on attempts at one time.
func mode(w *Worker, n *Node) charter.Mode {
	c := w.Charter
	switch {
	case c.Dispatch.Mode != "":
		return c.Dispatch.Mode
	case c.Kind == charter.KindAgent, c.Dispatch.AtOnce > 0, n.Depth > 0:
		return charter.ModeQueue
	}
	return charter.ModeDirect
}

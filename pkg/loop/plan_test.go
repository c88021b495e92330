package loop

import (
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

// graphOf draws steps of which each may wait for earlier ones of a hidden order.
func graphOf(t *rapid.T) (*checker, []*Node) {
	count := rapid.IntRange(1, 12).Draw(t, "steps")
	c := newChecker(Surroundings{})
	hidden := make([]*Node, count)
	for i := range hidden {
		hidden[i] = &Node{Name: "s" + strconv.Itoa(i), Kind: KindWorker}
		for j := range i {
			if rapid.IntRange(0, 3).Draw(t, "waits") == 0 {
				c.before[hidden[i]] = append(c.before[hidden[i]], hidden[j])
			}
		}
	}
	return c, rapid.Permutation(hidden).Draw(t, "file")
}

// intervals gives each node the moments at which it begins and ends, when parallel parts take the same moments.
func intervals(p *Plan, from int, out map[*Node][2]int) int {
	switch {
	case p.Node != nil:
		out[p.Node] = [2]int{from, from + 1}
		return from + 1
	case p.Sequence != nil:
		for _, part := range p.Sequence {
			from = intervals(part, from, out)
		}
		return from
	}
	end := from
	for _, part := range p.Parallel {
		end = max(end, intervals(part, from, out))
	}
	return end
}

func levelled(p *Plan) bool {
	return p.Levelled || slices.ContainsFunc(slices.Concat(p.Sequence, p.Parallel), levelled)
}

// ordered tells whether two nodes stand in different parts of one sequence.
func ordered(p *Plan, a, b *Node) bool {
	for _, part := range slices.Concat(p.Sequence, p.Parallel) {
		hasA, hasB := holds(part, a), holds(part, b)
		if hasA && hasB {
			return ordered(part, a, b)
		}
		if hasA || hasB {
			return p.Sequence != nil
		}
	}
	return false
}

func holds(p *Plan, n *Node) bool {
	return p.Node == n || slices.ContainsFunc(slices.Concat(p.Sequence, p.Parallel), func(part *Plan) bool { return holds(part, n) })
}

// R13: a plan runs every step once and after all it waits for; without levels
// it makes no step wait for another that it does not depend on.
func TestPlansKeepTheOrderAndAddNone(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c, nodes := graphOf(t)
		sorted := c.sorted(nodes)
		plan := c.plan(sorted)
		at := map[*Node][2]int{}
		intervals(plan, 0, at)
		if len(at) != len(nodes) {
			t.Fatalf("%d of %d steps are planned", len(at), len(nodes))
		}
		reach := c.reach(sorted)
		for _, n := range nodes {
			for before := range reach[n] {
				if !ordered(plan, before, n) || at[before][1] > at[n][0] {
					t.Errorf("%s does not wait for %s", n.Name, before.Name)
				}
			}
			for _, other := range nodes {
				if n != other && !reach[n][other] && !reach[other][n] && !levelled(plan) && ordered(plan, n, other) {
					t.Errorf("%s and %s have nothing to do with each other, but one waits", n.Name, other.Name)
				}
			}
		}
		again := c.plan(c.sorted(nodes))
		other := map[*Node][2]int{}
		intervals(again, 0, other)
		for n, when := range at {
			if other[n] != when {
				t.Errorf("the plan of %s is not the same twice", n.Name)
			}
		}
	})
}

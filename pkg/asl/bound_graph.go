package asl

// graph is the states of a block with what a visit of each costs.
type graph struct {
	weight map[*state]int64
	visits map[string]int
}

// longest returns the most that a way through these states can cost, and a
// state on a cycle without a bound if there is one.
func (g *graph) longest(states []*state) (int64, *state) {
	in := make(map[*state]bool, len(states))
	for _, s := range states {
		in[s] = true
	}
	groups := (&cycles{in: in}).find(states)
	cost := make(map[*state]int64) // of the best way from a state on
	var most int64
	var open *state
	for _, group := range groups { // what is led to comes first
		weight, cycle := g.group(group)
		if open == nil {
			open = cycle
		}
		var behind int64
		for _, s := range group {
			s.eachTarget(func(_ string, to **state) {
				if *to != nil && in[*to] {
					behind = max(behind, cost[*to])
				}
			})
		}
		total := plus(weight, behind)
		for _, s := range group {
			cost[s] = total
		}
		most = max(most, total)
	}
	return most, open
}

// group returns what states that lead to each other can cost together. With a
// state of a known number of visits taken out, the rest is run through once
// more than it is visited.
func (g *graph) group(group []*state) (int64, *state) {
	if len(group) == 1 && !group[0].leadsTo(group[0]) {
		return g.weight[group[0]], nil
	}
	var rest []*state
	total, visits := int64(0), int64(0)
	for _, s := range group {
		n, ok := g.visits[s.name]
		if !ok {
			rest = append(rest, s)
			continue
		}
		visits = plus(visits, int64(n))
		total = plus(total, times(int64(n), g.weight[s]))
	}
	if len(rest) == len(group) {
		return unbounded, group[0]
	}
	inner, cycle := g.longest(rest)
	return plus(total, times(plus(visits, 1), inner)), cycle
}

func (s *state) leadsTo(other *state) bool {
	leads := false
	s.eachTarget(func(_ string, to **state) { leads = leads || *to == other })
	return leads
}

// cycles finds groups of states that lead to each other (Tarjan's algorithm).
type cycles struct {
	in     map[*state]bool
	number map[*state]int
	low    map[*state]int
	stack  []*state
	held   map[*state]bool
	groups [][]*state
}

// find returns the groups so that a group comes after those it leads to.
func (c *cycles) find(states []*state) [][]*state {
	c.number, c.low, c.held = map[*state]int{}, map[*state]int{}, map[*state]bool{}
	for _, s := range states {
		if c.number[s] == 0 {
			c.visit(s)
		}
	}
	return c.groups
}

func (c *cycles) visit(s *state) {
	n := len(c.number) + 1
	c.number[s], c.low[s] = n, n
	c.stack = append(c.stack, s)
	c.held[s] = true
	s.eachTarget(func(_ string, to **state) {
		next := *to
		switch {
		case next == nil || !c.in[next]:
		case c.number[next] == 0:
			c.visit(next)
			c.low[s] = min(c.low[s], c.low[next])
		case c.held[next]:
			c.low[s] = min(c.low[s], c.number[next])
		}
	})
	if c.low[s] != n {
		return
	}
	for i := len(c.stack) - 1; ; i-- {
		c.held[c.stack[i]] = false
		if c.stack[i] == s {
			c.groups = append(c.groups, append([]*state(nil), c.stack[i:]...))
			c.stack = c.stack[:i]
			return
		}
	}
}

package graph

import (
	"fmt"
	"slices"
	"strings"

	"github.com/outerloop-dev/outerloop/pkg/loop"
)

// fewWaits is how many waits a note names.
const fewWaits = 5

// extraWaits says what levels cost: which step waits for one that it does not need.
func extraWaits(p *loop.Plan) string {
	var waits []string
	for i, level := range p.Sequence[1:] {
		for _, later := range nodesOf(level) {
			for _, before := range nodesOf(p.Sequence[i]) {
				if !leadsTo(later, before, map[*loop.Node]bool{}) {
					waits = append(waits, later.Name+" for "+before.Name)
				}
			}
		}
	}
	more := ""
	if n := len(waits) - fewWaits; n > 0 {
		waits, more = waits[:fewWaits], fmt.Sprintf(" and %d more", n)
	}
	if len(waits) == 0 {
		return ""
	}
	return " It costs time where these take long, since they do not need each other: " + strings.Join(waits, ", ") + more + "."
}

func nodesOf(p *loop.Plan) []*loop.Node {
	if p.Node != nil {
		return []*loop.Node{p.Node}
	}
	var out []*loop.Node
	for _, part := range slices.Concat(p.Sequence, p.Parallel) {
		out = append(out, nodesOf(part)...)
	}
	return out
}

// leadsTo tells whether a step waits for another by itself, also by way of others.
func leadsTo(n, other *loop.Node, seen map[*loop.Node]bool) bool {
	if n == other {
		return true
	}
	if seen[n] {
		return false
	}
	seen[n] = true
	return slices.ContainsFunc(n.Needs, func(d loop.Dependency) bool { return leadsTo(d.Node, other, seen) })
}

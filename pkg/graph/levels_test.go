package graph

import (
	"strings"
	"testing"

	"github.com/outerloop-dev/outerloop/pkg/loop"
)

// A plan by levels says which step waits for which without need (R13, R14).
func TestLevelsSayWhatTheyCost(t *testing.T) {
	t.Parallel()
	a, c := &loop.Node{Name: "a"}, &loop.Node{Name: "c"}
	b := &loop.Node{Name: "b", Needs: []loop.Dependency{{Node: a}}}
	d := &loop.Node{Name: "d", Needs: []loop.Dependency{{Node: a}, {Node: c}}}
	of := func(nodes ...*loop.Node) *loop.Plan {
		p := &loop.Plan{}
		for _, n := range nodes {
			p.Parallel = append(p.Parallel, &loop.Plan{Node: n})
		}
		return p
	}
	drawn := &builder{graph: &Graph{}}
	drawn.notes(&loop.Plan{Levelled: true, Sequence: []*loop.Plan{of(a, c), of(b, d)}})
	if got := strings.Join(drawn.graph.Notes, "\n"); !strings.Contains(got, "a and c; then b and d.") || !strings.HasSuffix(got, "need each other: b for c.") {
		t.Errorf("notes: %s", got)
	}
}

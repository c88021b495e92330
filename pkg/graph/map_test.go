package graph

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/outerloop-dev/outerloop/pkg/loop"
	"github.com/outerloop-dev/outerloop/pkg/project"
)

// R14: the map connects loops by what they share, and says so when nothing does.
func TestMap(t *testing.T) {
	t.Parallel()
	p, _ := project.Open("../project/testdata/base")
	golden(t, "map.mmd", Mermaid(Map("base", p.Loops)))
	golden(t, "map.dot", DOT(Map("base", p.Loops)))
	want := []Feed{{"forms", "good", "step more"}, {"good", "forms", "fact report/latest"}, {"other", "forms", "after"}}
	if diff := cmp.Diff(want, Feeds(p.Loops)); diff != "" {
		t.Errorf("other feeds (-want +got):\n%s", diff)
	}
	alone, _ := project.Open("../..")
	if d := alone.Loops["crm-followup"]; len(Map("alone", map[string]*loop.Definition{"crm-followup": d}).Notes) != 1 {
		t.Error("the map of one loop does not say that nothing has to be coordinated")
	}
}

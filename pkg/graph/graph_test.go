package graph

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/outerloop-dev/outerloop/pkg/project"
)

var update = flag.Bool("update", false, "write the golden pictures anew")

// The pictures and effective rules of S1 and of a loop with every form are what was looked at last.
func TestPicturesAreAsLookedAt(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ root, loop string }{{"../..", "crm-followup"}, {"../project/testdata/base", "forms"}} {
		p, ps := project.Open(test.root)
		d, ok := p.Loop(test.loop)
		if !ok {
			t.Fatalf("%s: %v", test.loop, ps)
		}
		golden(t, test.loop+".mmd", Mermaid(Of(d)))
		golden(t, test.loop+".dot", DOT(Of(d)))
		golden(t, test.loop+".effective.yaml", Effective(d))
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s is another picture (-want +got):\n%s", name, diff)
	}
}

// Every arrow begins and ends at something that is drawn, and names are escaped.
func TestArrowsLeadSomewhere(t *testing.T) {
	t.Parallel()
	p, _ := project.Open("../project/testdata/base")
	for _, name := range p.Names() {
		g := Of(p.Loops[name])
		drawn := map[string]bool{}
		var visit func(b *Block)
		visit = func(b *Block) {
			drawn[b.ID] = true
			for _, v := range b.Vertices {
				if drawn[v.ID] {
					t.Errorf("%s is drawn twice", v.ID)
				}
				drawn[v.ID] = true
			}
			for _, inner := range b.Blocks {
				visit(inner)
			}
		}
		visit(&g.Root)
		for _, e := range g.Edges {
			if !drawn[e.From] || !drawn[e.To] {
				t.Errorf("%s: the arrow %+v leads nowhere", name, e)
			}
		}
		for line := range strings.Lines(Mermaid(g)) {
			if strings.Count(line, `"`)%2 == 1 {
				t.Errorf("a quote is not escaped: %s", line)
			}
		}
	}
}

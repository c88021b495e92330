package compile_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/outerloop-dev/outerloop/pkg/compile"
	"github.com/outerloop-dev/outerloop/pkg/loop"
)

// plainState is what the count needs of a state. Catchers are left out on
// purpose: they are not the way of a run in which nothing fails.
type plainState struct {
	Type, Next, Default string
	Choices             []struct{ Next string }
	Branches            []plainMachine
	ItemProcessor       *plainMachine
}

type plainMachine struct {
	StartAt string
	States  map[string]plainState
}

// way visits every state that a run enters in which nothing fails, whatever the
// cases it takes.
func (m plainMachine) way(visit func(name string, s plainState)) {
	seen := map[string]bool{}
	for open := []string{m.StartAt}; len(open) > 0; open = open[1:] {
		name := open[0]
		s, there := m.States[name]
		if name == "" || seen[name] || !there {
			continue
		}
		seen[name] = true
		visit(name, s)
		open = append(open, s.Next, s.Default)
		for _, c := range s.Choices {
			open = append(open, c.Next)
		}
		for _, inner := range s.Branches {
			inner.way(visit)
		}
		if s.ItemProcessor != nil {
			s.ItemProcessor.way(visit)
		}
	}
}

// beside are the states that are no step: what a block adds (its Parallel, the
// pages of a Map, the coordinator's answer where no step can give it, the cases
// of a route).
var beside = regexp.MustCompile(`^(together: .*|.*\.(pages|page|join|decide)|finish)$`)

// A run of n steps enters n + 1 states; each switch, Parallel, Map, Wait and
// sub-loop adds one. So on the way of a run that goes well every step has one
// state of its own, and everything else is a block's or the end.
func TestStatesOfARun(t *testing.T) {
	t.Parallel()
	for _, def := range samples(t) {
		text, err := compile.Compile(def)
		if err != nil {
			t.Fatal(err)
		}
		var m plainMachine
		if err := json.Unmarshal(text, &m); err != nil {
			t.Fatal(err)
		}
		entered := map[string]int{}
		m.way(func(name string, s plainState) {
			entered[name]++
			if s.Type == "Fail" || strings.HasSuffix(name, ".rule") || strings.HasSuffix(name, ".backup") || strings.HasSuffix(name, ".approval") {
				t.Errorf("%s: a run that goes well enters %s", def.Loop.Name, name)
			}
		})
		for _, n := range def.Nodes {
			checkNode(t, def, n, entered)
		}
		for name := range entered {
			if !beside.MatchString(name) {
				t.Errorf("%s: state %s is neither a step's nor a block's", def.Loop.Name, name)
			}
		}
		if entered["finish"] != 1 {
			t.Errorf("%s: finish stands there %d times", def.Loop.Name, entered["finish"])
		}
	}
}

// checkNode takes the states of one node out of those entered.
func checkNode(t *testing.T, def *loop.Definition, n *loop.Node, entered map[string]int) {
	t.Helper()
	want := map[string]bool{n.Path: true}
	switch n.Kind {
	case loop.KindGroup, loop.KindCase:
		want = nil
	case loop.KindRoute: // a Choice, and a state for each row, of which one is entered
		for name := range entered {
			row, isRow := strings.CutPrefix(name, n.Path+".")
			if isRow && strings.Trim(row, "0123456789") == "" {
				want[name] = true
			}
		}
	}
	if n.Review != nil {
		want[n.Path+".review"] = true
	}
	for name := range want {
		if entered[name] != 1 {
			t.Errorf("%s: state %s stands there %d times, want 1", def.Loop.Name, name, entered[name])
		}
		delete(entered, name)
	}
}

package coordinator

import (
	"math"
	"strings"

	"github.com/outerloop-dev/outerloop/pkg/loop"
)

// order puts decisions of the same moment as the loop has their steps: what one
// write settles and decides has one time.
type order struct {
	def *loop.Definition
	// first and last are the positions of a step, and of the last one inside it.
	first, last map[string]int
}

func newOrder(def *loop.Definition) order {
	return order{def: def, first: map[string]int{}, last: map[string]int{}}
}

// add notes where the step of a name stands.
func (o order) add(name, path string) {
	if _, known := o.first[name]; known {
		return
	}
	n, _, ok := lookup(o.def, path)
	if !ok { // of a tool call: its caller's
		path, _, _ = strings.Cut(path, ".")
		if n, ok = o.def.Node(path); !ok {
			return
		}
	}
	o.first[name], o.last[name] = n.Position, n.Position
	for _, other := range o.def.Nodes[n.Position:] {
		if inside(other, n) {
			o.last[name] = other.Position
		}
	}
}

func inside(n, block *loop.Node) bool {
	for ; n != nil; n = n.Parent {
		if n == block {
			return true
		}
	}
	return false
}

// of is a decision's place among those of its moment: the run's own come first,
// its end last, and a block's join after what is in the block.
func (o order) of(e LogView) int {
	switch {
	case e.Step == "" && (e.Kind == "closed" || e.Kind == "blocked"):
		return math.MaxInt
	case e.Step == "":
		return -1
	case e.Kind == "joined":
		return o.last[e.Step]
	}
	return o.first[e.Step]
}

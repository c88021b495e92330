package coordinator

import (
	"strings"

	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/loop"
)

// reviewSuffix ends the name of a reviewer's own step.
const reviewSuffix = ".review"

// address is a node's place in a run's partition for the items of a machine's
// address. More items than the node lies in are ignored.
func address(n *loop.Node, items []int) record.Address {
	if n.Parent == nil {
		return record.Address(n.Path)
	}
	above := address(n.Parent, items)
	if n.Parent.Kind == loop.KindEach {
		above = above.Item(items[n.Parent.Depth])
	}
	return above.Join(segment(n))
}

// segment is the part of a node's path that its parent's does not have.
func segment(n *loop.Node) string {
	if n.Parent == nil {
		return n.Path
	}
	return strings.TrimPrefix(n.Path, n.Parent.Path+"/")
}

// reviewOf is the address of the reviewer's step beside a step's.
func reviewOf(a record.Address) record.Address { return a + reviewSuffix }

// lookup finds the node of a machine's step path, and whether its reviewer is meant.
func lookup(def *loop.Definition, path string) (n *loop.Node, review, ok bool) {
	if author, found := strings.CutSuffix(path, reviewSuffix); found {
		if n, ok = def.Node(author); ok && n.Review != nil {
			return n, true, true
		}
	}
	if n, ok = undoNode(def, path); ok {
		return n, false, true
	}
	if n, ok = callNode(def, path); ok {
		return n, false, true
	}
	n, ok = def.Node(path)
	return n, false, ok
}

// enclosing lists the `each` blocks around a node, the outermost first.
func enclosing(n *loop.Node) []*loop.Node {
	var out []*loop.Node
	for p := n.Parent; p != nil; p = p.Parent {
		if p.Kind == loop.KindEach {
			out = append([]*loop.Node{p}, out...)
		}
	}
	return out
}

package loop

import (
	"slices"
	"strings"

	"github.com/outerloop-dev/outerloop/pkg/rule"
	"github.com/outerloop-dev/outerloop/pkg/source"
)

// place is where an expression stands: what it sees outward from there.
type place struct {
	// node is the step it belongs to; nil for the loop itself.
	node *Node
	// inside: it sees the direct children of node (an output of a body), not its siblings only.
	inside *Body
}

// visibleSteps are the steps that an expression of a node sees: its own
// siblings, those of its blocks, and the steps of the body it closes. A branch does not see
// the other branches, a case not the other cases.
func (c *checker) visibleSteps(p place) []*Node {
	var out []*Node
	if p.inside != nil {
		out = append(out, p.inside.Nodes...)
	}
	for n := p.node; n != nil; n = n.Parent {
		for _, sibling := range c.siblings(n) {
			if sibling != n {
				out = append(out, sibling)
			}
		}
	}
	return out
}

// siblings are the steps of the body that holds the node; branches and cases have none.
func (c *checker) siblings(n *Node) []*Node {
	switch {
	case n.Parent == nil:
		return c.def.Body.Nodes
	case n.Parent.Body != nil:
		return n.Parent.Body.Nodes
	}
	return nil
}

// visibleItems are the blocks whose items an expression of a node sees.
func visibleItems(p place) []*Node {
	var out []*Node
	first := p.node
	if first != nil && p.inside == nil {
		first = first.Parent
	}
	for n := first; n != nil; n = n.Parent {
		if n.Kind == KindEach && n.Step.Each.As != "" {
			out = append(out, n)
		}
	}
	return out
}

// aboutSteps are the steps whose record an expression sees: the visible ones,
// and those in branches and cases of visible blocks.
func (c *checker) aboutSteps(p place) []*Node {
	var out []*Node
	var add func(n *Node)
	add = func(n *Node) {
		if n.Kind != KindCase {
			out = append(out, n)
		}
		for _, child := range slices.Concat(n.Branches, n.Cases) {
			add(child)
		}
		if n.Body != nil && n.Kind != KindEach {
			for _, child := range n.Body.Nodes {
				add(child)
			}
		}
	}
	for _, n := range c.visibleSteps(p) {
		add(n)
	}
	return out
}

func byName(nodes []*Node, name string) *Node {
	for _, n := range nodes {
		if n.Name == name {
			return n
		}
	}
	return nil
}

// ancestorIn is the node of a body that contains n; nil when none does.
func ancestorIn(b *Body, n *Node) *Node {
	for ; n != nil; n = n.Parent {
		if slices.Contains(b.Nodes, n) {
			return n
		}
	}
	return nil
}

// expression is one CEL expression where it stands.
type expression struct {
	text string
	node *source.Node
	// offset is where the expression begins in the node's text, in bytes.
	offset int
}

// expressionsIn lists the ${ CEL } of a value.
func expressionsIn(v source.Value) []expression {
	if !v.Set() {
		return nil
	}
	var out []expression
	var visit func(n *source.Node)
	visit = func(n *source.Node) {
		for _, pair := range n.Pairs {
			visit(pair.Value)
		}
		for _, item := range n.Items {
			visit(item)
		}
		if n.Kind != source.Text || !strings.Contains(n.Text, "${") {
			return
		}
		parts, _ := rule.ParseTemplate(n.Text)
		for _, part := range parts {
			if part.Expr != "" {
				out = append(out, expression{part.Expr, n, part.Offset})
			}
		}
	}
	visit(v.Node)
	return out
}

func expressionOf(e source.Expr) []expression {
	if !e.Set() {
		return nil
	}
	return []expression{{e.Text, e.Node, 0}}
}

package loop

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/outerloop-dev/outerloop/pkg/source"
)

// reserved are names that steps and items cannot have: the language's own, and CEL's words.
var reserved = map[string]bool{
	"input": true, "facts": true, "run": true, "about": true, "event": true, "output": true, "confidence": true,
	"evidence": true, "unresolved": true, "verdict": true,
	"as": true, "break": true, "const": true, "continue": true, "else": true, "false": true, "for": true,
	"function": true, "if": true, "import": true, "in": true, "let": true, "loop": true, "namespace": true,
	"null": true, "package": true, "return": true, "true": true, "var": true, "void": true, "while": true,
	"default": true, "sum": true, "day": true, "week": true, "month": true, "quarter": true, "next": true, "month_end": true,
	"math": true, "size": true, "has": true, "type": true, "duration": true, "timestamp": true,
}

// buildNodes makes the tree of nodes of the loop's steps, without any rule.
func (c *checker) buildNodes() {
	c.def.Body = c.body(nil, c.loop.Steps)
}

// body makes the nodes of a list of steps, in the order of the file.
func (c *checker) body(owner *Node, steps []*Step) *Body {
	b := &Body{Owner: owner}
	for _, s := range steps {
		if s == nil || s.Kind == "" {
			continue
		}
		b.Nodes = append(b.Nodes, c.stepNode(owner, s))
	}
	return b
}

func (c *checker) stepNode(parent *Node, s *Step) *Node {
	n := &Node{Name: s.Name, Kind: s.Kind, Step: s, Parent: parent, Within: s.Within}
	c.enter(n, s.Name, s.Label)
	switch s.Kind {
	case KindEach:
		c.itemName(n)
		n.Join = &s.Each.Join
		n.Each = &EachRule{As: s.Each.As, MaxItems: s.Each.MaxItems, AtOnce: s.Each.AtOnce}
		n.Body = c.body(n, s.Each.Steps)
	case KindBranches:
		n.Join = &s.Branches.Join
		for _, branch := range s.Branches.Branches {
			if branch := c.branchNode(n, branch); branch != nil {
				n.Branches = append(n.Branches, branch)
			}
		}
	case KindSwitch:
		for i := range s.Switch {
			n.Cases = append(n.Cases, c.caseNode(n, i))
		}
	}
	return n
}

func (c *checker) branchNode(parent *Node, branch Branch) *Node {
	if branch.Step != nil {
		if branch.Step.Kind == "" {
			return nil
		}
		return c.stepNode(parent, branch.Step)
	}
	n := &Node{Name: branch.Name, Kind: KindGroup, Parent: parent}
	c.enter(n, branch.Name, branch.Label)
	c.outputs[n] = branch.Output
	n.Body = c.body(n, branch.Steps)
	return n
}

func (c *checker) caseNode(parent *Node, i int) *Node {
	declared := parent.Step.Switch[i]
	n := &Node{Name: strconv.Itoa(i + 1), Kind: KindCase, Parent: parent}
	n.Path = parent.Path + "/" + n.Name
	n.Depth = depthIn(parent)
	c.outputs[n] = declared.Output
	n.Body = c.body(n, declared.Steps)
	return n
}

// depthIn is the depth of what stands in a node.
func depthIn(parent *Node) int {
	switch {
	case parent == nil:
		return 0
	case parent.Kind == KindEach:
		return parent.Depth + 1
	}
	return parent.Depth
}

// maxBlocks is how deep blocks may nest.
const maxBlocks = 8

// enter gives the node its path and claims its name.
func (c *checker) enter(n *Node, name string, label *source.Node) {
	n.Path = name
	if n.Parent != nil {
		n.Path = n.Parent.Path + "/" + name
	}
	n.Depth = depthIn(n.Parent)
	c.labels[n] = label
	level := 0
	for p := n.Parent; p != nil; p = p.Parent {
		level++
	}
	if level == maxBlocks {
		c.fault(label, "E207", "Blocks nest deeper than %d here. Make a loop of its own of the inner steps, and call it with `loop:`.", maxBlocks)
	}
	c.claim(n, name, label)
}

// claim makes the name known; it must be new in the file.
func (c *checker) claim(n *Node, name string, label *source.Node) {
	if reserved[name] {
		c.fault(label, "E115", "%q has a meaning of its own in rules and cannot name a step. Choose another name, such as %s_step.", name, name)
		return
	}
	if first, taken := c.names[name]; taken {
		c.faultSee(label, first.label, "E203", fmt.Sprintf("The name %q is taken: names are unique in a file, so that a reference means one thing. Rename one of the two.", name))
		return
	}
	c.names[name] = named{node: n, label: label}
}

func (c *checker) itemName(n *Node) {
	as := n.Step.Each.As
	if as == "" {
		return
	}
	label := n.Step.Source.Get("as")
	if reserved[as] {
		c.fault(label, "E115", "%q has a meaning of its own in rules and cannot name an item. Choose another name.", as)
		return
	}
	if first, taken := c.names[as]; taken {
		c.faultSee(label, first.label, "E203", fmt.Sprintf("The name %q is taken: names are unique in a file. Rename one of the two.", as))
		return
	}
	c.names[as] = named{node: n, label: label, item: true}
}

// named is what a name in the file stands for.
type named struct {
	node  *Node
	label *source.Node
	// item: the block's item, not its output.
	item bool
}

// number puts all nodes into the definition's order and fills in positions.
func (c *checker) number() {
	var visit func(b *Body)
	add := func(n *Node) {
		n.Position = len(c.def.Nodes)
		c.def.Nodes = append(c.def.Nodes, n)
		c.def.byPath[n.Path] = n
	}
	var one func(n *Node)
	one = func(n *Node) {
		add(n)
		for _, child := range slices.Concat(n.Branches, n.Cases) {
			one(child)
		}
		if n.Body != nil {
			visit(n.Body)
		}
	}
	visit = func(b *Body) {
		for _, n := range b.Nodes {
			one(n)
		}
	}
	visit(c.def.Body)
}

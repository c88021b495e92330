package loop

import (
	"fmt"
	"slices"
	"strings"

	"github.com/outerloop-dev/outerloop/pkg/rule"
	"github.com/outerloop-dev/outerloop/pkg/schema"
	"github.com/outerloop-dev/outerloop/pkg/source"
)

// findDependencies notes for every node what it waits for. Names that lead
// nowhere are left to the compilation of the rules, but for those of `after`.
func (c *checker) findDependencies() {
	c.eachNode(c.def.Body, func(n *Node) {
		firm, soft := c.ownExpressions(n)
		for _, part := range firm {
			c.readBy(n, part.place, part.expressions, false)
		}
		for _, part := range soft {
			c.readBy(n, part.place, part.expressions, true)
		}
		if n.Step != nil {
			c.standsAfter(n)
		}
	})
}

func (c *checker) eachNode(b *Body, do func(n *Node)) {
	for _, n := range b.Nodes {
		c.eachBelow(n, do)
	}
}

func (c *checker) eachBelow(n *Node, do func(n *Node)) {
	do(n)
	for _, child := range slices.Concat(n.Branches, n.Cases) {
		c.eachBelow(child, do)
	}
	if n.Body != nil {
		c.eachNode(n.Body, do)
	}
}

// reading is expressions and the place from which they see names.
type reading struct {
	place       place
	expressions []expression
}

// ownExpressions are all expressions of a node, without those of the steps in
// it: firm ones, without whose values it does not run, and soft ones.
func (c *checker) ownExpressions(n *Node) (firm, soft []reading) {
	outward := place{node: n}
	if n.Step == nil {
		inside := place{node: n, inside: n.Body}
		firm = append(firm, reading{inside, expressionsIn(c.outputs[n])})
		return firm, nil
	}
	firm = append(firm, reading{outward, stepExpressions(n.Step)})
	if each := n.Step.Each; each != nil {
		firm = append(firm, reading{place{node: n, inside: &Body{}}, expressionsIn(each.Key)},
			reading{place{node: n, inside: n.Body}, expressionsIn(each.Output)})
	}
	if f := n.Step.OnFailure; f != nil {
		late := slices.Concat(expressionsIn(f.Substitute), expressionsIn(f.Say))
		for _, retry := range f.Retry {
			for _, field := range retry.Input {
				late = append(late, expressionsIn(field.Value)...)
			}
		}
		soft = append(soft, reading{outward, late})
	}
	return firm, soft
}

// stepExpressions are the expressions of a step's own keys.
func stepExpressions(s *Step) []expression {
	out := slices.Concat(expressionOf(s.When), expressionsIn(s.Input), expressionsIn(s.Key), expressionsIn(s.Resource))
	for _, read := range s.Reads {
		out = append(out, expressionsIn(read.Fact)...)
	}
	for _, write := range s.Writes {
		out = append(append(out, expressionsIn(write.Fact)...), expressionsIn(write.Value)...)
	}
	if s.Emit != nil {
		out = append(out, expressionsIn(s.Emit.Data)...)
	}
	for _, accept := range s.Accept {
		out = append(append(out, expressionOf(accept.Rule)...), expressionsIn(accept.Say)...)
	}
	for _, limit := range s.Limits {
		out = append(append(out, expressionOf(limit.Rule)...), expressionsIn(limit.Say)...)
	}
	if s.Review != nil {
		out = append(append(out, expressionsIn(s.Review.Input)...), expressionOf(s.Review.Pass)...)
	}
	if a := s.Approval; a != nil {
		out = append(append(out, expressionOf(a.When)...), expressionsIn(a.Ask)...)
		for _, never := range a.Never {
			out = append(out, expressionsIn(never)...)
		}
	}
	if s.Route != nil {
		for _, by := range s.Route.By {
			out = append(out, expressionOf(by.Expr)...)
		}
	}
	if s.Each != nil {
		out = append(out, expressionOf(s.Each.List)...)
	}
	for i := range s.Switch {
		out = append(out, expressionOf(s.Switch[i].When)...)
	}
	if s.Wait != nil {
		out = append(append(out, expressionOf(s.Wait.Until)...), expressionOf(s.Wait.Match)...)
	}
	return out
}

// readBy adds what expressions read to what a node waits for.
func (c *checker) readBy(n *Node, from place, expressions []expression, soft bool) {
	for _, e := range expressions {
		refs := c.references(e.text).refs
		for _, ref := range refs {
			target := byName(c.visibleSteps(from), ref.Root)
			if ref.Root == "about" && len(ref.Path) > 0 {
				target = byName(c.aboutSteps(from), ref.Path[0])
			}
			if target != nil && !within(target, n) {
				c.wait(n, Dependency{Node: target, Waits: ref.Waits || soft, Fields: []string{fieldOf(ref)}})
			}
		}
	}
}

// fieldOf is the part of a step that a reference reads.
func fieldOf(ref rule.Ref) string {
	if ref.Root == "about" {
		return strings.Join(append([]string{"about"}, ref.Path[1:]...), ".")
	}
	return strings.Join(ref.Path, ".")
}

// parsed is what an expression reads, or why it cannot be read.
type parsed struct {
	refs   []rule.Ref
	faults rule.Faults
}

// references parses an expression once.
func (c *checker) references(text string) parsed {
	if p, known := c.parsed[text]; known {
		return p
	}
	refs, faults := rule.References(text)
	c.parsed[text] = parsed{refs, faults}
	return c.parsed[text]
}

// wait adds a dependency, or makes a known one stricter.
func (c *checker) wait(n *Node, d Dependency) {
	for i, known := range c.depends[n] {
		if known.Node == d.Node {
			c.depends[n][i].Waits = known.Waits && d.Waits
			c.depends[n][i].After = known.After || d.After
			for _, field := range d.Fields {
				c.depends[n][i].Fields = appendNew(c.depends[n][i].Fields, field)
			}
			return
		}
	}
	c.depends[n] = append(c.depends[n], d)
}

func (c *checker) standsAfter(n *Node) {
	visible := c.visibleSteps(place{node: n})
	list := n.Step.Source.Get("after")
	for i, name := range n.Step.After {
		at := n.Step.Source
		if list != nil && i < len(list.Items) {
			at = list.Items[i]
		}
		target := byName(visible, name)
		if target != nil {
			c.wait(n, Dependency{Node: target, After: true})
			continue
		}
		found, exists := c.names[name]
		switch {
		case exists && found.node == n:
			c.fault(at, "E201", "A step cannot stand after itself.")
		case exists && within(n, found.node):
			c.faultSee(at, found.label, "E201", fmt.Sprintf("%q contains this step and cannot be done before it.", name))
		case exists:
			c.faultSee(at, found.label, "E121", fmt.Sprintf("%q stands inside a block, which is closed: name the block instead.", name))
		default:
			c.unknownStep(at, name, visible)
		}
	}
}

func (c *checker) unknownStep(at *source.Node, name string, visible []*Node) {
	names := make([]string, len(visible))
	for i, n := range visible {
		names[i] = n.Name
	}
	slices.Sort(names)
	message := fmt.Sprintf("There is no step %q here.", name)
	if nearest := schema.Nearest(name, names); nearest != "" {
		message += fmt.Sprintf(" Did you mean %q?", nearest)
	} else if len(names) > 0 {
		message += " Steps: " + strings.Join(names, ", ") + "."
	}
	c.fault(at, "E202", "%s", message)
}

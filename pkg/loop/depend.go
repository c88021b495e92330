package loop

import (
	"fmt"
	"slices"
	"strings"

	"github.com/outerloop-dev/outerloop/pkg/charter"
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

// order sorts every body by its dependencies, finds cycles and plans how the steps run.
func (c *checker) order() {
	c.orderBody(c.def.Body)
	c.eachNode(c.def.Body, func(n *Node) {
		if n.Body != nil {
			c.orderBody(n.Body)
		}
	})
}

func (c *checker) orderBody(b *Body) {
	for _, n := range b.Nodes {
		c.before[n] = c.siblingsBefore(b, n)
	}
	if cycle := c.findCycle(b); cycle != nil {
		c.reportCycle(cycle)
		for _, n := range b.Nodes {
			c.before[n] = nil
		}
	}
	b.Nodes = c.sorted(b.Nodes)
	b.Plan = c.plan(b.Nodes)
}

// siblingsBefore are the nodes of the body that n, or anything in it, waits for.
func (c *checker) siblingsBefore(b *Body, n *Node) []*Node {
	var out []*Node
	c.eachBelow(n, func(inner *Node) {
		for _, d := range c.depends[inner] {
			if other := ancestorIn(b, d.Node); other != nil && other != n {
				out = appendNew(out, other)
			}
		}
	})
	return out
}

// findCycle gives the nodes of a cycle in order, or nil.
func (c *checker) findCycle(b *Body) []*Node {
	const visiting, done = 1, 2
	state := map[*Node]int{}
	var path, cycle []*Node
	var visit func(n *Node)
	visit = func(n *Node) {
		state[n] = visiting
		path = append(path, n)
		for _, before := range c.before[n] {
			if cycle != nil {
				return
			}
			switch state[before] {
			case visiting:
				cycle = slices.Clone(path[slices.Index(path, before):])
			case 0:
				visit(before)
			}
		}
		path = path[:len(path)-1]
		state[n] = done
	}
	for _, n := range b.Nodes {
		if state[n] == 0 && cycle == nil {
			visit(n)
		}
	}
	return cycle
}

func (c *checker) reportCycle(cycle []*Node) {
	names := make([]string, len(cycle)+1)
	for i, n := range cycle {
		names[i] = n.Name
	}
	names[len(cycle)] = cycle[0].Name
	var see *source.Node
	if len(cycle) > 1 {
		see = c.labelOf(cycle[1])
	}
	c.faultSee(c.labelOf(cycle[0]), see, "E201", fmt.Sprintf("These steps wait for each other: %s. Let one of them do without the other's output, or make two steps of it.", strings.Join(names, " → ")))
}

// sorted orders nodes so that each comes after those it waits for; among those
// that may come next, the first in the file does.
func (c *checker) sorted(nodes []*Node) []*Node {
	out := make([]*Node, 0, len(nodes))
	done := map[*Node]bool{}
	for len(out) < len(nodes) {
		for _, n := range nodes {
			if !done[n] && !slices.ContainsFunc(c.before[n], func(b *Node) bool { return !done[b] }) {
				done[n] = true
				out = append(out, n)
				break
			}
		}
	}
	return out
}

// plan finds the series-parallel structure of nodes that are sorted.
func (c *checker) plan(nodes []*Node) *Plan {
	if len(nodes) == 0 {
		return nil
	}
	p := planner{reach: c.reach(nodes)}
	return p.split(nodes)
}

// reach is for each node everything that must be done before it, at whatever distance.
func (c *checker) reach(nodes []*Node) map[*Node]map[*Node]bool {
	out := map[*Node]map[*Node]bool{}
	for _, n := range nodes {
		all := map[*Node]bool{}
		for _, before := range c.before[n] {
			all[before] = true
			for far := range out[before] {
				all[far] = true
			}
		}
		out[n] = all
	}
	return out
}

type planner struct {
	reach map[*Node]map[*Node]bool
}

func (p planner) ordered(a, b *Node) bool { return p.reach[a][b] || p.reach[b][a] }

// split divides nodes into parts that have nothing to do with each other
// (parallel), else into parts that all follow each other (sequence), else by levels.
func (p planner) split(nodes []*Node) *Plan {
	if len(nodes) == 1 {
		return &Plan{Node: nodes[0]}
	}
	if parts := components(nodes, p.ordered); len(parts) > 1 {
		return &Plan{Parallel: p.all(parts)}
	}
	apart := func(a, b *Node) bool { return !p.ordered(a, b) }
	if parts := components(nodes, apart); len(parts) > 1 {
		slices.SortStableFunc(parts, func(a, b []*Node) int {
			if p.reach[b[0]][a[0]] {
				return -1
			}
			return 1
		})
		return &Plan{Sequence: p.all(parts)}
	}
	return &Plan{Sequence: p.all(p.levels(nodes)), Levelled: true}
}

func (p planner) all(parts [][]*Node) []*Plan {
	plans := make([]*Plan, len(parts))
	for i, part := range parts {
		plans[i] = p.split(part)
	}
	return plans
}

// components divides nodes into groups connected by a relation, each in the given order.
func components(nodes []*Node, related func(a, b *Node) bool) [][]*Node {
	var out [][]*Node
	seen := make([]bool, len(nodes))
	for i := range nodes {
		if seen[i] {
			continue
		}
		seen[i] = true
		found := []int{i}
		for k := 0; k < len(found); k++ {
			for j := range nodes {
				if !seen[j] && related(nodes[found[k]], nodes[j]) {
					seen[j] = true
					found = append(found, j)
				}
			}
		}
		slices.Sort(found)
		part := make([]*Node, len(found))
		for k, j := range found {
			part[k] = nodes[j]
		}
		out = append(out, part)
	}
	return out
}

// levels groups nodes by the longest way to them.
func (p planner) levels(nodes []*Node) [][]*Node {
	level := map[*Node]int{}
	var out [][]*Node
	for _, n := range nodes {
		for _, other := range nodes {
			if p.reach[n][other] {
				level[n] = max(level[n], level[other]+1)
			}
		}
		if level[n] == len(out) {
			out = append(out, nil)
		}
		out[level[n]] = append(out[level[n]], n)
	}
	return out
}

// decider is the step whose settle can answer for a block that a plan puts
// right after it.
func decider(previous *Plan) *Node {
	if previous == nil || previous.Node == nil {
		return nil
	}
	switch n := previous.Node; n.Kind {
	case KindWorker:
		return n
	default:
		return nil
	}
}

// linkDeciders connects blocks with the steps right before them.
func linkDeciders(p *Plan) {
	if p == nil {
		return
	}
	for i, part := range p.Sequence {
		if i > 0 && part.Node != nil && asks(part.Node) {
			if d := decider(p.Sequence[i-1]); d != nil {
				part.Node.Decider, d.Decides = d, part.Node
			}
		}
	}
	for _, part := range slices.Concat(p.Sequence, p.Parallel) {
		linkDeciders(part)
	}
}

// asks tells whether the machine needs an answer before it enters the node.
func asks(n *Node) bool {
	switch n.Kind {
	case KindEach, KindSwitch, KindRoute:
		return true
	case KindWait:
		return n.Step.Wait.Event == ""
	}
	return false
}

// mode is how a worker's work is dispatched at a node: as its charter says,
// else by queue for agents, in `each` and with a bound on attempts at one time.
func mode(w *Worker, n *Node) charter.Mode {
	c := w.Charter
	switch {
	case c.Dispatch.Mode != "":
		return c.Dispatch.Mode
	case c.Kind == charter.KindAgent, c.Dispatch.AtOnce > 0, n.Depth > 0:
		return charter.ModeQueue
	}
	return charter.ModeDirect
}

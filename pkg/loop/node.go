package loop

import (
	"fmt"
	"slices"

	"github.com/outerloop-dev/outerloop/pkg/rule"
	"github.com/outerloop-dev/outerloop/pkg/schema"
	"github.com/outerloop-dev/outerloop/pkg/source"
)

// compileBody compiles the rules of the body's nodes, each after those it reads.
func (c *checker) compileBody(b *Body) {
	for _, n := range b.Nodes {
		c.compileNode(n)
	}
	linkDeciders(b.Plan)
}

func (c *checker) compileNode(n *Node) {
	n.Needs = slices.Clone(c.depends[n])
	slices.SortFunc(n.Needs, func(a, b Dependency) int { return a.Node.Position - b.Node.Position })
	p := place{node: n}
	if n.Step != nil {
		c.readFacts(n)
		n.When = c.rule(p, n.Step.When, nil)
		c.constantWhen(n)
		c.failure(n)
	}
	switch n.Kind {
	case KindWorker, KindRoute, KindLoop:
		c.compileWork(n)
	case KindEach:
		c.compileEach(n)
	case KindBranches:
		c.compileBranches(n)
	case KindSwitch:
		c.compileSwitch(n)
	case KindWait:
		c.compileWait(n)
	case KindGroup:
		c.compileClosed(n)
	}
	c.substitute(n)
}

// constantWhen finds steps that never run.
func (c *checker) constantWhen(n *Node) {
	if n.When != nil && n.Step.When.Text == "false" {
		c.fault(n.Step.When.Node, "E206", "This step never runs: `when` is always false. Remove the step, or write the rule.")
	}
}

var whole = schema.Scalar(schema.Int)

// missingType is the type of a block's `missing`.
var missingType = schema.ListOf(schema.ObjectOf(
	schema.Field{Name: "key", Type: schema.Scalar(schema.String), Required: true},
	schema.Field{Name: "step", Type: schema.Scalar(schema.String), Required: true},
	schema.Field{Name: "cause", Type: schema.Scalar(schema.String), Required: true},
	schema.Field{Name: "say", Type: schema.Scalar(schema.String), Required: true},
))

var countsType = schema.ObjectOf(
	schema.Field{Name: "items", Type: whole, Required: true},
	schema.Field{Name: "completed", Type: whole, Required: true},
	schema.Field{Name: "missing", Type: whole, Required: true},
)

func (c *checker) compileEach(n *Node) {
	each := n.Step.Each
	n.Each.List = c.expr(place{node: n}, each.List, nil)
	c.items[n] = c.itemType(n)
	n.Each.Key = c.phrase(place{node: n, inside: &Body{}}, each.Key, nil)
	c.keyTellsItems(n)
	c.compileBody(n.Body)
	n.Body.Output = c.tree(place{node: n, inside: n.Body}, each.Output, nil)
	result := anything
	if n.Body.Output != nil {
		result = n.Body.Output.Type()
	}
	n.OutputType = schema.ObjectOf(
		schema.Field{Name: "results", Type: schema.ListOf(result), Required: true},
		schema.Field{Name: "missing", Type: missingType, Required: true},
		schema.Field{Name: "counts", Type: countsType, Required: true},
	)
}

// itemType is the type of the list's items; the list must be one.
func (c *checker) itemType(n *Node) *schema.Type {
	if n.Each.List == nil {
		return anything
	}
	switch t := n.Each.List.Type(); t.Kind {
	case schema.List:
		return t.Elem
	case schema.Any:
		return anything
	default:
		c.fault(n.Step.Each.List.Node, "E210", "`each` goes through a list, but %s is %s. Name a list, such as one that the step before gives.", n.Step.Each.List.Text, t)
	}
	return anything
}

func (c *checker) keyTellsItems(n *Node) {
	if key := n.Each.Key; key != nil && !slices.Contains(key.Uses.Items, n) {
		c.fault(n.Step.Each.Key.Node, "E218", "This key is the same for every item. Name what tells the items apart, such as ${%s.id}.", n.Step.Each.As)
	}
}

func (c *checker) compileBranches(n *Node) {
	if len(n.Branches) == 0 {
		c.fault(c.keyOf(n, "branches"), "E111", "`branches` needs at least one branch.")
	}
	fields := []schema.Field{{Name: "missing", Type: missingType, Required: true}}
	for _, branch := range n.Branches {
		if branch.Name == "missing" {
			c.fault(c.labelOf(branch), "E115", "A branch cannot be called \"missing\": the block gives its missing branches under this name.")
			continue
		}
		c.compileNode(branch)
		fields = append(fields, schema.Field{Name: branch.Name, Type: known(branch.OutputType), Required: n.Join.Need.All})
	}
	if need := n.Join.Need.Count; need > len(n.Branches) {
		c.fault(n.Join.Source.Find("need"), "E245", "The join needs %d branches of %d.", need, len(n.Branches))
	}
	n.OutputType = schema.ObjectOf(fields...)
}

// Plan is how the steps in the node run; nil where it has no body.
func (n *Node) Plan() *Plan {
	if n.Body == nil {
		return nil
	}
	return n.Body.Plan
}

// compileClosed compiles a group or case: its steps, then its output.
func (c *checker) compileClosed(n *Node) {
	c.compileBody(n.Body)
	n.Body.Output = c.tree(place{node: n, inside: n.Body}, c.outputs[n], nil)
	n.OutputType = schema.Scalar(schema.Null)
	if n.Body.Output != nil {
		n.OutputType = n.Body.Output.Type()
	}
}

func (c *checker) compileSwitch(n *Node) {
	if len(n.Cases) == 0 {
		c.fault(c.keyOf(n, "switch"), "E111", "`switch` needs at least one case.")
	}
	var types []*schema.Type
	for i, one := range n.Cases {
		declared := n.Step.Switch[i]
		one.CaseWhen = c.rule(place{node: n}, declared.When, nil)
		if declared.otherwise && i < len(n.Cases)-1 {
			c.fault(n.Step.Switch[i+1].Source, "E206", "This case is never reached: the one before it stands for all the rest. Put `otherwise` last.")
		}
		one.Needs = slices.Clone(c.depends[one])
		c.compileClosed(one)
		c.sameOutput(n, i)
		types = append(types, one.OutputType)
	}
	n.OutputType = schema.UnionOf(types...)
}

// sameOutput compares what a case gives with what the first gives.
func (c *checker) sameOutput(n *Node, i int) {
	first, this := n.Cases[0].OutputType, n.Cases[i].OutputType
	if i == 0 || first.Kind == schema.Any || this.Kind == schema.Any {
		return
	}
	at := n.Step.Switch[i].Source
	if output := n.Step.Switch[i].Output; output.Set() {
		at = output.Node
	}
	if first.Kind != this.Kind && !(numeric(first) && numeric(this)) {
		c.fault(at, "E228", "All cases give the same kind of output, but the first gives %s and this gives %s.", first, this)
		return
	}
	if first.Kind == schema.Object && !slices.Equal(first.FieldNames(), this.FieldNames()) {
		c.fault(at, "E228", "All cases give the same fields. The first gives %v, this one %v.", first.FieldNames(), this.FieldNames())
	}
}

func numeric(t *schema.Type) bool { return t.Kind == schema.Int || t.Kind == schema.Number }

func (c *checker) compileWait(n *Node) {
	w := n.Step.Wait
	p := place{node: n}
	n.Wait = &WaitRule{Until: c.expr(p, w.Until, nil), For: w.For, Event: w.Event, Within: w.Within}
	c.isTime(w.Until, n.Wait.Until)
	n.OutputType = schema.Scalar(schema.Null)
	if w.Event != "" {
		t := c.eventType(w.Event, w.Source.Get("event"))
		n.OutputType = t
		n.Wait.Match = c.rule(p, w.Match, extras{"event": t})
		if m := n.Wait.Match; m != nil && !m.Uses.Event {
			c.fault(w.Match.Node, "E247", "This rule does not look at the event, so any event would do. Compare a field of `event` with one of the run.")
		}
	}
	if n.Step.Emit == nil {
		return
	}
	if w.Event == "" {
		c.fault(n.Step.Source.Key("emit"), "E205", "A wait for a time tells nothing when it is over. Emit from the step after it.")
		return
	}
	c.emits(n, extras{"output": n.OutputType})
}

// isTime reports an expression that gives no point in time.
func (c *checker) isTime(e source.Expr, r *Rule) {
	if r == nil {
		return
	}
	switch t := r.Type(); {
	case t.Kind == schema.Time, t.Kind == schema.Any, t.Kind == schema.String && t.Format == "date-time":
	default:
		c.fault(e.Node, "E119", "A point in time belongs here, but this is %s. Make one of a text with timestamp(…).", t)
	}
}

// eventType is the type of a declared event's data.
func (c *checker) eventType(name string, at *source.Node) *schema.Type {
	event, declared := c.around.Project.Event(name)
	if !declared {
		c.fault(at, "E232", "%s", c.notDeclared("event", name, "events", eventNames(c.around.Project.Events)))
		return anything
	}
	s, ps := c.around.Files.Schema(event.Schema)
	c.add(ps)
	if s == nil {
		return anything
	}
	if c.def.Events == nil {
		c.def.Events = map[string]*schema.Schema{}
	}
	c.def.Events[name] = s
	return s.Type()
}

// notDeclared words that a name is not in the project file.
func (c *checker) notDeclared(what, name, key string, names []string) string {
	message := fmt.Sprintf("The project file declares no %s %q.", what, name)
	slices.Sort(names)
	if nearest := schema.Nearest(name, names); nearest != "" {
		return message + fmt.Sprintf(" Did you mean %q?", nearest)
	}
	return message + fmt.Sprintf(" Add it under `%s` in outerloop.yaml.", key)
}

// readFacts compiles what the step reads.
func (c *checker) readFacts(n *Node) {
	for _, read := range n.Step.Reads {
		compiled := FactReadRule{Name: read.Name, Fresh: read.Fresh, Fact: c.phrase(place{node: n}, read.Fact, nil)}
		compiled.Schema = c.factSchema(read.Fact)
		n.Reads = append(n.Reads, compiled)
	}
}

// factSchema finds the declared schema of a fact whose name may hold ${ CEL }.
func (c *checker) factSchema(name source.Value) *schema.Schema {
	fact, declared := c.around.Project.Fact(staticName(name.Node.Text))
	if !declared {
		names := []string{}
		for _, f := range c.around.Project.Facts {
			names = append(names, f.Name)
		}
		c.fault(name.Node, "E231", "%s", c.notDeclared("fact", name.Node.Text, "facts", names))
		return nil
	}
	s, ps := c.around.Files.Schema(fact.Schema)
	c.add(ps)
	return s
}

// staticName is a fact's name with each ${ CEL } as a placeholder, so that
// "order/${input.id}" is covered by "order/*".
func staticName(text string) string {
	parts, faults := rule.ParseTemplate(text)
	if len(faults) > 0 {
		return text
	}
	out := ""
	for _, part := range parts {
		if part.Expr != "" {
			out += "…"
			continue
		}
		out += part.Text
	}
	return out
}

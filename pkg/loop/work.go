package loop

import (
	"fmt"
	"slices"

	"github.com/outerloop-dev/outerloop/pkg/schema"
	"github.com/outerloop-dev/outerloop/pkg/source"
)

// compileWork compiles a step whose work a worker, a table's worker or another loop does.
func (c *checker) compileWork(n *Node) {
	s := n.Step
	p := place{node: n}
	switch n.Kind {
	case KindWorker:
		n.Worker = c.worker(s.Worker, s.Source.Get("worker"))
		n.Backup = c.backup(n.Worker, s.Backup, s.Source.Get("backup"))
		if n.Worker != nil {
			n.OutputType = n.Worker.Output.Type()
			n.Mode = mode(n.Worker, n)
		}
	case KindRoute:
		c.compileRoute(n)
	case KindLoop:
		c.compileSub(n)
	}
	n.Input = c.tree(p, s.Input, nil)
	c.checkInput(n)
	after := afterWork(known(n.OutputType))
	for _, accept := range s.Accept {
		n.Accept = append(n.Accept, AcceptRule{Rule: c.rule(p, accept.Rule, after), Say: c.phrase(p, accept.Say, after)})
	}
	c.action(n)
	c.limits(n, after)
	c.review(n, after)
	c.approval(n, after)
	c.writes(n, after)
	if s.Emit != nil {
		c.emits(n, after)
	}
}

// worker finds a worker and notes that the loop uses it.
func (c *checker) worker(name string, at *source.Node) *Worker {
	if name == "" {
		return nil
	}
	w, known := c.around.Workers[name]
	if !known {
		names := make([]string, 0, len(c.around.Workers))
		for other := range c.around.Workers {
			names = append(names, other)
		}
		slices.Sort(names)
		message := fmt.Sprintf("There is no worker %q.", name)
		if nearest := schema.Nearest(name, names); nearest != "" {
			message += fmt.Sprintf(" Did you mean %q?", nearest)
		} else {
			message += fmt.Sprintf(" Write its charter: functions/workers/%s/charter.yaml.", name)
		}
		c.fault(at, "E223", "%s", message)
		return nil
	}
	if w == nil || w.faulty {
		c.incomplete = true // its charter's problems are reported there
	}
	if w == nil || w.Input == nil || w.Output == nil {
		return nil
	}
	c.use(w)
	return w
}

// use notes a worker and those it calls.
func (c *checker) use(w *Worker) {
	if c.def == nil || c.def.Workers[w.Charter.Worker] != nil {
		return
	}
	c.def.Workers[w.Charter.Worker] = w
	if w.Charter.Agent != nil {
		for _, name := range w.Charter.Agent.Calls {
			tool := c.around.Workers[name]
			if tool == nil || tool.faulty {
				c.incomplete = true
				continue
			}
			c.use(tool)
		}
	}
}

// backup finds the worker that takes over; it has the author's schemas.
func (c *checker) backup(w *Worker, name string, at *source.Node) *Worker {
	b := c.worker(name, at)
	if b == nil || w == nil {
		return b
	}
	if b == w {
		c.fault(at, "E226", "The backup is the worker itself. Name another worker.")
		return b
	}
	for _, pair := range []struct {
		what        string
		from, taken *schema.Schema
	}{{"input", w.Input, b.Input}, {"output", b.Output, w.Output}} {
		if faults := schema.Compatible(pair.from.Type(), pair.taken.Type()); len(faults) > 0 {
			c.fault(at, "E226", "A backup has the same schemas, but the %s of %s and %s differ: %s", pair.what, w.Charter.Worker, b.Charter.Worker, sentence(faults[0].String()))
		}
	}
	return b
}

// checkInput compares the step's input with what its worker takes.
func (c *checker) checkInput(n *Node) {
	takers := []*Worker{n.Worker}
	for _, row := range n.Routes {
		takers = append(takers, row.Worker)
	}
	for _, w := range takers {
		if w != nil {
			c.inputFits(n, n.Input, w.Input, w.Charter.Worker)
		}
	}
	if n.Sub != nil {
		c.inputFits(n, n.Input, n.Sub.Input, "The loop "+n.Sub.Loop.Name)
	}
	if n.Step.OnFailure == nil {
		return
	}
	for _, retry := range n.Step.OnFailure.Retry {
		for _, field := range retry.Input {
			c.retryField(n, field)
		}
	}
}

// retryField checks one field that replaces the input's in a retry.
func (c *checker) retryField(n *Node, field NamedValue) {
	if n.Worker == nil {
		return
	}
	input := n.Worker.Input.Type()
	wanted, found := input.Field(field.Name)
	if !found && (input.Kind == schema.Any || input.Open) {
		return // nothing is known of the field; the input itself is checked when it is there
	}
	if !found {
		c.fault(field.Value.Node, "E117", "The input of %s has no field %q.", n.Worker.Charter.Worker, field.Name)
		return
	}
	tree := c.tree(place{node: n}, field.Value, nil)
	if tree == nil {
		return
	}
	for _, fault := range schema.Compatible(tree.Type(), wanted.Type) {
		c.fault(field.Value.Node, "E120", "%s does not take this: %s", n.Worker.Charter.Worker, sentence(fault.String()))
	}
}

// inputFits reports where an input does not fit; one that was left out is {}.
func (c *checker) inputFits(n *Node, input *Tree, wanted *schema.Schema, whose string) {
	if n.Step.Input.Set() {
		if input != nil {
			c.fits(n.Step.Input, input.Type(), wanted, whose)
		}
		return
	}
	for _, fault := range schema.Compatible(schema.ObjectOf(), wanted.Type()) {
		p := c.keyOf(n, string(n.Kind)).Problem("E120", fmt.Sprintf("%s needs an input, and the step gives none: %s", whose, sentence(fault.String())))
		p.See = wanted.Name()
		c.problems = append(c.problems, p)
	}
}

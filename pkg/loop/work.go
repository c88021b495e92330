package loop

import (
	"fmt"
	"slices"
	"strings"

	"github.com/outerloop-dev/outerloop/pkg/registry"
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
	c.substitute(n)
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
	if w == nil || w.Input == nil || w.Output == nil {
		return nil // its charter's problems are reported there
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
			if tool := c.around.Workers[name]; tool != nil {
				c.use(tool)
			}
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

func (c *checker) compileRoute(n *Node) {
	route := n.Step.Route
	p := place{node: n}
	fields := map[string]*schema.Type{}
	for _, by := range route.By {
		r := c.expr(p, by.Expr, nil)
		n.RouteBy = append(n.RouteBy, NamedRule{Name: by.Name, Rule: r})
		fields[by.Name] = anything
		if r != nil {
			fields[by.Name] = r.Type()
		}
	}
	if len(route.Rows) == 0 {
		c.fault(c.keyOf(n, "route"), "E111", "`route` needs at least one row.")
	}
	for i, row := range route.Rows {
		compiled := RouteRule{Match: row.Match, Ask: row.Ask, Worker: c.worker(row.Worker, row.Source.Get("worker"))}
		compiled.Backup = c.backup(compiled.Worker, row.Backup, row.Source.Get("backup"))
		if row.Ask != "" {
			c.group(row.Ask, row.Source.Get("ask"))
		}
		if compiled.Worker != nil {
			compiled.Mode = mode(compiled.Worker, n)
			c.sameWork(n, compiled.Worker, row)
		}
		n.Routes = append(n.Routes, compiled)
		c.checkRow(row, fields)
		if len(row.Match) == 0 && i < len(route.Rows)-1 {
			c.fault(route.Rows[i+1].Source, "E206", "This row is never reached: the one before it fits always. Put the row without conditions last.")
		}
	}
}

// sameWork compares a row's worker with the first row's: all give the same output.
func (c *checker) sameWork(n *Node, w *Worker, row Row) {
	if n.OutputType == nil {
		n.OutputType = w.Output.Type()
		return
	}
	if faults := schema.Compatible(w.Output.Type(), n.OutputType); len(faults) > 0 {
		c.fault(row.Source.Get("worker"), "E227", "All workers of a table give the same output, but that of %s differs from the first: %s", w.Charter.Worker, sentence(faults[0].String()))
	}
}

// checkRow compares a row's conditions with the values they are compared with.
func (c *checker) checkRow(row Row, fields map[string]*schema.Type) {
	for _, match := range row.Match {
		at := row.Source.Get(match.Field)
		t, given := fields[match.Field]
		if !given {
			c.fault(row.Source.Key(match.Field), "E248", "The row looks at %q, but `by` gives no such value.", match.Field)
			continue
		}
		for _, value := range match.Values {
			if len(t.Enum) > 0 && !slices.Contains(t.Enum, any(value)) {
				c.fault(at, "E248", "%q can never be: the value is one of %s.", value, enumWords(t.Enum))
			}
		}
	}
}

func enumWords(enum []any) string {
	words := make([]string, len(enum))
	for i, v := range enum {
		words[i] = fmt.Sprint(v)
	}
	return strings.Join(words, ", ")
}

func (c *checker) compileSub(n *Node) {
	name := n.Step.Loop
	at := n.Step.Source.Get("loop")
	sub, exists := c.around.Loops[name]
	if !exists {
		names := make([]string, 0, len(c.around.Loops))
		for other := range c.around.Loops {
			names = append(names, other)
		}
		slices.Sort(names)
		message := fmt.Sprintf("There is no loop %q.", name)
		if nearest := schema.Nearest(name, names); nearest != "" {
			message += fmt.Sprintf(" Did you mean %q?", nearest)
		}
		c.fault(at, "E209", "%s", message)
	}
	if sub == nil {
		return
	}
	n.Sub = sub
	n.OutputType = sub.OutputType
	for _, w := range sub.Workers {
		c.use(w)
	}
	c.share(n)
}

// share checks the sub-loop's part of the budget.
func (c *checker) share(n *Node) {
	b := n.Step.Budget
	if b == nil {
		return
	}
	if b.Deadline.Set() || b.Reviews != nil || b.Approvals != nil || b.PerDay.Micro != 0 || b.Source.Get("otherwise") != nil {
		c.fault(b.Source, "E239", "A sub-loop's share is a cost alone: its other bounds are its own. Write {cost: …}.")
	}
	whole := c.loop.Budget.Cost
	if b.Cost.Micro > whole.Micro || b.Cost.Currency != whole.Currency && whole.Currency != "" {
		c.fault(b.Source.Find("cost"), "E239", "The share of %s is more than the run's budget of %s, or in another currency.", b.Cost, whole)
	}
}

// writes compiles the facts that the step writes.
func (c *checker) writes(n *Node, after extras) {
	p := place{node: n}
	for _, write := range n.Step.Writes {
		compiled := FactWriteRule{Fact: c.phrase(p, write.Fact, after), Value: c.tree(p, write.Value, after), Schema: c.factSchema(write.Fact)}
		if compiled.Value != nil {
			c.fits(write.Value, compiled.Value.Type(), compiled.Schema, "The fact "+write.Fact.Node.Text)
		}
		n.Writes = append(n.Writes, compiled)
	}
	c.mayTouch(n)
}

// mayTouch checks facts against the charters of the workers that do the step.
func (c *checker) mayTouch(n *Node) {
	doers := []*Worker{n.Worker}
	for _, row := range n.Routes {
		doers = append(doers, row.Worker)
	}
	for _, w := range doers {
		if w == nil {
			continue
		}
		for _, read := range n.Step.Reads {
			c.covered(w, read.Fact.Node, "reads", w.Charter.Reads)
		}
		for _, write := range n.Step.Writes {
			c.covered(w, write.Fact.Node, "writes", w.Charter.Writes)
		}
	}
}

func (c *checker) covered(w *Worker, at *source.Node, key string, allowed []string) {
	name := staticName(at.Text)
	if _, declared := c.around.Project.Fact(name); !declared {
		return // reported already
	}
	for _, declared := range allowed {
		if registry.Fits(declared, name) {
			return
		}
	}
	c.faultSee(at, w.Charter.Source.Key(key), "E230", fmt.Sprintf("The charter of %s does not allow this: its `%s` does not name %s. Add it there.", w.Charter.Worker, key, at.Text))
}

// emits compiles the event that the step sends.
func (c *checker) emits(n *Node, after extras) {
	e := n.Step.Emit
	n.Emit = &EmitRule{Event: e.Event, Data: c.tree(place{node: n}, e.Data, after)}
	event, declared := c.around.Project.Event(e.Event)
	if !declared {
		c.fault(e.Source.Find("event"), "E232", "%s", c.notDeclared("event", e.Event, "events", eventNames(c.around.Project.Events)))
		return
	}
	s, ps := c.around.Files.Schema(event.Schema)
	c.add(ps)
	n.Emit.Schema = s
	if n.Emit.Data != nil {
		c.fits(e.Data, n.Emit.Data.Type(), s, "The event "+e.Event)
	}
}

func eventNames(events []registry.Event) []string {
	names := make([]string, len(events))
	for i, e := range events {
		names[i] = e.Name
	}
	return names
}

// group checks that a group exists.
func (c *checker) group(name string, at *source.Node) {
	if name == "" {
		return
	}
	if _, declared := c.around.Project.Group(name); declared {
		return
	}
	names := make([]string, 0, len(c.around.Project.Groups))
	for _, g := range c.around.Project.Groups {
		names = append(names, g.Name)
	}
	c.fault(at, "E224", "%s", c.notDeclared("group", name, "groups", names))
}

package loop

import (
	"fmt"

	"github.com/outerloop-dev/outerloop/pkg/registry"
	"github.com/outerloop-dev/outerloop/pkg/source"
)

// DeclaredFact is the name under which the project declares the fact of a read
// or write ("order/*" for "order/${input.id}"); the name as written where it
// declares none.
func (d *Definition) DeclaredFact(name *Phrase) string {
	if fact, ok := d.Project.Fact(staticName(name.Source())); ok {
		return fact.Name
	}
	return name.Source()
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

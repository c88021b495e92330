package exposure

import (
	"cmp"
	"slices"
	"strings"

	"github.com/outerloop-dev/outerloop/pkg/charter"
	"github.com/outerloop-dev/outerloop/pkg/loop"
)

// worker notes a worker, its tools and its model.
func (v view) worker(w *loop.Worker, l level) {
	if w == nil || l == none {
		return
	}
	c := w.Charter
	v.receives(Worker, c.Worker, l)
	for _, tool := range c.Tools {
		v.receives(Tool, tool.Connection, possible)
	}
	if c.HTTP != nil {
		name := c.HTTP.Connection
		if name == "" {
			name = c.HTTP.URL
		}
		v.receives(Tool, name, l)
	}
	if c.Kind == charter.KindAgent && c.Agent != nil {
		v.receives(Model, c.Agent.Model, l)
		for _, called := range c.Agent.Calls {
			v.worker(v.def.Workers[called], possible)
		}
	}
}

// receives notes a receiver, with the place it receives at.
func (v view) receives(kind Kind, name string, l level) {
	if l == none || name == "" {
		return
	}
	id := string(kind) + " " + name
	r := v.found[id]
	if r == nil {
		r = &Receiver{ID: id, Kind: kind, Name: name, Detail: v.detail(kind, name)}
		v.found[id] = r
	}
	r.Certain = r.Certain || l == certain
	if at := v.key(v.at); !slices.Contains(r.Through, at) {
		r.Through = append(r.Through, at)
		slices.Sort(r.Through)
	}
}

func (t *trace) detail(kind Kind, name string) string {
	switch kind {
	case People:
		if g, ok := t.project.Group(name); ok {
			return strings.Join(g.Members, ", ")
		}
	case Model:
		if m, ok := t.project.Model(name); ok {
			return m.ID + " at " + m.Connection
		}
	case Tool:
		if c, ok := t.project.Connection(name); ok {
			return c.Kind
		}
	}
	return ""
}

func (t *trace) receivers() []Receiver {
	order := []Kind{Worker, Tool, Model, People, Fact, Event}
	out := []Receiver{}
	for _, r := range t.found {
		out = append(out, *r)
	}
	slices.SortFunc(out, func(a, b Receiver) int {
		return cmp.Or(cmp.Compare(slices.Index(order, a.Kind), slices.Index(order, b.Kind)), strings.Compare(a.Name, b.Name))
	})
	return out
}

// reached are the steps of a loop that have the value.
func (t *trace) reached(d *loop.Definition) []string {
	var out []string
	for _, n := range d.Nodes {
		if t.outputs[d.Loop.Name+"/"+n.Path] > none {
			out = append(out, n.Path)
		}
	}
	return out
}

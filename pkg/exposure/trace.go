package exposure

import (
	"cmp"
	"slices"
	"strings"

	"github.com/outerloop-dev/outerloop/pkg/charter"
	"github.com/outerloop-dev/outerloop/pkg/loop"
	"github.com/outerloop-dev/outerloop/pkg/registry"
	"github.com/outerloop-dev/outerloop/pkg/rule"
)

// level is how sure it is that a value is somewhere.
type level int

const (
	none level = iota
	possible
	certain
)

// trace follows one sensitive field through all loops.
type trace struct {
	origin  origin
	project *registry.Project
	loops   map[string]*loop.Definition
	// what the value has reached: nodes by loop and path, facts, events, loops'
	// inputs and outputs by name.
	outputs, inputs, results, facts, events map[string]level
	found                                   map[string]*Receiver
	changed                                 bool
}

func newTrace(project *registry.Project, loops map[string]*loop.Definition, o origin) *trace {
	return &trace{
		origin: o, project: project, loops: withSubs(loops), outputs: map[string]level{}, inputs: map[string]level{},
		results: map[string]level{}, facts: map[string]level{}, events: map[string]level{}, found: map[string]*Receiver{},
	}
}

// withSubs adds loops that are only run by others.
func withSubs(loops map[string]*loop.Definition) map[string]*loop.Definition {
	all := map[string]*loop.Definition{}
	var add func(d *loop.Definition)
	add = func(d *loop.Definition) {
		if all[d.Loop.Name] != nil {
			return
		}
		all[d.Loop.Name] = d
		for _, n := range d.Nodes {
			if n.Sub != nil {
				add(n.Sub)
			}
		}
	}
	for _, d := range loops {
		add(d)
	}
	return all
}

// run repeats until nothing new is reached; levels only rise, so it ends.
func (t *trace) run() {
	names := make([]string, 0, len(t.loops))
	for name := range t.loops {
		names = append(names, name)
	}
	slices.Sort(names)
	for t.changed = true; t.changed; {
		t.changed = false
		for _, name := range names {
			t.loop(t.loops[name])
		}
	}
}

func (t *trace) raise(m map[string]level, key string, l level) {
	if l > m[key] {
		m[key] = l
		t.changed = true
	}
}

func (t *trace) loop(d *loop.Definition) {
	v := view{t, d, nil}
	for _, trigger := range d.Triggers {
		if trigger.Input == nil {
			continue
		}
		t.raise(t.inputs, d.Loop.Name, v.event(trigger))
	}
	for _, n := range d.Nodes {
		view{t, d, n}.node()
	}
	if d.Output != nil {
		t.raise(t.results, d.Loop.Name, v.tree(d.Output))
	}
}

// view reads expressions where they stand: in a loop, at a node.
type view struct {
	*trace
	def *loop.Definition
	at  *loop.Node
}

func (v view) key(n *loop.Node) string { return v.def.Loop.Name + "/" + n.Path }

// event is what a trigger's input may take over from what started it.
func (v view) event(trigger loop.TriggerRule) level {
	reads := slices.ContainsFunc(trigger.Input.References(), func(r rule.Ref) bool { return r.Root == "event" })
	switch {
	case !reads:
		return none
	case trigger.Kind == loop.TriggerEvent:
		return v.events[trigger.Name]
	case trigger.Kind == loop.TriggerAfter:
		return v.results[trigger.Name]
	}
	return none
}

// node follows the value through one node.
func (v view) node() {
	n := v.at
	in := v.tree(n.Input)
	own := v.own(nil)
	if in > none && (n.Worker != nil || n.Kind == loop.KindRoute || n.Sub != nil) {
		v.raise(v.outputs, v.key(n), possible)
	}
	for _, w := range v.doers() {
		v.worker(w, in)
	}
	if n.Sub != nil {
		v.raise(v.inputs, n.Sub.Loop.Name, in)
		v.raise(v.outputs, v.key(n), min(v.results[n.Sub.Loop.Name], possible))
	}
	if n.Wait != nil && n.Wait.Event != "" {
		v.raise(v.outputs, v.key(n), v.events[n.Wait.Event])
	}
	if n.Review != nil {
		v.worker(n.Review.Worker, v.tree(n.Review.Input))
	}
	v.block()
	v.people(in, own)
	v.shared()
}

func (v view) doers() []*loop.Worker {
	n := v.at
	list := []*loop.Worker{n.Worker, n.Backup}
	for _, row := range n.Routes {
		list = append(list, row.Worker, row.Backup)
	}
	return list
}

// block gives a block what its parts may give.
func (v view) block() {
	n := v.at
	parts := slices.Concat(n.Branches, n.Cases)
	if n.Body != nil {
		parts = slices.Concat(parts, n.Body.Nodes)
		v.raise(v.outputs, v.key(n), min(v.tree(n.Body.Output), possible))
		if n.Body.Output != nil {
			return // nothing else is seen outside
		}
	}
	if n.Kind == loop.KindEach {
		return
	}
	for _, part := range parts {
		v.raise(v.outputs, v.key(n), min(view{v.trace, v.def, part}.own(nil), possible))
	}
}

// people are those who are asked about the step, and see what it is about.
func (v view) people(in, own level) {
	n := v.at
	if n.Approval != nil {
		sees := own
		if n.Action != nil { // asked before the work, about its input
			sees = in
		}
		groups := slices.Clone(n.Approval.Approvers)
		for _, stage := range n.Approval.Escalate {
			groups = append(groups, stage.To...)
		}
		for _, group := range groups {
			v.receives(People, group, sees)
		}
		if n.Approval.Ask != nil {
			asked := v.refs(n.Approval.Ask.References(), n.Approval.Ask.Uses)
			for _, group := range groups {
				v.receives(People, group, asked)
			}
		}
	}
	for _, row := range n.Routes {
		if row.Ask != "" {
			v.receives(People, row.Ask, in)
		}
	}
	if n.Failure != nil && n.Failure.Then == loop.EndingAsk { // an exception shows what the step was given
		v.receives(People, v.def.Loop.Owner, min(in, possible))
	}
}

// shared follows facts that are written and events that are sent.
func (v view) shared() {
	n := v.at
	for _, write := range n.Writes {
		name := v.def.DeclaredFact(write.Fact)
		l := v.tree(write.Value)
		if name == v.origin.fact {
			continue // it is there already
		}
		v.raise(v.facts, name, l)
		v.receives(Fact, name, l)
	}
	if n.Emit != nil {
		l := v.tree(n.Emit.Data)
		v.raise(v.events, n.Emit.Event, l)
		v.receives(Event, n.Emit.Event, l)
	}
}

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

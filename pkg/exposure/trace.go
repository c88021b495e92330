package exposure

import (
	"slices"

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

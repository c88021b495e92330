// Package exposure tells from the declarations alone who receives sensitive
// fields: which workers, tools, models and people (R25).
//
// It follows values through the inputs of steps, items, reviews, approvals,
// events, facts and sub-loops. A field that a step's declaration passes on is
// received for certain; what a worker that received it may put into its own
// output is received possibly. Rules of the coordinator itself (when, limits)
// hand nothing out.
package exposure

import (
	"cmp"
	"slices"
	"strings"

	"github.com/outerloop-dev/outerloop/pkg/loop"
	"github.com/outerloop-dev/outerloop/pkg/registry"
	"github.com/outerloop-dev/outerloop/pkg/schema"
)

// Kind is who receives.
type Kind string

// The kinds of receivers.
const (
	Worker Kind = "worker"
	// Tool is a connection that a receiving worker may use.
	Tool  Kind = "tool"
	Model Kind = "model"
	// People is a group that is asked.
	People Kind = "people"
	// Fact and Event are shared places that the value reaches.
	Fact  Kind = "fact"
	Event Kind = "event"
)

// Receiver is one who gets a field.
type Receiver struct {
	// ID is the kind and name.
	ID   string `json:"id"`
	Kind Kind   `json:"kind"`
	Name string `json:"name"`
	// Certain: a declaration passes the field on; else it may come with what a
	// worker that has it gives.
	Certain bool `json:"certain"`
	// Through are the places, "LOOP/STEP", sorted.
	Through []string `json:"through"`
	// Detail says more: members of a group, a model's provider.
	Detail string `json:"detail,omitempty"`
}

// Field is a sensitive field and its receivers.
type Field struct {
	// ID is where it comes from, and its path.
	ID string `json:"id"`
	// Fact, or Loop and Step, is the origin; a Loop without Step is the loop's input.
	Fact string `json:"fact,omitempty"`
	Loop string `json:"loop,omitempty"`
	Step string `json:"step,omitempty"`
	Path string `json:"path"`
	// Declared: marked in the project file; else the field's name or format
	// looks personal, and nothing marks it.
	Declared  bool       `json:"declared"`
	Receivers []Receiver `json:"receivers"`
}

// Of lists all fields that are marked sensitive, and those that look personal
// without a mark, with their receivers. The result is sorted and never nil.
func Of(project *registry.Project, loops map[string]*loop.Definition) []Field {
	out := []Field{}
	for _, o := range origins(project, loops) {
		t := newTrace(project, loops, o)
		t.run()
		f := Field{Fact: o.fact, Loop: o.loop, Step: o.step, Path: strings.Join(o.path, "."), Declared: o.declared, Receivers: t.receivers()}
		f.ID = o.String()
		out = append(out, f)
	}
	slices.SortFunc(out, func(a, b Field) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// origin is where a sensitive value enters.
type origin struct {
	fact, loop, step string
	path             []string
	declared         bool
}

// String names the place.
func (o origin) String() string {
	field := strings.Join(o.path, ".")
	switch {
	case o.fact != "":
		return "fact " + o.fact + ": " + field
	case o.step != "":
		return "loop " + o.loop + ", output of " + o.step + ": " + field
	}
	return "loop " + o.loop + ", input: " + field
}

func origins(project *registry.Project, loops map[string]*loop.Definition) []origin {
	var out []origin
	for _, fact := range project.Facts {
		for _, path := range fact.Sensitive {
			out = append(out, origin{fact: fact.Name, path: strings.Split(path, "."), declared: true})
		}
	}
	names := make([]string, 0, len(loops))
	for name := range loops {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		out = append(out, unmarked(project, loops, loops[name])...)
	}
	return out
}

// unmarked finds fields that look personal where they enter a loop: in its
// input, and in outputs of steps that did not receive such a field before.
func unmarked(project *registry.Project, loops map[string]*loop.Definition, d *loop.Definition) []origin {
	var out []origin
	known := map[string]bool{} // steps that have such a field already: what they give comes of it
	add := func(o origin) {
		out = append(out, o)
		t := newTrace(project, loops, o)
		t.run()
		for _, step := range t.reached(d) {
			known[step] = true
		}
	}
	if d.Input != nil {
		for _, path := range personal(d.Input.Type()) {
			add(origin{loop: d.Loop.Name, path: path})
		}
	}
	for _, n := range d.Nodes {
		if n.Worker == nil || n.Worker.Output == nil || known[n.Path] {
			continue
		}
		for _, path := range personal(n.Worker.Output.Type()) {
			add(origin{loop: d.Loop.Name, step: n.Path, path: path})
		}
	}
	return out
}

// words are parts of field names that mostly stand for personal values.
var words = []string{"email", "phone", "mobile", "iban", "birth", "passport", "salary", "password", "address"}

// personal are the paths of fields that look personal; lists are passed through.
func personal(t *schema.Type) [][]string {
	var out [][]string
	var visit func(t *schema.Type, path []string)
	visit = func(t *schema.Type, path []string) {
		if t == nil || len(path) > 8 {
			return
		}
		if t.Kind == schema.String && len(t.Enum) == 0 && len(path) > 0 && (t.Format == "email" || looksPersonal(path[len(path)-1])) {
			out = append(out, slices.Clone(path))
		}
		visit(t.Elem, path)
		for _, f := range t.Fields() {
			visit(f.Type, append(slices.Clone(path), f.Name))
		}
		for _, v := range t.Variants {
			if t.Kind == schema.Union {
				visit(v, path)
			}
		}
	}
	visit(t, nil)
	slices.SortFunc(out, func(a, b []string) int { return slices.Compare(a, b) })
	return slices.CompactFunc(out, slices.Equal)
}

func looksPersonal(name string) bool {
	lower := strings.ToLower(name)
	return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(lower, word) })
}

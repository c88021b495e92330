package cost

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"github.com/outerloop-dev/outerloop/pkg/compile"
	"github.com/outerloop-dev/outerloop/pkg/loop"
)

// machine is the part of a compiled machine that costs depend on.
type machine struct {
	StartAt string            `json:"StartAt"`
	States  map[string]*state `json:"States"`
}

type state struct {
	Type       string `json:"Type"`
	Next       string `json:"Next"`
	Default    string `json:"Default"`
	Choices    []struct{ Next string }
	Branches   []*machine      `json:"Branches"`
	Processor  *processor      `json:"ItemProcessor"`
	Parameters json.RawMessage `json:"Parameters"`
}

type processor struct {
	machine
	Config struct{ Mode string } `json:"ProcessorConfig"`
}

// order is what a Task state asks for.
type order struct {
	QueueURL     string   `json:"QueueUrl"`
	FunctionName string   `json:"FunctionName"`
	MessageBody  *message `json:"MessageBody"`
	Payload      *message `json:"Payload"`
}

type message struct {
	Op   string `json:"op"`
	Step string `json:"step"`
	Next *struct {
		Block string    `json:"block"`
		Pages []float64 `json:"pages"`
	} `json:"next"`
}

func (o *order) message() *message {
	if o.MessageBody != nil {
		return o.MessageBody
	}
	return o.Payload
}

// usage is what one run uses where all goes well: no retry, no revision, no
// question to a person. Items make counts fractional.
type usage struct {
	Transitions float64
	// Steps are steps with a worker, by step and worker; Queued are those among
	// them that go through a queue.
	Steps  []stepUse
	Queued float64
	// Coordinator counts the machine's own calls of the coordinator.
	Coordinator float64
	// Children are executions of distributed Maps and runs of sub-loops.
	Children []childUse
	Maps     float64
}

type stepUse struct {
	Step, Worker string
	Times        float64
}

type childUse struct {
	Loop  *loop.Definition
	Times float64
}

// walker follows the way through a machine on which most states are entered.
type walker struct {
	def   *loop.Definition
	items func(block string) float64
	// workers are the workers' names by their token, pages the sizes of a
	// block's pages.
	workers map[string]string
	pages   map[string][]float64
	err     error
}

// walk counts what one run of a loop uses, from the compiled machine.
func walk(def *loop.Definition, items func(block string) float64) (usage, error) {
	text, err := compile.Compile(def)
	if err != nil {
		return usage{}, err
	}
	var m machine
	if err := json.Unmarshal(text, &m); err != nil {
		return usage{}, fmt.Errorf("reading the machine of %s: %w", def.Loop.Name, err)
	}
	w := &walker{def: def, items: items, workers: map[string]string{}, pages: map[string][]float64{}}
	for _, token := range compile.Substitutions(def) {
		w.workers[token.Text] = token.Name
	}
	w.findPages(&m)
	used := w.machine(&m, map[string]float64{})
	return used, w.err
}

// findPages collects the page sizes that questions to the coordinator name.
func (w *walker) findPages(m *machine) {
	for _, s := range m.States {
		if o := w.order(s); o != nil && o.message() != nil && o.message().Next != nil && len(o.message().Next.Pages) > 0 {
			w.pages[o.message().Next.Block] = o.message().Next.Pages
		}
		for _, branch := range s.Branches {
			w.findPages(branch)
		}
		if s.Processor != nil {
			w.findPages(&s.Processor.machine)
		}
	}
}

func (w *walker) order(s *state) *order {
	if s.Type != "Task" || len(s.Parameters) == 0 {
		return nil
	}
	var o order
	if err := json.Unmarshal(s.Parameters, &o); err != nil {
		w.err = fmt.Errorf("reading a state's parameters: %w", err)
		return nil
	}
	return &o
}

// machine counts one pass; left are the items that pages have still to share, by block.
func (w *walker) machine(m *machine, left map[string]float64) usage {
	return w.from(m, m.StartAt, left, map[string]usage{})
}

// from counts from a state to the end. Ways that a Catch or a Choice leads back
// do not occur: only Next and the dearest choice are followed.
func (w *walker) from(m *machine, name string, left map[string]float64, seen map[string]usage) usage {
	if name == "" {
		return usage{}
	}
	if used, ok := seen[name]; ok {
		return used
	}
	s, ok := m.States[name]
	if !ok {
		w.err = fmt.Errorf("the machine has no state %q", name)
		return usage{}
	}
	seen[name] = usage{} // a circle counts once
	used := w.state(name, s, left)
	used.Transitions++
	rest := w.from(m, s.Next, left, seen)
	if s.Type == "Choice" {
		rest = w.dearest(m, s, left, seen)
	}
	used.add(rest, 1)
	seen[name] = used
	return used
}

func (w *walker) dearest(m *machine, s *state, left map[string]float64, seen map[string]usage) usage {
	best := w.from(m, s.Default, left, seen)
	for _, choice := range s.Choices {
		if way := w.from(m, choice.Next, left, seen); way.Transitions > best.Transitions {
			best = way
		}
	}
	return best
}

// state counts what a state uses beside being entered.
func (w *walker) state(name string, s *state, left map[string]float64) usage {
	var used usage
	switch s.Type {
	case "Task":
		w.task(s, &used)
	case "Parallel":
		for _, branch := range s.Branches {
			used.add(w.machine(branch, left), 1)
		}
	case "Map":
		w.mapState(name, s, left, &used)
	}
	return used
}

func (w *walker) task(s *state, used *usage) {
	o := w.order(s)
	if o == nil || o.message() == nil {
		return
	}
	if worker := w.workers[o.QueueURL]; worker != "" {
		used.Steps = append(used.Steps, stepUse{o.message().Step, worker, 1})
		used.Queued++
		return
	}
	if worker := w.workers[o.FunctionName]; worker != "" {
		used.Steps = append(used.Steps, stepUse{o.message().Step, worker, 1})
		return
	}
	used.Coordinator++
	if n, ok := w.def.Node(o.message().Step); ok && n.Sub != nil && o.message().Op == "start_child" {
		used.Children = append(used.Children, childUse{n.Sub, 1})
	}
}

// mapState counts a block over items: an inline Map, or a distributed one whose
// children share the items.
func (w *walker) mapState(name string, s *state, left map[string]float64, used *usage) {
	block := strings.TrimSuffix(strings.TrimSuffix(name, ".pages"), ".page")
	items, inside := left[block]
	if !inside {
		items = w.items(block)
	}
	if s.Processor.Config.Mode != "DISTRIBUTED" {
		used.add(w.machine(&s.Processor.machine, without(left, block, 0)), items)
		return
	}
	sizes := w.pages[block]
	size := 1.0
	if level := strings.Count(strings.TrimPrefix(name, block), ".page"); level < len(sizes) {
		size = sizes[level]
	}
	children := math.Ceil(items / size)
	if children == 0 {
		return
	}
	used.Maps += children
	used.add(w.machine(&s.Processor.machine, without(left, block, items/children)), children)
}

// without is a copy in which a block's items stand anew; 0 takes them out.
func without(left map[string]float64, block string, items float64) map[string]float64 {
	out := map[string]float64{}
	for name, n := range left {
		out[name] = n
	}
	if items > 0 {
		out[block] = items
	} else {
		delete(out, block)
	}
	return out
}

func (u *usage) add(o usage, times float64) {
	u.Transitions += o.Transitions * times
	u.Queued += o.Queued * times
	u.Coordinator += o.Coordinator * times
	u.Maps += o.Maps * times
	for _, s := range o.Steps {
		s.Times *= times
		u.Steps = append(u.Steps, s)
	}
	for _, c := range o.Children {
		c.Times *= times
		u.Children = append(u.Children, c)
	}
}

package sim

import (
	"slices"
	"strings"

	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// Precondition is one condition of the protocol, and how to take it away: a
// reader is shown what it would see without it, or a write goes out without it.
type Precondition struct {
	Name string
	// Says is the condition in a few words.
	Says string
	// Ops are the operations in which it holds; nil: all.
	Ops []string
	// Scenario is where it is looked for; empty: in any.
	Scenario string
	// Aims are faults that bring it about.
	Aims []Fault
	// Redundant says what else holds where it is taken away alone; empty: a seed shows it.
	Redundant string

	Read  func(*Sim, *store.Item)
	Write func(s *Sim, op store.Op) (changed store.Op, keep bool)
	// Worker is a rule of the workers' wrapper, Engine a call that is not made.
	Worker string
	Engine string
}

func (p *Precondition) in(op string) bool { return p.Ops == nil || slices.Contains(p.Ops, op) }

// without tells whether a rule of the worker's wrapper, or a call of the engine
// in this operation, is taken away.
func (s *Sim) without(rule string) bool {
	w := s.Options.Without
	return w != nil && (w.Worker == rule || w.Engine == rule && w.in(s.cur.op))
}

// Reading: what a reader sees instead.

func kind(item *store.Item) string {
	if strings.HasPrefix(item.Sort, "STEP#") {
		return "STEP"
	}
	if item.Sort == "RUN" {
		return "RUN"
	}
	name, _, _ := strings.Cut(item.Part, "#")
	return name
}

// shown puts a record's body and numbers in place of an item's.
func shown(item *store.Item, put store.Op) {
	item.Body, item.Numbers = put.Item.Body, put.Item.Numbers
}

func seeStep(change func(*Sim, *record.Step)) func(*Sim, *store.Item) {
	return func(s *Sim, item *store.Item) {
		if kind(item) == "STEP" {
			step := must(record.DecodeStep(item))
			change(s, step)
			shown(item, step.Put())
		}
	}
}

func seeRun(change func(*Sim, *record.Run)) func(*Sim, *store.Item) {
	return func(s *Sim, item *store.Item) {
		if kind(item) == "RUN" {
			run := must(record.DecodeRun(item))
			change(s, run)
			shown(item, run.Put())
		}
	}
}

func seeAction(change func(*Sim, *record.Action)) func(*Sim, *store.Item) {
	return func(s *Sim, item *store.Item) {
		if kind(item) == "ACT" {
			act := must(record.DecodeAction(item))
			change(s, act)
			shown(item, act.Put())
		}
	}
}

func seeApproval(change func(*Sim, *record.Approval)) func(*Sim, *store.Item) {
	return func(s *Sim, item *store.Item) {
		if kind(item) == "APPROVAL" {
			ap := must(record.DecodeApproval(item))
			change(s, ap)
			shown(item, ap.Put())
		}
	}
}

// Writing: what goes out instead.

// unversioned lets the last writer of a kind win.
func unversioned(of string) func(*Sim, store.Op) (store.Op, bool) {
	return func(s *Sim, op store.Op) (store.Op, bool) {
		now := s.shadow[op.Item.Key]
		if now != nil && kind(&op.Item) == of && op.Version > 0 {
			op.Version, op.Item.Version = now.Version, now.Version
		}
		return op, true
	}
}

// unchecked takes conditions on a number of a kind away.
func unchecked(of string, numbers ...string) func(*Sim, store.Op) (store.Op, bool) {
	return func(_ *Sim, op store.Op) (store.Op, bool) {
		if kind(&op.Item) == of {
			op.Where = slices.DeleteFunc(slices.Clone(op.Where), func(c store.Cond) bool { return slices.Contains(numbers, c.Number) })
		}
		return op, true
	}
}

// dropped leaves operations of a kind out.
func dropped(of string, kinds ...store.Kind) func(*Sim, store.Op) (store.Op, bool) {
	return func(_ *Sim, op store.Op) (store.Op, bool) {
		return op, !(kind(&op.Item) == of && slices.Contains(kinds, op.Kind))
	}
}

// overwriting lets a create replace what stands there.
func overwriting(of string) func(*Sim, store.Op) (store.Op, bool) {
	return func(s *Sim, op store.Op) (store.Op, bool) {
		if now := s.shadow[op.Item.Key]; now != nil && kind(&op.Item) == of && op.Kind == store.KindCreate {
			op.Kind, op.Version, op.Item.Version = store.KindReplace, now.Version, now.Version
		}
		return op, true
	}
}

// writeStep changes the steps that are written.
func writeStep(change func(*Sim, *record.Step)) func(*Sim, store.Op) (store.Op, bool) {
	return func(s *Sim, op store.Op) (store.Op, bool) {
		if kind(&op.Item) == "STEP" && (op.Kind == store.KindReplace || op.Kind == store.KindCreate) {
			step := must(record.DecodeStep(&op.Item))
			change(s, step)
			put := step.Put()
			op.Item.Body, op.Item.Numbers = put.Item.Body, put.Item.Numbers
		}
		return op, true
	}
}

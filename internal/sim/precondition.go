package sim

import (
	"slices"

	"github.com/outerloop-dev/outerloop/pkg/store"
)

// Precondition is one condition of the protocol, and how to take it away.
type Precondition struct {
	Name string
	// Ops are the operations in which it holds; nil: all.
	Ops []string
	// Read changes what a reader sees, Write what is written; keep false leaves an operation out.
	Read  func(*Sim, *store.Item)
	Write func(s *Sim, op store.Op) (changed store.Op, keep bool)
}

func (p *Precondition) in(op string) bool { return p.Ops == nil || slices.Contains(p.Ops, op) }

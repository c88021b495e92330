package coordinator

import (
	"context"
	"errors"
	"fmt"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/gate"
	"github.com/outerloop-dev/outerloop/pkg/loop"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// view is what one operation has read of one run. It is thrown away with the
// operation; a second try reads anew.
type view struct {
	c     *Coordinator
	run   *record.Run
	def   *loop.Definition
	steps map[record.Address]*record.Step
	// whole bounds where an address that is not in steps is known to be absent.
	whole record.Address
	input any
	items map[record.Address]any
	facts map[string]any
	// clashes are facts to which another step of the run gave another value.
	clashes []Alert
	// work is the worker's own input, for a charter's rules; resolveWork computes
	// it where it was not yet.
	work        any
	resolveWork func(context.Context) error
}

// errNotSettled says that something is read before it is there: the machine
// moved although the store did not.
var errNotSettled = errors.New("is not settled")

// definitionOf gives the pinned definition of a run, which never changes, so
// that it is read only once by a process.
func (c *Coordinator) definitionOf(ctx context.Context, run string) (*loop.Definition, error) {
	hash, known := c.pins.get(run)
	if !known {
		r, err := one(ctx, c, record.RunKey(run), c.records.Run)
		if err != nil {
			return nil, fmt.Errorf("reading run: %w", err)
		}
		if r == nil {
			return nil, fmt.Errorf("%s: %w", run, ErrNoRun)
		}
		hash = r.Definition
		c.pins.put(run, hash)
	}
	def, err := c.cfg.Definitions.Definition(ctx, hash)
	if err != nil {
		return nil, fmt.Errorf("reading definition %s: %w", hash, err)
	}
	return def, nil
}

// look reads the run with the records at the addresses in one read.
func (c *Coordinator) look(ctx context.Context, run string, def *loop.Definition, at ...record.Address) (*view, error) {
	v := &view{c: c, def: def, steps: map[record.Address]*record.Step{}, items: map[record.Address]any{}}
	keys := []store.Key{record.RunKey(run)}
	seen := map[record.Address]bool{}
	var wanted []record.Address
	for _, a := range at {
		if !seen[a] {
			seen[a] = true
			wanted = append(wanted, a)
			keys = append(keys, record.StepKey(run, a))
		}
	}
	items, err := c.get(ctx, keys...)
	if err != nil {
		return nil, fmt.Errorf("reading run: %w", err)
	}
	if v.run, err = c.records.Run(items[0]); err != nil {
		return nil, err
	}
	if v.run == nil {
		return nil, fmt.Errorf("%s: %w", run, ErrNoRun)
	}
	return v, v.take(wanted, items[1:])
}

func (v *view) take(at []record.Address, items []*store.Item) error {
	for i, a := range at {
		step, err := v.c.records.Step(items[i])
		if err != nil {
			return err
		}
		v.steps[a] = step
	}
	return nil
}

// fetch reads the records at the addresses that were not read yet.
func (v *view) fetch(ctx context.Context, at ...record.Address) error {
	var wanted []record.Address
	var keys []store.Key
	for _, a := range at {
		if _, known := v.steps[a]; known || v.covers(a) {
			continue
		}
		v.steps[a] = nil
		wanted, keys = append(wanted, a), append(keys, record.StepKey(v.run.ID, a))
	}
	if len(wanted) == 0 {
		return nil
	}
	items, err := v.c.get(ctx, keys...)
	if err != nil {
		return fmt.Errorf("reading steps: %w", err)
	}
	return v.take(wanted, items)
}

func (v *view) covers(a record.Address) bool {
	return v.whole != "" && len(a) > len(v.whole) && a[:len(v.whole)] == v.whole && a[len(v.whole)] == '/'
}

// addressesOf are the records that tell of a node: its own, and its reviewer's.
func addressesOf(n *loop.Node, items []int) []record.Address {
	a := address(n, items)
	if n.Review != nil {
		return []record.Address{a, reviewOf(a)}
	}
	return []record.Address{a}
}

// around are the records that a step's work depends on: itself, what it waits
// for, and the blocks whose items it is in.
func around(n *loop.Node, items []int) []record.Address {
	at := addressesOf(n, items)
	for _, d := range n.Needs {
		at = append(at, addressesOf(d.Node, items)...)
	}
	for p := n.Parent; p != nil; p = p.Parent {
		if p.Step != nil {
			at = append(at, address(p, items))
		}
	}
	return at
}

// result is what a node came to, its review and its join included.
type result struct {
	settled bool
	outcome outerloop.Outcome
	output  record.Value
	reason  string
	// missing names the step without whose output there is none.
	missing string
	step    *record.Step
}

// of combines a step's record with its reviewer's: the reviewer has the last word.
func (v *view) of(n *loop.Node, items []int) result {
	step := v.steps[address(n, items)]
	if step == nil || step.State != outerloop.StepSettled {
		return result{step: step}
	}
	out := result{settled: true, outcome: step.Outcome, output: step.Output, reason: step.Reason, missing: step.Missing, step: step}
	if n.Review == nil || step.Outcome != outerloop.OutcomeCompleted {
		return out
	}
	review := v.steps[reviewOf(address(n, items))]
	if review == nil || review.State != outerloop.StepSettled {
		return result{step: step}
	}
	out.outcome, out.reason = review.Outcome, review.Reason
	if review.Approved || review.Outcome == outerloop.OutcomeSubstituted {
		out.output = review.Output
	}
	return out
}

// outcomeOf is of for every kind of node: blocks are joined, when nobody did so yet.
func (v *view) outcomeOf(ctx context.Context, n *loop.Node, items []int) (result, error) {
	if err := v.fetch(ctx, addressesOf(n, items)...); err != nil {
		return result{}, err
	}
	switch n.Kind {
	case loop.KindEach, loop.KindBranches, loop.KindSwitch:
		return v.joined(ctx, n, items)
	case loop.KindGroup, loop.KindCase:
		return v.bodyResult(ctx, n, items)
	}
	return v.of(n, items), nil
}

// delivered is a delivery with the node it is for.
type delivered struct {
	*view
	gate.Delivery
	node   *loop.Node
	review bool
	index  []int
	at     record.Address
}

// step is the delivery's own record, nil when absent. What it has reserved is
// what the run says: whatever closes a run takes the reservations back.
func (d *delivered) step() *record.Step {
	s := d.steps[d.at]
	if s != nil && s.Reserved != 0 {
		s.Reserved = d.run.Numbers[s.ReservedAs()]
	}
	return s
}

// receive reads what a delivery is about, in one read.
func (c *Coordinator) receive(ctx context.Context, in gate.Delivery) (*delivered, error) {
	def, err := c.definitionOf(ctx, in.Run)
	if err != nil {
		return nil, err
	}
	n, review, ok := lookup(def, in.Step)
	if !ok {
		return nil, fmt.Errorf("run %s has no step %q: %w", in.Run, in.Step, ErrNotAllowed)
	}
	index, err := outerloop.ParseItem(in.Item)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", err, ErrNotAllowed)
	}
	if len(index) != n.Depth {
		return nil, fmt.Errorf("step %q lies in %d blocks of items, the item address %q has %d: %w", in.Step, n.Depth, in.Item, len(index), ErrNotAllowed)
	}
	at := around(n, index)
	if in.Next != nil {
		if next, ok := def.Node(in.Next.Block); ok {
			at = append(at, address(next, index))
		}
	}
	v, err := c.look(ctx, in.Run, def, at...)
	if err != nil {
		return nil, err
	}
	d := &delivered{view: v, Delivery: in, node: n, review: review, index: index, at: address(n, index)}
	if review {
		d.at = reviewOf(d.at)
	}
	return d, nil
}

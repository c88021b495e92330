package store

import (
	"maps"
	"math"
)

// Evaluate decides one operation against the item that stands under its key
// (nil: none) and gives what stands there afterwards (nil: none). ok is false
// when the precondition does not hold, which includes: a number would leave
// int64, and the item was last changed by this very write (see Won). It is how
// an in-process adapter carries out a write; the operation must be valid.
func Evaluate(id string, op Op, current *Item) (next *Item, ok bool) {
	if op.Kind == KindCreate {
		if current != nil {
			return current, false
		}
		return stored(id, op.Item, 1), true
	}
	if !holds(id, op, current) {
		return current, false
	}
	switch op.Kind {
	case KindReplace:
		return stored(id, op.Item, current.Version+1), true
	case KindAdd:
		return added(id, op, current)
	case KindRemove:
		return nil, true
	default:
		return current, true
	}
}

func holds(id string, op Op, current *Item) bool {
	if current == nil || op.Version != 0 && op.Version != current.Version {
		return false
	}
	if op.changes() && id != "" && current.WriteID == id {
		return false
	}
	for _, cond := range op.Where {
		if !cond.Holds(current) {
			return false
		}
	}
	return true
}

func (op Op) changes() bool { return op.Kind != KindCheck }

func stored(id string, item Item, version int64) *Item {
	item.Version, item.WriteID = version, id
	item.Numbers = maps.Clone(item.Numbers)
	return &item
}

func added(id string, op Op, current *Item) (*Item, bool) {
	numbers := make(map[string]int64, len(current.Numbers)+len(op.Deltas))
	maps.Copy(numbers, current.Numbers)
	for name, delta := range op.Deltas {
		sum, ok := sum(numbers[name], delta)
		if !ok {
			return current, false
		}
		numbers[name] = sum
	}
	for _, name := range op.Drop {
		delete(numbers, name)
	}
	next := *current
	next.Version, next.WriteID, next.Numbers = current.Version+1, id, numbers
	return &next, true
}

func sum(a, b int64) (int64, bool) {
	if b > 0 && a > math.MaxInt64-b || b < 0 && a < math.MinInt64-b {
		return 0, false
	}
	return a + b, true
}

// Holds tells whether a condition holds on an item.
func (c Cond) Holds(item *Item) bool {
	value, present := item.Numbers[c.Number]
	if c.Is == IsAbsent {
		return !present
	}
	if !present {
		return false
	}
	switch c.Is {
	case IsEqual:
		return value == c.Value
	case IsAtLeast:
		return value >= c.Value
	default:
		return value <= c.Value
	}
}

// Failed makes the *ConditionError of a write whose operation first failed,
// from what stands under the keys of the operations, in their order.
func Failed(id string, ops []Op, first int, current []*Item) *ConditionError {
	return &ConditionError{
		Op: first, Key: ops[first].Item.Key, Current: current[first], Won: won(id, ops, current),
	}
}

// won demands the id on every item that the write would leave behind, and the
// absence of every item that it would remove. A write that only removes is
// never recognised.
func won(id string, ops []Op, current []*Item) bool {
	left := 0
	for i, op := range ops {
		switch {
		case op.Kind == KindCheck:
		case op.Kind == KindRemove:
			if current[i] != nil {
				return false
			}
		case current[i] == nil || current[i].WriteID != id:
			return false
		default:
			left++
		}
	}
	return id != "" && left > 0
}

package coordinator

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// An attempt's money stands in its run's numbers under one name: what its own
// model calls may cost, below it what its tool calls may cost, and what those
// have reserved out of that. A tool call thus spends its caller's money and
// never more (R49). Whatever ends an attempt or takes it over does so with all
// that stands under its name: with tool calls whose attempts were lost.

// payer is the reservation that a tool call's money is taken from, its caller's;
// empty: the run pays. An admission instead says that the attempt waits: for
// money that others have reserved, or for its caller to run.
func (q *call) payer(ctx context.Context, now time.Time, inputBytes int) (string, *admission, error) {
	caller, _, isCall := callPath(string(q.at))
	if !isCall || q.estimate(inputBytes).total() == 0 {
		return "", q.waitsForMoney(now, inputBytes), nil
	}
	at := record.Address(caller)
	if err := q.fetch(ctx, at); err != nil {
		return "", nil, err
	}
	if s := q.steps[at]; s != nil && s.Nonce != "" {
		return s.ReservedAs(), nil, nil
	}
	out := later(now.Add(q.c.cfg.ResourcePoll), "its caller does not run any more")
	return "", &out, nil
}

// reserve gives the attempt its money and takes the dead attempt's over, in one
// operation on the run; nil: no money is involved. step is the claimed record,
// previous the name of the dead attempt's reservation.
func (q *call) reserve(step *record.Step, previous string) *store.Op {
	need, old := q.estimate(step.Input.Size), q.freed(previous)
	if need.total() == 0 && len(old.names) == 0 {
		return nil
	}
	step.Reserved = need.own
	deltas := map[string]int64{record.RunLeft: old.amount - need.total()}
	where := append(record.OpenAt(q.run.Gen), store.AtLeast(record.RunLeft, need.total()-old.amount))
	if step.Payer != "" {
		from := record.ForCalls(step.Payer)
		deltas[record.RunLeft], deltas[from] = old.amount, -need.total()
		where[len(where)-1] = store.AtLeast(from, need.total())
	}
	if need.own > 0 {
		deltas[step.ReservedAs()] = need.own
	}
	if need.calls > 0 {
		deltas[record.ForCalls(step.ReservedAs())] = need.calls
	}
	op := store.Add(record.RunKey(q.run.ID), deltas, append(where, old.where...)...).Dropping(old.names...)
	return &op
}

// noMoney tells why the attempt cannot be paid; nil: it can.
func (q *call) noMoney(payer string, inputBytes int) *fault {
	need := q.estimate(inputBytes).total()
	left, whose := q.run.Numbers[record.RunLeft], "the budget"
	if s := q.step(); s != nil {
		left += q.freed(s.ReservedAs()).amount
	}
	if payer != "" {
		left, whose = q.run.Numbers[record.ForCalls(payer)], "its caller's share of the budget"
	}
	if need <= left || need == 0 {
		return nil
	}
	return q.exhausted(fmt.Sprintf("%s has %s left, the next attempt may cost %s", whose, money(left), money(need)))
}

// waitsForMoney says that the run has too little for the attempt now, but
// enough once what others have reserved comes back: that is no failure.
func (q *call) waitsForMoney(now time.Time, inputBytes int) *admission {
	need, left := q.estimate(inputBytes).total(), q.run.Numbers[record.RunLeft]
	if s := q.step(); s != nil {
		left += q.freed(s.ReservedAs()).amount
	}
	if need <= left || need > left+q.run.ReservedByOthers(q.step()) {
		return nil
	}
	out := later(now.Add(q.c.cfg.ResourcePoll), "waits for money that other steps have reserved")
	return &out
}

// freed is what an attempt's end takes from the run's numbers: their sum and
// names, and the conditions that they still stand: a tool call changes its
// caller's, and whoever ends a caller takes its tool calls' as well.
type freed struct {
	amount int64
	names  []string
	where  []store.Cond
}

// freed is all that stands under a reservation.
func (d *delivered) freed(reservation string) freed {
	var out freed
	held := d.run.Held(reservation)
	for _, name := range slices.Sorted(maps.Keys(held)) {
		out.amount += held[name]
		out.names = append(out.names, name)
		out.where = append(out.where, store.Equal(name, held[name]))
	}
	return out
}

// spend is the run's part of a write that ends an attempt: its reservation
// comes back, its cost is spent, overshoot included. Without money it checks the run.
func (q *call) spend(step *record.Step, cost int64) store.Op {
	step.Cost += cost
	if op := q.giveBack(step, cost, record.OpenAt(q.run.Gen)...); op != nil {
		return *op
	}
	return q.checkRun()
}

// giveBack ends an attempt's reservation in the run's numbers, less what it has
// cost; nil: there is none, and it cost nothing.
func (d *delivered) giveBack(step *record.Step, cost int64, where ...store.Cond) *store.Op {
	old := d.freed(step.ReservedAs())
	step.Reserved, step.Payer = 0, ""
	if cost == 0 && len(old.names) == 0 {
		return nil
	}
	deltas := map[string]int64{record.RunLeft: old.amount - cost}
	if cost != 0 {
		deltas[record.RunSpent] = cost
	}
	op := store.Add(record.RunKey(d.run.ID), deltas, slices.Concat(where, old.where)...).Dropping(old.names...)
	return &op
}

// returnReservation is the run's part of a write that takes money back from the
// attempt that had it; without money it checks the run.
func (d *delivered) returnReservation(step *record.Step) store.Op {
	return d.returnReservationWhere(step, record.OpenAt(d.run.Gen)...)
}

func (d *delivered) returnReservationWhere(step *record.Step, where ...store.Cond) store.Op {
	if op := d.giveBack(step, 0, where...); op != nil {
		return *op
	}
	return store.Check(record.RunKey(d.run.ID), where...)
}

// returnInto takes an attempt's money back in a run's record that is about to
// be put.
func returnInto(run *record.Run, step *record.Step) {
	for name, amount := range run.Held(step.ReservedAs()) {
		run.Numbers[record.RunLeft] += amount
		delete(run.Numbers, name)
	}
	step.Reserved, step.Payer = 0, ""
}

// money words micro-units without rounding what matters away.
func money(micros int64) string {
	text := fmt.Sprintf("%.6f", float64(micros)/micro)
	for strings.HasSuffix(text, "0") && text[len(text)-3] != '.' {
		text = text[:len(text)-1]
	}
	return text
}

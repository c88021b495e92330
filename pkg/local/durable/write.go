package durable

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/asl"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// write stores the change: what may go ahead first where it does not fit, then
// state, history and answered messages in one write.
func (ch *change) write() error {
	ex := ch.ex
	ex.Status = ex.x.Status()
	if ex.Status.Ended() && ex.Ended.IsZero() {
		ex.Ended = ch.now
	}
	state, due, parts, err := ch.state()
	if err != nil {
		return err
	}
	rows := historyRows(ex.Name, ch.history)
	ops := slices.Concat(state, rows, ch.with)
	for _, task := range ch.answered {
		ops = append(ops, store.Remove(messageKey(ex.sent[task], messageID(ex.Name, task)), 0))
	}
	if len(ops) > store.MaxOps {
		return fmt.Errorf("state and history of one step take %d rows: %w", len(ops), store.ErrTooLarge)
	}
	ahead := max(0, len(ops)+len(ch.before)-store.MaxOps)
	if err := ch.c.ahead(ch.ctx, ch.before[:ahead]); err != nil {
		return err
	}
	if err := ch.c.final(ch.ctx, append(ops, ch.before[ahead:]...)); err != nil {
		return err
	}
	ex.version++
	if due == nil || ex.due == nil || *due != *ex.due {
		ch.c.timers.left(ex.due)
	}
	ex.parts, ex.due = parts, due
	return nil
}

// state makes the operations that replace the record, and the snapshot unless
// the events since the last one are few.
func (ch *change) state() (ops []store.Op, due *store.IndexKey, parts []int64, err error) {
	ex := ch.ex
	due = ex.place(ch.now)
	if ch.journaled() {
		ex.journal = append(ex.journal, ch.journal...)
		ex.steps++
		body, err := ex.body(ex.journal)
		return []store.Op{ch.record(body, due)}, due, ex.parts, err
	}
	bodies, err := ex.encoded(ex.record)
	if err != nil {
		return nil, nil, nil, err
	}
	ex.journal, ex.steps = nil, 0
	ops = []store.Op{ch.record(bodies[0], due)}
	for i, body := range bodies[1:] {
		part := store.Item{Key: chunkKey(ex.Name, i+1), Body: body}
		if i < len(ex.parts) {
			part.Version = ex.parts[i]
			ops = append(ops, store.Replace(part))
		} else {
			ops = append(ops, store.Create(part))
		}
		parts = append(parts, part.Version+1)
	}
	for i := len(bodies) - 1; i < len(ex.parts); i++ {
		ops = append(ops, store.Remove(chunkKey(ex.Name, i+1), ex.parts[i]))
	}
	return ops, due, parts, nil
}

// journaled tells whether the stored snapshot still does, with the events since.
func (ch *change) journaled() bool {
	ex := ch.ex
	return len(ex.parts) > 0 && !ex.Status.Ended() && ex.steps < journalSteps && len(ex.journal)+len(ch.journal) <= journalBytes
}

// record makes the operation that writes the record.
func (ch *change) record(body []byte, due *store.IndexKey) store.Op {
	ex := ch.ex
	item := store.Item{Key: recordKey(ex.Name), Version: ex.version, Body: body, List: ex.list(), Due: due}
	if ex.version == 0 {
		return store.Create(item)
	}
	return store.Replace(item)
}

// place is the execution's key in the due index; one that stays hot keeps its key.
func (ex *execution) place(now time.Time) *store.IndexKey {
	if ex.hot() {
		if ex.due != nil && ex.due.Part == partHot {
			return ex.due
		}
		return &store.IndexKey{Part: partHot, Sort: dueKey(now, ex.Name)}
	}
	next := ex.next()
	if next.IsZero() {
		return nil
	}
	return &store.IndexKey{Part: partDue, Sort: dueKey(next, ex.Name)}
}

// ahead writes what may stand there already from an earlier, unfinished try.
func (c *Core) ahead(ctx context.Context, ops []store.Op) error {
	for batch := range slices.Chunk(ops, store.MaxOps) {
		err := c.apply(ctx, batch...)
		if err == nil {
			continue
		}
		if !errors.Is(err, store.ErrCondition) {
			return err
		}
		for _, op := range batch {
			if err := c.apply(ctx, op); err != nil && !errors.Is(err, store.ErrCondition) {
				return err
			}
		}
	}
	return nil
}

// final writes a change. An answered message that left its queue on its own is
// taken out, and one that stands there from an earlier try.
func (c *Core) final(ctx context.Context, ops []store.Op) error {
	for {
		err := c.apply(ctx, ops...)
		var cond *store.ConditionError
		if !errors.As(err, &cond) {
			return err
		}
		if cond.Won {
			return nil
		}
		op := ops[cond.Op]
		gone := op.Kind == store.KindRemove && cond.Current == nil
		there := op.Kind == store.KindCreate && cond.Current != nil && strings.HasPrefix(op.Item.Part, partQueue)
		if !gone && !there {
			return err
		}
		ops = slices.Delete(slices.Clone(ops), cond.Op, cond.Op+1)
	}
}

// historyRows makes one row of a step's history, more if it is large.
func historyRows(name string, events []asl.HistoryEvent) []store.Op {
	var ops []store.Op
	for len(events) > 0 {
		body, n := historyBody(events)
		if len(body) > chunk {
			body = squeeze(body) // one event with a large payload
		}
		ops = append(ops, store.Create(store.Item{Key: historyKey(name, events[0].ID), Body: body}))
		events = events[n:]
	}
	return ops
}

// historyBody encodes as many events as fit in a row, at least one.
func historyBody(events []asl.HistoryEvent) ([]byte, int) {
	body := append(make([]byte, 0, 400*len(events)), '[')
	for i, event := range events {
		end := len(body)
		if i > 0 {
			body = append(body, ',')
		}
		body = event.AppendJSON(body)
		if i > 0 && len(body) > chunk {
			return append(body[:end], ']'), i
		}
	}
	return append(body, ']'), len(events)
}

func historyKey(name string, first int64) store.Key {
	return store.Key{Part: "EXEC#" + name, Sort: fmt.Sprintf("%s%08d", sortHistory, first)}
}

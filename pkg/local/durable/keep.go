package durable

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/store"
)

// Fold compresses the histories of executions that have ended, at most limit of
// them, and answers how many it folded. It is housekeeping: call it when idle.
func (c *Core) Fold(ctx context.Context, limit int) (int, error) {
	unlock, err := c.lock()
	if err != nil {
		return 0, err
	}
	defer unlock()
	page, err := c.cfg.Store.List(ctx, store.Query{Index: store.ByList, Part: partEnded, Limit: limit})
	if err != nil {
		return 0, fmt.Errorf("folding histories: %w", err)
	}
	for _, item := range page.Items {
		if err := c.fold(ctx, item); err != nil {
			return 0, fmt.Errorf("folding the history of %s: %w", item.Part, err)
		}
	}
	return len(page.Items), nil
}

// fold writes the folded rows, then lets the record say so, then removes the
// others; children go before their parent.
func (c *Core) fold(ctx context.Context, item store.Item) error {
	rec, first, err := decodeRecord(item.Body)
	if err != nil || rec.Tell || rec.Folded || !rec.Status.Ended() {
		return err
	}
	if err := (Reader{c.cfg.Store}).eachChild(ctx, rec.Name, func(child store.Item) error { return c.fold(ctx, child) }); err != nil {
		return err
	}
	rows, err := Reader{c.cfg.Store}.rows(ctx, rec.Name, sortHistory)
	if err != nil {
		return err
	}
	events, err := decodeHistory(rows)
	if err != nil {
		return err
	}
	var ops []store.Op
	for len(events) > 0 {
		body, n := historyBody(events)
		key := store.Key{Part: item.Part, Sort: fmt.Sprintf("%s%08d", sortFolded, events[0].ID)}
		ops = append(ops, store.Create(store.Item{Key: key, Body: squeeze(body)}))
		events = events[n:]
	}
	rec.Folded = true
	line, err := json.Marshal(rec)
	if err != nil {
		return err
	}
	item.Body, item.List, item.Due = append(append(line, '\n'), first...), rec.list(), nil
	ops = append(ops, store.Replace(item))
	for _, row := range rows {
		ops = append(ops, store.Remove(row.Key, 0))
	}
	c.cache.drop(rec.Name)
	return c.ahead(ctx, ops)
}

// Prune deletes executions that ended before a time, at most limit of them, and
// answers how many it deleted. Names become free again.
func (c *Core) Prune(ctx context.Context, before time.Time, limit int) (int, error) {
	unlock, err := c.lock()
	if err != nil {
		return 0, err
	}
	defer unlock()
	done := 0
	for _, part := range []string{partFolded, partEnded} {
		page, err := c.cfg.Store.List(ctx, store.Query{
			Index: store.ByList, Part: part, To: store.TimeKey(before), Limit: max(1, limit-done),
		})
		if err != nil {
			return done, fmt.Errorf("pruning executions: %w", err)
		}
		for _, item := range page.Items {
			if err := c.remove(ctx, item); err != nil {
				return done, fmt.Errorf("pruning %s: %w", item.Part, err)
			}
			done++
		}
		if done >= limit {
			break
		}
	}
	return done, nil
}

// remove deletes all rows of an execution, its children first, the record last.
func (c *Core) remove(ctx context.Context, item store.Item) error {
	rec, _, err := decodeRecord(item.Body)
	if err != nil || rec.Tell || !rec.Status.Ended() {
		return err
	}
	if err := (Reader{c.cfg.Store}).eachChild(ctx, rec.Name, func(child store.Item) error { return c.remove(ctx, child) }); err != nil {
		return err
	}
	rows, err := Reader{c.cfg.Store}.rows(ctx, rec.Name, "")
	if err != nil {
		return err
	}
	c.cache.drop(rec.Name)
	slices.SortFunc(rows, func(a, b store.Item) int { return boolOrder(a.Sort == sortRecord, b.Sort == sortRecord) })
	var ops []store.Op
	for _, row := range rows {
		ops = append(ops, store.Remove(row.Key, 0))
	}
	return c.ahead(ctx, ops)
}

func boolOrder(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

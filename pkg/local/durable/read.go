package durable

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/asl"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// Description is an execution as DescribeExecution shows it.
type Description struct {
	Name        string
	Machine     string
	MachineName string
	Status      asl.Status
	Started     time.Time
	// Ended is zero while it runs.
	Ended  time.Time
	Output json.RawMessage
	// Error and Cause are nil where none was given.
	Error, Cause *string
}

// Reader reads executions from a store, also one opened for reading beside its owner.
type Reader struct{ Store store.Store }

// Describe reads one execution. Error: ErrAbsent.
func (r Reader) Describe(ctx context.Context, name string) (Description, error) {
	items, err := r.Store.Get(ctx, recordKey(name))
	if err != nil {
		return Description{}, fmt.Errorf("reading execution %s: %w", name, err)
	}
	if items[0] == nil {
		return Description{}, fmt.Errorf("%w: %s", ErrAbsent, name)
	}
	return r.describe(ctx, items[0])
}

func (r Reader) describe(ctx context.Context, item *store.Item) (Description, error) {
	rec, first, err := decodeRecord(item.Body)
	if err != nil {
		return Description{}, err
	}
	d := Description{
		Name: rec.Name, Machine: rec.Machine, MachineName: rec.MachineName,
		Status: rec.Status, Started: rec.Created, Ended: rec.Ended,
	}
	if !rec.begun() {
		d.Status = asl.Running
	}
	if !rec.Status.Ended() {
		return d, nil
	}
	whole, err := (&Core{cfg: Config{Store: readOnly{r.Store}}}).snapshot(ctx, rec, first)
	if err != nil {
		return Description{}, err
	}
	var end struct {
		Output json.RawMessage `json:"output"`
		Error  *string         `json:"error"`
		Cause  *string         `json:"cause"`
	}
	if err := json.Unmarshal(whole, &end); err != nil {
		return Description{}, fmt.Errorf("reading execution %s: %w", rec.Name, err)
	}
	d.Output, d.Error, d.Cause = end.Output, end.Error, end.Cause
	return d, nil
}

// readOnly lets a plain store be read where a pipeline is expected.
type readOnly struct{ store.Store }

// Apply is refused.
func (readOnly) Apply(context.Context, string, ...store.Op) error { return store.ErrReadOnly }

// Sync has nothing to wait for.
func (readOnly) Sync(context.Context) error { return nil }

// History reads all history events of an execution, in order. Error: ErrAbsent.
func (r Reader) History(ctx context.Context, name string) ([]asl.HistoryEvent, error) {
	items, err := r.Store.Get(ctx, recordKey(name))
	if err != nil {
		return nil, fmt.Errorf("reading execution %s: %w", name, err)
	}
	if items[0] == nil {
		return nil, fmt.Errorf("%w: %s", ErrAbsent, name)
	}
	rec, _, err := decodeRecord(items[0].Body)
	if err != nil {
		return nil, err
	}
	prefix := sortHistory
	if rec.Folded {
		prefix = sortFolded
	}
	rows, err := r.rows(ctx, name, prefix)
	if err != nil {
		return nil, fmt.Errorf("reading history of %s: %w", name, err)
	}
	return decodeHistory(rows)
}

// rows lists the rows of an execution with a prefix.
func (r Reader) rows(ctx context.Context, name, prefix string) ([]store.Item, error) {
	query := store.Query{Part: "EXEC#" + name, Prefix: prefix, Limit: 1000}
	var rows []store.Item
	for {
		page, err := r.Store.List(ctx, query)
		if err != nil {
			return nil, err
		}
		rows = append(rows, page.Items...)
		if page.Next == "" {
			return rows, nil
		}
		query.After = page.Next
	}
}

func decodeHistory(rows []store.Item) ([]asl.HistoryEvent, error) {
	var all []asl.HistoryEvent
	for _, row := range rows {
		body, err := expand(row.Body)
		if err != nil {
			return nil, fmt.Errorf("reading %s/%s: %w", row.Part, row.Sort, err)
		}
		var events []asl.HistoryEvent
		if err := json.Unmarshal(body, &events); err != nil {
			return nil, fmt.Errorf("reading %s/%s: %w", row.Part, row.Sort, err)
		}
		all = append(all, events...)
	}
	return all, nil
}

// List reads executions, newest first: those that run, then those that ended.
// Children of Maps are not listed. limit 0: all.
func (r Reader) List(ctx context.Context, limit int) ([]Description, error) {
	var all []Description
	for _, part := range []string{partRunning, partEnded, partFolded} {
		query := store.Query{Index: store.ByList, Part: part, Descending: true, Limit: 200}
		for {
			page, err := r.Store.List(ctx, query)
			if err != nil {
				return nil, fmt.Errorf("listing executions: %w", err)
			}
			for _, item := range page.Items {
				d, err := r.describe(ctx, &item)
				if err != nil {
					return nil, fmt.Errorf("listing executions: %w", err)
				}
				if all = append(all, d); limit > 0 && len(all) == limit {
					return all, nil
				}
			}
			if query.After = page.Next; query.After == "" {
				break
			}
		}
	}
	return all, nil
}

// squeeze and expand compress rows; plain JSON is left as it is by expand.
func squeeze(body []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, err := w.Write(body)
	if err = errors.Join(err, w.Close()); err != nil {
		return body // a buffer takes everything; if not, the row stays plain
	}
	return out.Bytes()
}

func expand(body []byte) ([]byte, error) {
	if !bytes.HasPrefix(body, []byte{0x1f, 0x8b}) {
		return body, nil
	}
	r, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

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

// fold writes the folded rows, then lets the record say so, then removes the others.
func (c *Core) fold(ctx context.Context, item store.Item) error {
	rec, first, err := decodeRecord(item.Body)
	if err != nil || rec.Tell {
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
		body, n, err := historyBody(events)
		if err != nil {
			return err
		}
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

// remove deletes all rows of an execution, the record last.
func (c *Core) remove(ctx context.Context, item store.Item) error {
	rec, _, err := decodeRecord(item.Body)
	if err != nil || rec.Tell {
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

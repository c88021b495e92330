package durable

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
	whole, _, err := (&Core{cfg: Config{Store: readOnly{r.Store}}}).snapshot(ctx, rec, first)
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

// Each visits executions, newest first: those that run, then those that ended.
// Children of Maps are left out. visit answers whether to go on.
func (r Reader) Each(ctx context.Context, visit func(Description) bool) error {
	for _, part := range []string{partRunning, partEnded, partFolded} {
		query := store.Query{Index: store.ByList, Part: part, Descending: true, Limit: 200}
		for {
			page, err := r.Store.List(ctx, query)
			if err != nil {
				return fmt.Errorf("listing executions: %w", err)
			}
			for _, item := range page.Items {
				d, err := r.describe(ctx, &item)
				if err != nil {
					return fmt.Errorf("listing executions: %w", err)
				}
				if !visit(d) {
					return nil
				}
			}
			if query.After = page.Next; query.After == "" {
				break
			}
		}
	}
	return nil
}

// Children are the names of the child executions of an execution's distributed
// Maps, in the order in which they were started.
func (r Reader) Children(ctx context.Context, name string) ([]string, error) {
	var names []string
	err := r.eachChild(ctx, name, func(item store.Item) error {
		rec, _, err := decodeRecord(item.Body)
		if err == nil {
			names = append(names, rec.Name)
		}
		return err
	})
	return names, err
}

// eachChild visits the records of an execution's children.
func (r Reader) eachChild(ctx context.Context, name string, visit func(store.Item) error) error {
	query := store.Query{Index: store.ByList, Part: partChildren + name, Limit: 200}
	for {
		page, err := r.Store.List(ctx, query)
		if err != nil {
			return fmt.Errorf("listing children of %s: %w", name, err)
		}
		for _, item := range page.Items {
			if err := visit(item); err != nil {
				return err
			}
		}
		if query.After = page.Next; query.After == "" {
			return nil
		}
	}
}

// Registered is a machine that has a name.
type Registered struct {
	Name    string    `json:"name"`
	Hash    string    `json:"hash"`
	Created time.Time `json:"created"`
}

func machineKey(hash string) store.Key { return store.Key{Part: "MACHINE", Sort: hash} }
func nameKey(name string) store.Key    { return store.Key{Part: "MACHINE", Sort: "name/" + name} }

// Registered reads a registered machine; false if there is none of this name.
func (r Reader) Registered(ctx context.Context, name string) (reg Registered, ok bool, err error) {
	items, err := r.Store.Get(ctx, nameKey(name))
	if err != nil || items[0] == nil {
		return reg, false, err
	}
	if err := json.Unmarshal(items[0].Body, &reg); err != nil {
		return reg, false, fmt.Errorf("reading machine %s: %w", name, err)
	}
	return reg, true, nil
}

// Definition reads a published machine's definition. Error: ErrNoMachine.
func (r Reader) Definition(ctx context.Context, blobs store.Blobs, hash string) ([]byte, error) {
	items, err := r.Store.Get(ctx, machineKey(hash))
	if err != nil {
		return nil, fmt.Errorf("reading machine %s: %w", hash, err)
	}
	if items[0] == nil {
		return nil, fmt.Errorf("%w: %s", ErrNoMachine, hash)
	}
	return blobs.GetBlob(ctx, string(items[0].Body))
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

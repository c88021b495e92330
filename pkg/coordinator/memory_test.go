package coordinator_test

import (
	"context"
	"slices"
	"strings"

	"github.com/outerloop-dev/outerloop/pkg/store"
)

// memory is a store for tests of one goroutine: fast, exact, and open to the
// test, which sees every write.
type memory struct {
	items map[store.Key]*store.Item
	blobs map[string][]byte
	// wrote sees what changed, before and after, in the order of the operations.
	wrote   func(before, after []*store.Item)
	counted func(ops []store.Op, before, after []*store.Item)
	calls   int
}

func newMemory() *memory {
	return &memory{items: map[store.Key]*store.Item{}, blobs: map[string][]byte{}}
}

func clone(item *store.Item) *store.Item {
	if item == nil {
		return nil
	}
	out := *item
	out.Body = slices.Clone(item.Body)
	out.Numbers = map[string]int64{}
	for name, n := range item.Numbers {
		out.Numbers[name] = n
	}
	return &out
}

func (m *memory) Get(_ context.Context, keys ...store.Key) ([]*store.Item, error) {
	m.calls++
	if err := store.ValidateKeys(keys); err != nil {
		return nil, err
	}
	out := make([]*store.Item, len(keys))
	for i, key := range keys {
		out[i] = clone(m.items[key])
	}
	return out, nil
}

func (m *memory) List(_ context.Context, q store.Query) (store.Page, error) {
	m.calls++
	span, err := q.Span()
	if err != nil || span.None {
		return store.Page{}, err
	}
	type placed struct {
		sort string
		item *store.Item
	}
	var found []placed
	for _, item := range m.items {
		at := &store.IndexKey{Part: item.Part, Sort: item.Sort}
		switch q.Index {
		case store.ByList:
			at = item.List
		case store.ByDue:
			at = item.Due
		}
		if at != nil && at.Part == q.Part && at.Sort >= span.From && (span.To == "" || at.Sort < span.To) {
			found = append(found, placed{at.Sort, item})
		}
	}
	slices.SortFunc(found, func(a, b placed) int {
		c := strings.Compare(a.sort, b.sort)
		if c == 0 {
			c = strings.Compare(a.item.Part+a.item.Sort, b.item.Part+b.item.Sort)
		}
		if q.Descending {
			return -c
		}
		return c
	})
	var page store.Page
	for _, p := range found {
		if span.After != nil && (!q.Descending && p.sort <= span.After.Sort || q.Descending && p.sort >= span.After.Sort) {
			continue
		}
		if len(page.Items) == span.Limit {
			last := page.Items[len(page.Items)-1]
			at := last.Sort
			switch q.Index {
			case store.ByList:
				at = last.List.Sort
			case store.ByDue:
				at = last.Due.Sort
			}
			page.Next = q.NextAfter(at, last.Key)
			break
		}
		page.Items = append(page.Items, *clone(p.item))
	}
	return page, nil
}

func (m *memory) Write(_ context.Context, id string, ops ...store.Op) error {
	m.calls++
	if err := store.Validate(id, ops); err != nil {
		return err
	}
	before := make([]*store.Item, len(ops))
	after := make([]*store.Item, len(ops))
	first := -1
	for i, op := range ops {
		before[i] = m.items[op.Item.Key]
		next, ok := store.Evaluate(id, op, before[i])
		if !ok && first < 0 {
			first = i
		}
		after[i] = next
	}
	if first >= 0 {
		for i := range before {
			before[i] = clone(before[i])
		}
		return store.Failed(id, ops, first, before)
	}
	for i, op := range ops {
		if after[i] == nil {
			delete(m.items, op.Item.Key)
		} else {
			m.items[op.Item.Key] = after[i]
		}
	}
	if m.counted != nil {
		m.counted(ops, before, after)
	}
	if m.wrote != nil {
		m.wrote(before, after)
	}
	return nil
}

func (m *memory) PutBlob(_ context.Context, content []byte) (string, error) {
	ref := store.BlobRef(content)
	m.blobs[ref] = slices.Clone(content)
	return ref, nil
}

func (m *memory) GetBlob(_ context.Context, ref string) ([]byte, error) {
	content, ok := m.blobs[ref]
	if !ok {
		return nil, store.ErrNoBlob
	}
	return content, nil
}

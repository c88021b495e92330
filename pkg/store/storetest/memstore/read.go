package memstore

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/outerloop-dev/outerloop/pkg/store"
)

// Get reads items as of now, applied writes included.
func (s *Store) Get(ctx context.Context, keys ...store.Key) ([]*store.Item, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := store.ValidateKeys(keys); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	items := make([]*store.Item, len(keys))
	for i, key := range keys {
		items[i] = given(s.now.items[key])
	}
	return items, nil
}

// List reads one page as of now, the indexes included. It looks at every item
// of the store: it is meant for thousands, not millions.
func (s *Store) List(ctx context.Context, q store.Query) (store.Page, error) {
	if err := ctx.Err(); err != nil {
		return store.Page{}, err
	}
	span, err := q.Span()
	if err != nil || span.None {
		return store.Page{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	filling := q.Fill(span)
	for _, row := range s.rows(q, span) {
		if !filling.Add(given(row)) {
			break
		}
	}
	return filling.Page, nil
}

// Scan walks through all items, as of each call.
func (s *Store) Scan(ctx context.Context, after store.Key, limit int) ([]store.Item, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := store.ValidateScan(after, limit); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	keys := slices.SortedFunc(maps.Keys(s.now.items), compareKeys)
	var items []store.Item
	for _, key := range keys {
		if compareKeys(key, after) > 0 && len(items) < limit {
			items = append(items, *given(s.now.items[key]))
		}
	}
	return items, nil
}

// rows gives what follows the place after which the page begins, in order.
func (s *Store) rows(q store.Query, span store.Span) []*store.Item {
	order := func(a, b *store.Item) int {
		c := cmp.Or(cmp.Compare(a.PlaceIn(q.Index).Sort, b.PlaceIn(q.Index).Sort), compareKeys(a.Key, b.Key))
		if q.Descending {
			return -c
		}
		return c
	}
	var rows []*store.Item
	for _, item := range s.now.items {
		at := item.PlaceIn(q.Index)
		if at == nil || at.Part != q.Part || at.Sort < span.From || span.To != "" && at.Sort >= span.To {
			continue
		}
		if span.After == nil || follows(q, span.After, at.Sort, item.Key) {
			rows = append(rows, item)
		}
	}
	slices.SortFunc(rows, order)
	return rows
}

func follows(q store.Query, after *store.Place, sort string, key store.Key) bool {
	c := cmp.Compare(sort, after.Sort)
	if after.Key != nil {
		c = cmp.Or(c, compareKeys(key, *after.Key))
	}
	if q.Descending {
		return c < 0
	}
	return c > 0
}

func compareKeys(a, b store.Key) int {
	return cmp.Or(cmp.Compare(a.Part, b.Part), cmp.Compare(a.Sort, b.Sort))
}

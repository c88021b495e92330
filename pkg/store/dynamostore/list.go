package dynamostore

import (
	"context"
	"maps"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/outerloop-dev/outerloop/pkg/store"
)

// list reads one page of a query.
type list struct {
	store *Store
	q     store.Query
	span  store.Span
}

// page reads one entry more than it gives, to know whether it is the last.
func (l *list) page(ctx context.Context) (store.Page, error) {
	entries, err := l.entries(ctx)
	if err != nil {
		return store.Page{}, err
	}
	page, bytes := store.Page{}, 0
	for start := 0; start < len(entries); start += store.MaxGet {
		chunk := entries[start:min(start+store.MaxGet, len(entries))]
		if l.q.Index != store.ByPart {
			if chunk, err = l.items(ctx, chunk); err != nil {
				return store.Page{}, err
			}
		}
		for i, entry := range chunk {
			if start+i == l.span.Limit || bytes > store.PageBytes {
				before := entries[start+i-1]
				page.Next = l.q.NextAfter(before.sort, before.key)
				return page, nil
			}
			if entry.item != nil {
				bytes += len(entry.item.Body)
				page.Items = append(page.Items, *entry.item)
			}
		}
	}
	return page, nil
}

// entry is a place in a query and, once read, the item there.
type entry struct {
	sort string
	key  store.Key
	item *store.Item
}

// entries asks until it has one more than a page, so much that the page is
// full anyway, or all.
func (l *list) entries(ctx context.Context) ([]entry, error) {
	input := l.store.query(l.q, l.span)
	input.ExclusiveStartKey = l.start()
	var entries []entry
	for bytes := 0; ; {
		limit := int32(l.span.Limit + 1 - len(entries)) // at most 1,001
		input.Limit = &limit
		out, err := l.ask(ctx, input)
		if err != nil {
			return nil, err
		}
		for _, attrs := range out.Items {
			item, err := decode(attrs)
			if err != nil {
				return nil, err
			}
			if at := l.entry(item); l.span.To == "" || at.sort < l.span.To {
				entries, bytes = append(entries, at), bytes+len(item.Body)
			}
		}
		input.ExclusiveStartKey = out.LastEvaluatedKey
		if len(out.LastEvaluatedKey) == 0 || len(entries) > l.span.Limit || bytes > store.PageBytes+store.MaxBody {
			return entries, nil
		}
	}
}

func (l *list) ask(ctx context.Context, input *dynamodb.QueryInput) (out *dynamodb.QueryOutput, err error) {
	err = l.store.pace.read(ctx, func() (err error) {
		out, err = l.store.client.Query(ctx, input, once)
		return err
	})
	if err == nil {
		countRead(ctx, orNone(out.ConsumedCapacity))
	}
	return out, err
}

func (l *list) entry(item *store.Item) entry {
	at := entry{sort: item.Sort, key: item.Key, item: item}
	switch {
	case l.q.Index == store.ByList && item.List != nil:
		at.sort = item.List.Sort
	case l.q.Index == store.ByDue && item.Due != nil:
		at.sort = item.Due.Sort
	}
	return at
}

// start gives the place after which the page begins, in DynamoDB's form.
func (l *list) start() attributes {
	after := l.span.After
	if after == nil {
		return nil
	}
	if after.Key == nil {
		return keyAttributes(store.Key{Part: l.q.Part, Sort: after.Sort})
	}
	part, sort := IndexAttributes(l.q.Index)
	attrs := attributes{part: text(l.q.Part), sort: text(after.Sort)}
	maps.Copy(attrs, keyAttributes(*after.Key))
	return attrs
}

// items reads the items of index entries and leaves out those that have moved
// away since the index saw them.
func (l *list) items(ctx context.Context, entries []entry) ([]entry, error) {
	keys := make([]store.Key, len(entries))
	for i, e := range entries {
		keys[i] = e.key
	}
	found, err := l.store.fetch(ctx, keys)
	if err != nil {
		return nil, err
	}
	read := make([]entry, len(entries))
	for i, e := range entries {
		read[i] = entry{sort: e.sort, key: e.key}
		if item := found[e.key]; item != nil && l.stands(e, item) {
			read[i].item = item
		}
	}
	return read, nil
}

func (l *list) stands(e entry, item *store.Item) bool {
	key := item.List
	if l.q.Index == store.ByDue {
		key = item.Due
	}
	return key != nil && key.Part == l.q.Part && key.Sort == e.sort
}

package sqlitestore

import (
	"bytes"
	"maps"
	"slices"

	"github.com/outerloop-dev/outerloop/pkg/store"
)

// keptBytes bounds the rows that are kept in memory.
const keptBytes = 4 << 20

// rowBytes is about what a row takes in memory beside its body.
const rowBytes = 400

// row is an item as it stands in the file; item is nil where there is none.
type row struct {
	id   int64
	item *store.Item
}

// kept are the rows read or written last, of a store that alone writes its file:
// a row is read again soon after it was written. What is not in young is looked
// for in old, the generation before, which goes as a whole. The items in it are
// not changed by anybody; copied gives what may leave the store.
type kept struct {
	young, old map[store.Key]row
	bytes      int
	parts      partitions
}

func (k *kept) get(key store.Key) (row, bool) {
	if found, ok := k.young[key]; ok {
		return found, true
	}
	found, ok := k.old[key]
	if ok {
		k.put(key, found)
	}
	return found, ok
}

func (k *kept) put(key store.Key, r row) {
	size := rowBytes
	if r.item != nil {
		size += len(r.item.Body)
	}
	if k.young == nil || k.bytes+size > keptBytes/2 {
		k.old, k.young, k.bytes = k.young, map[store.Key]row{}, 0
	}
	k.young[key] = r
	k.bytes += size
}

// forget drops everything: rows were changed in another way than by put.
func (k *kept) forget() { *k = kept{} }

// copied is an item as it reads from its row, which shares nothing that can be
// changed.
func copied(item *store.Item) *store.Item {
	out := lent(item)
	if out != nil {
		out.Body = bytes.Clone(out.Body)
	}
	return out
}

// lent is copied but for the body, which nobody may change.
func lent(item *store.Item) *store.Item {
	if item == nil {
		return nil
	}
	out := *item
	out.Body, out.Numbers = nil, nil // empty reads as nil
	if len(item.Body) > 0 {
		out.Body = slices.Clip(item.Body)
	}
	if len(item.Numbers) > 0 {
		out.Numbers = maps.Clone(item.Numbers)
	}
	out.List, out.Due = copiedKey(item.List), copiedKey(item.Due)
	return &out
}

// taken is an item that was made for the store, but for body and index keys,
// which nobody may change.
func taken(item *store.Item) *store.Item {
	if item == nil {
		return nil
	}
	if len(item.Body) == 0 { // empty reads as nil
		item.Body = nil
	}
	if len(item.Numbers) == 0 {
		item.Numbers = nil
	}
	return item
}

func copiedKey(key *store.IndexKey) *store.IndexKey {
	if key == nil {
		return nil
	}
	out := *key
	return &out
}

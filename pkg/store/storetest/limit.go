package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/outerloop-dev/outerloop/pkg/store"
)

var limitTests = map[string]func(*testing.T, bench){
	"limit/operations of one write": testManyOps,
	"limit/keys of one read":        testManyKeys,
	"limit/size of an item":         testItemSize,
	"limit/size of a write":         testWriteSize,
	"limit/numbers of an item":      testManyNumbers,
	"limit/what is not valid":       testInvalid,
}

func testManyOps(t *testing.T, b bench) {
	ops := make([]store.Op, 0, store.MaxOps+1)
	for i := range store.MaxOps + 1 {
		ops = append(ops, store.Create(b.item("P", fmt.Sprintf("%02d", i), map[string]int64{"n": int64(i)})))
	}
	if err := b.try(t.Context(), ops...); !errors.Is(err, store.ErrInvalid) {
		t.Fatalf("%d operations: %v", len(ops), err)
	}
	if err := b.try(t.Context()); !errors.Is(err, store.ErrInvalid) {
		t.Fatalf("no operation: %v", err)
	}
	b.write(t, ops[:store.MaxOps]...)
	if items, _ := b.all(t, store.Query{Part: b.part("P")}); len(items) != store.MaxOps {
		t.Fatalf("%d items", len(items))
	}
}

func testManyKeys(t *testing.T, b bench) {
	b.write(t, store.Create(b.item("P", "0", nil)))
	keys := make([]store.Key, store.MaxGet)
	for i := range keys {
		keys[i] = b.key("P", fmt.Sprint(i))
	}
	items, err := b.Store.Get(t.Context(), keys...)
	if err != nil || len(items) != store.MaxGet || items[0] == nil || items[1] != nil {
		t.Fatalf("reading %d keys: %v", len(keys), err)
	}
	if _, err := b.Store.Get(t.Context(), append(keys, b.key("P", "more"))...); !errors.Is(err, store.ErrInvalid) {
		t.Fatalf("reading %d keys: %v", len(keys)+1, err)
	}
}

func testItemSize(t *testing.T, b bench) {
	item := b.item("P", "1", map[string]int64{"n": 1})
	item.Body = []byte(strings.Repeat("x", store.MaxBody))
	b.write(t, store.Create(item))
	b.holds(t, at(item, 1))
	item.Body = append(item.Body, 'x')
	for _, op := range []store.Op{store.Replace(at(item, 1)), store.Create(b.item("P", "2", nil))} {
		op.Item.Body = item.Body
		if err := b.try(t.Context(), op); !errors.Is(err, store.ErrTooLarge) {
			t.Fatalf("%s of %d bytes: %v", op.Kind, len(item.Body), err)
		}
	}
	b.write(t, store.Add(item.Key, map[string]int64{"n": 1}))
}

func testWriteSize(t *testing.T, b bench) {
	var ops []store.Op
	for i := range 8 {
		item := b.item("P", fmt.Sprint(i), nil)
		item.Body = []byte(strings.Repeat("x", store.MaxBody))
		ops = append(ops, store.Create(item))
	}
	if err := b.try(t.Context(), ops...); !errors.Is(err, store.ErrTooLarge) {
		t.Fatalf("a write of over 2.9 MB: %v", err)
	}
	b.write(t, ops[:7]...)
}

// testManyNumbers: an Add that lets the item grow too large is refused whole.
func testManyNumbers(t *testing.T, b bench) {
	if b.Features.GrowsUnchecked {
		t.Skip("this endpoint does not bound what an Add makes of an item")
	}
	item := b.item("P", "1", map[string]int64{})
	item.Body = []byte(strings.Repeat("x", store.MaxBody))
	for i := range 150 {
		item.Numbers[fmt.Sprintf("n%0150d", i)] = int64(i)
	}
	b.write(t, store.Create(item))
	deltas := map[string]int64{}
	for i := range 45 {
		deltas[fmt.Sprintf("m%0199d", i)] = int64(i)
	}
	other := b.item("P", "2", nil)
	if err := b.try(t.Context(), store.Create(other), store.Add(item.Key, deltas)); !errors.Is(err, store.ErrTooLarge) {
		t.Fatalf("growing beyond the limit: %v", err)
	}
	if err := b.try(t.Context(), store.Add(item.Key, deltas)); !errors.Is(err, store.ErrTooLarge) {
		t.Fatalf("growing beyond the limit alone: %v", err)
	}
	b.holds(t, at(item, 1))
	b.absent(t, other.Key)
}

func testInvalid(t *testing.T, b bench) {
	item, key := b.item("P", "1", nil), b.key("P", "1")
	long := strings.Repeat("x", 1025)
	numbered := func(name string) store.Op {
		return store.Create(store.Item{Key: key, Numbers: map[string]int64{name: 1}})
	}
	for name, ops := range map[string][]store.Op{
		"twice the same item":  {store.Create(item), store.Check(key)},
		"no sort key":          {store.Create(store.Item{Key: store.Key{Part: "P"}})},
		"no partition":         {store.Check(store.Key{Sort: "S"})},
		"long key":             {store.Check(store.Key{Part: "P", Sort: long})},
		"key not UTF-8":        {store.Check(store.Key{Part: "P", Sort: "\xff"})},
		"key with a zero":      {store.Check(store.Key{Part: "P", Sort: "a\x00b"})},
		"no name":              {numbered("")},
		"capital in a name":    {numbered("Left")},
		"name begins with 1":   {numbered("1st")},
		"long name":            {numbered(strings.Repeat("x", 201))},
		"space in a condition": {store.Check(key, store.Equal("a b", 1))},
		"unknown comparison":   {store.Check(key, store.Cond{Number: "n", Is: "<"})},
		"unknown kind":         {{Kind: "upsert", Item: item}},
		"nothing to add":       {store.Add(key, nil)},
		"added and dropped":    {store.Add(key, map[string]int64{"n": 1}).Dropping("n")},
		"a blind replace":      {store.Replace(item)},
		"many conditions":      {store.Check(key, slices.Repeat([]store.Cond{store.Equal("n", 1)}, 51)...)},
		"negative version":     {store.CheckVersion(key, -1)},
		"half an index key":    {store.Create(store.Item{Key: key, List: &store.IndexKey{Part: "L"}})},
		"negative expiry":      {store.Create(store.Item{Key: key, Expires: -1})},
	} {
		if err := b.try(t.Context(), ops...); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("%s: %v, want ErrInvalid", name, err)
		}
	}
	if _, err := b.Store.Get(t.Context(), store.Key{Part: "P"}); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("reading half a key: %v", err)
	}
	b.absent(t, key)
}

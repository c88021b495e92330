package storetest

import (
	"errors"
	"math"
	"testing"

	"github.com/outerloop-dev/outerloop/pkg/store"
)

var writeTests = map[string]func(*testing.T, bench){
	"write/all operations or none":              testAtomicity,
	"write/the order of keys is that of items":  testGetOrder,
	"write/add keeps body and indexes":          testAddKeeps,
	"write/numbers are exact to int64":          testExactNumbers,
	"write/a number does not leave int64":       testOverflow,
	"write/numbers may have odd names":          testOddNames,
	"write/drop removes a number":               testDrop,
	"write/answers belong to the caller":        testNoSharing,
	"write/a removed key can be created again":  testCreateAfterRemove,
	"write/text of any language is a key":       testUnicodeKeys,
	"write/an empty body reads as none":         testEmptyBody,
	"write/bytes come back as they were stored": testBinaryBody,
}

func testAtomicity(t *testing.T, b bench) {
	a, c := b.item("A", "1", map[string]int64{"n": 1}), b.item("C", "1", map[string]int64{"n": 1})
	b.write(t, store.Create(a), store.Create(c))
	replaced := at(a, 1)
	replaced.Body = []byte("new")
	fresh := b.item("B", "new", nil)

	for position, ops := range [][]store.Op{
		{store.CheckVersion(c.Key, 7), store.Replace(replaced), store.Create(fresh)},
		{store.Replace(replaced), store.Add(c.Key, map[string]int64{"n": 1}, store.AtLeast("n", 2)), store.Create(fresh)},
		{store.Create(fresh), store.Remove(a.Key, 1), store.Create(c)},
	} {
		if failed := b.refused(t, position, ops...); failed.Current == nil || failed.Current.Key != c.Key {
			t.Fatalf("what stands there is %+v, want %v", failed.Current, c.Key)
		}
		b.holds(t, at(a, 1))
		b.holds(t, at(c, 1))
		b.absent(t, fresh.Key)
	}
	b.write(t, store.Replace(replaced), store.Add(c.Key, map[string]int64{"n": 1}), store.Create(fresh))
	b.holds(t, at(replaced, 2))
	b.holds(t, at(fresh, 1))
}

func testGetOrder(t *testing.T, b bench) {
	b.write(t, store.Create(b.item("P", "1", nil)), store.Create(b.item("P", "2", nil)))
	keys := []store.Key{b.key("P", "2"), b.key("P", "none"), b.key("P", "1"), b.key("P", "2")}
	items, err := b.Store.Get(t.Context(), keys...)
	if err != nil || len(items) != 4 {
		t.Fatalf("reading: %v, %v", items, err)
	}
	if items[0].Sort != "2" || items[1] != nil || items[2].Sort != "1" || items[3].Sort != "2" {
		t.Fatalf("items do not stand in the order of their keys: %+v", items)
	}
	if none, err := b.Store.Get(t.Context()); err != nil || len(none) != 0 {
		t.Fatalf("reading no keys: %v, %v", none, err)
	}
}

func testAddKeeps(t *testing.T, b bench) {
	item := b.item("P", "1", map[string]int64{"left": 10, "spent": 0})
	item.List = &store.IndexKey{Part: b.part("LIST"), Sort: "a"}
	item.Due = &store.IndexKey{Part: b.part("DUE"), Sort: "b"}
	item.Expires = 4_000_000_000
	b.write(t, store.Create(item))
	b.write(t, store.Add(item.Key, map[string]int64{"left": -4, "spent": 4, "new": 0}))
	item.Numbers = map[string]int64{"left": 6, "spent": 4, "new": 0}
	b.holds(t, at(item, 2))
}

func testExactNumbers(t *testing.T, b bench) {
	item := b.item("P", "1", map[string]int64{
		"max": math.MaxInt64, "min": math.MinInt64, "odd": 1<<53 + 1, "minus": -(1<<53 + 1), "zero": 0,
	})
	b.write(t, store.Create(item))
	b.holds(t, at(item, 1))
	b.write(t, store.Add(item.Key, map[string]int64{"odd": 1, "max": -1, "min": 1},
		store.Equal("odd", 1<<53+1), store.AtLeast("max", math.MaxInt64), store.AtMost("min", math.MinInt64)))
	b.refused(t, 0, store.Check(item.Key, store.Equal("odd", 1<<53+1)))
	b.write(t, store.Add(item.Key, map[string]int64{"max": 1}, store.Equal("odd", 1<<53+2)))
}

func testOverflow(t *testing.T, b bench) {
	item := b.item("P", "1", map[string]int64{"top": math.MaxInt64 - 1, "bottom": math.MinInt64})
	b.write(t, store.Create(item))
	b.refused(t, 0, store.Add(item.Key, map[string]int64{"top": 2}))
	b.refused(t, 0, store.Add(item.Key, map[string]int64{"bottom": -1}))
	b.holds(t, at(item, 1))
	b.write(t, store.Add(item.Key, map[string]int64{"top": 1, "bottom": math.MaxInt64, "new": math.MinInt64}))
	b.write(t, store.Check(item.Key, store.Equal("top", math.MaxInt64), store.Equal("bottom", -1)))
}

func testOddNames(t *testing.T, b bench) {
	numbers := map[string]int64{}
	for i, name := range []string{
		"status", "name", "ttl", "owner", "data", "timestamp", "size", "value", "add", "set", "null", "v", "w", "b",
		"res.6f1c-9/a:b#c_d", "a.b.c", "pk", "sk", "n.left", "x-y", "part", "sort", "version",
	} {
		numbers[name] = int64(i)
	}
	item := b.item("P", "1", numbers)
	b.write(t, store.Create(item))
	b.holds(t, at(item, 1))
	deltas, conds := map[string]int64{}, []store.Cond{}
	for name, value := range numbers {
		deltas[name] = 100
		conds = append(conds, store.Equal(name, value))
	}
	b.write(t, store.Add(item.Key, deltas, conds...))
	for name := range numbers {
		numbers[name] += 100
	}
	b.holds(t, at(item, 2))
}

func testDrop(t *testing.T, b bench) {
	item := b.item("P", "1", map[string]int64{"left": 5, "res.1": 3, "res.2": 1})
	b.write(t, store.Create(item))
	give := store.Add(item.Key, map[string]int64{"left": 3}, store.Equal("res.1", 3)).Dropping("res.1", "never")
	b.write(t, give)
	item.Numbers = map[string]int64{"left": 8, "res.2": 1}
	b.holds(t, at(item, 2))
	b.refused(t, 0, give)
}

func testNoSharing(t *testing.T, b bench) {
	item := b.item("P", "1", map[string]int64{"n": 1})
	body := string(item.Body)
	b.write(t, store.Create(item))
	item.Numbers["n"], item.Body[0] = 7, 'X'
	got := b.get(t, item.Key)
	got.Numbers["n"], got.Body[0] = 9, 'Y'
	if again := b.get(t, item.Key); again.Numbers["n"] != 1 || string(again.Body) != body {
		t.Fatalf("a change in memory changed the store: %+v", again)
	}
}

func testCreateAfterRemove(t *testing.T, b bench) {
	item := b.item("P", "1", map[string]int64{"n": 1})
	b.write(t, store.Create(item))
	b.write(t, store.Remove(item.Key, 1))
	b.absent(t, item.Key)
	item.Numbers = nil
	b.write(t, store.Create(item))
	b.holds(t, at(item, 1))
}

func testUnicodeKeys(t *testing.T, b bench) {
	for _, sort := range []string{"ä#ß/ö", "日本語", "🦊", " space ", "'; DROP TABLE item; --", "%25?#"} {
		item := b.item("P", sort, nil)
		b.write(t, store.Create(item))
		b.holds(t, at(item, 1))
	}
}

func testEmptyBody(t *testing.T, b bench) {
	item := b.item("P", "1", nil)
	item.Body = []byte{}
	b.write(t, store.Create(item))
	if got := b.get(t, item.Key); got.Body != nil || got.Numbers != nil || got.List != nil || got.Due != nil {
		t.Fatalf("an empty item reads as %+v", got)
	}
}

func testBinaryBody(t *testing.T, b bench) {
	item := b.item("P", "1", nil)
	item.Body = make([]byte, 256)
	for i := range item.Body {
		item.Body[i] = byte(255 - i)
	}
	b.write(t, store.Create(item))
	b.holds(t, at(item, 1))
	if err := b.Store.Write(t.Context(), "bad", store.Create(store.Item{})); !errors.Is(err, store.ErrInvalid) {
		t.Fatalf("an item without a key: %v", err)
	}
}

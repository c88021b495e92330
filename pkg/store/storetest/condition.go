package storetest

import (
	"testing"

	"github.com/outerloop-dev/outerloop/pkg/store"
)

var conditionTests = map[string]func(*testing.T, bench){
	"condition/create":                    testCreateCondition,
	"condition/replace":                   testReplaceCondition,
	"condition/add":                       testAddCondition,
	"condition/remove":                    testRemoveCondition,
	"condition/check":                     testCheckCondition,
	"condition/comparisons":               testComparisons,
	"condition/the first failure is told": testFirstFailure,
}

func testCreateCondition(t *testing.T, b bench) {
	item := b.item("P", "1", map[string]int64{"n": 3})
	b.write(t, store.Create(item))
	failed := b.refused(t, 0, store.Create(b.item("P", "1", nil)))
	if failed.Current == nil || failed.Current.Numbers["n"] != 3 || failed.Current.Version != 1 {
		t.Fatalf("what stands there is %+v", failed.Current)
	}
	if failed.Current.WriteID == "" || string(failed.Current.Body) != string(item.Body) {
		t.Fatalf("what stands there is incomplete: %+v", failed.Current)
	}
}

func testReplaceCondition(t *testing.T, b bench) {
	item := b.item("P", "1", map[string]int64{"n": 3, "gone": 1})
	if failed := b.refused(t, 0, store.Replace(at(item, 1))); failed.Current != nil {
		t.Fatalf("an absent item is told as %+v", failed.Current)
	}
	b.write(t, store.Create(item))
	item.Numbers = map[string]int64{"n": 4}
	b.refused(t, 0, store.Replace(at(item, 2)))
	b.refused(t, 0, store.Replace(at(item, 1), store.Equal("n", 4)))
	b.write(t, store.Replace(at(item, 1), store.Equal("n", 3), store.Equal("gone", 1)))
	b.holds(t, at(item, 2))
	b.refused(t, 0, store.Replace(at(item, 1)))
}

func testAddCondition(t *testing.T, b bench) {
	item := b.item("P", "1", map[string]int64{"left": 5})
	take := store.Add(item.Key, map[string]int64{"left": -3}, store.AtLeast("left", 3))
	if failed := b.refused(t, 0, take); failed.Current != nil {
		t.Fatalf("an absent item is told as %+v", failed.Current)
	}
	b.write(t, store.Create(item))
	b.write(t, take)
	if failed := b.refused(t, 0, take); failed.Current.Numbers["left"] != 2 {
		t.Fatalf("what stands there is %+v", failed.Current)
	}
	versioned := store.Add(item.Key, map[string]int64{"left": 1})
	versioned.Version = 1
	b.refused(t, 0, versioned)
	versioned.Version = 2
	b.write(t, versioned)
}

func testRemoveCondition(t *testing.T, b bench) {
	item := b.item("P", "1", map[string]int64{"n": 1})
	b.refused(t, 0, store.Remove(item.Key, 0))
	b.write(t, store.Create(item))
	if failed := b.refused(t, 0, store.Remove(item.Key, 2)); failed.Current == nil {
		t.Fatal("the item that stands there is not told")
	}
	guarded := store.Remove(item.Key, 1)
	guarded.Where = []store.Cond{store.Equal("n", 2)}
	b.refused(t, 0, guarded)
	b.write(t, store.Remove(item.Key, 1))
	b.write(t, store.Create(item))
	b.write(t, store.Remove(item.Key, 0))
	b.absent(t, item.Key)
}

func testCheckCondition(t *testing.T, b bench) {
	item := b.item("P", "1", map[string]int64{"open": 1, "gen": 2})
	other := b.item("P", "2", nil)
	b.refused(t, 0, store.Check(item.Key))
	b.refused(t, 1, store.Create(other), store.Check(item.Key, store.Equal("open", 1)))
	b.write(t, store.Create(item))
	b.write(t, store.Check(item.Key, store.Equal("open", 1), store.Equal("gen", 2)))
	b.write(t, store.Create(other), store.CheckVersion(item.Key, 1))
	b.refused(t, 1, store.Add(other.Key, map[string]int64{"n": 1}), store.CheckVersion(item.Key, 2))
	b.refused(t, 0, store.Check(item.Key, store.Equal("open", 1), store.Equal("gen", 3)))
	b.holds(t, at(item, 1)) // a check leaves no trace
}

func testComparisons(t *testing.T, b bench) {
	item := b.item("P", "1", map[string]int64{"n": 5, "zero": 0})
	b.write(t, store.Create(item))
	for _, c := range []struct {
		cond store.Cond
		want bool
	}{
		{store.Equal("n", 5), true}, {store.Equal("n", 4), false}, {store.Equal("none", 0), false},
		{store.AtLeast("n", 5), true}, {store.AtLeast("n", 6), false}, {store.AtLeast("none", -1), false},
		{store.AtMost("n", 5), true}, {store.AtMost("n", 4), false}, {store.AtMost("none", 1), false},
		{store.Absent("none"), true}, {store.Absent("n"), false}, {store.Absent("zero"), false},
		{store.Equal("zero", 0), true},
	} {
		for _, op := range []store.Op{
			store.Check(item.Key, c.cond),
			store.Add(item.Key, map[string]int64{"other": 1}, c.cond),
		} {
			if c.want {
				b.write(t, op)
			} else {
				b.refused(t, 0, op)
			}
		}
	}
}

func testFirstFailure(t *testing.T, b bench) {
	a, c := b.item("A", "1", nil), b.item("C", "1", nil)
	b.write(t, store.Create(a), store.Create(c))
	failed := b.refused(t, 1, store.Create(b.item("B", "1", nil)), store.CheckVersion(a.Key, 9), store.CheckVersion(c.Key, 9))
	if failed.Current == nil || failed.Current.Key != a.Key {
		t.Fatalf("what stands there is %+v", failed.Current)
	}
	b.refused(t, 0, store.CheckVersion(b.key("none", "1"), 1), store.CheckVersion(c.Key, 9))
}

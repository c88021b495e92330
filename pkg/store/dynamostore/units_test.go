package dynamostore_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/outerloop-dev/outerloop/pkg/store"
)

// TestUnits counts what writes of every shape are charged, holds that to the
// table in docs/store.md, and the estimate from sizes to what was charged.
func TestUnits(t *testing.T) {
	t.Parallel()
	item := func(sort string, bytes int) store.Item {
		return store.Item{Key: store.Key{Part: "RUN", Sort: sort}, Body: []byte(strings.Repeat("x", bytes)), Numbers: map[string]int64{"gen": 1}}
	}
	listed := func(item store.Item, sort string) store.Item {
		item.List = &store.IndexKey{Part: "LOOP", Sort: sort}
		return item
	}
	replaced := func(item store.Item) store.Op {
		item.Version = 1
		return store.Replace(item)
	}
	add := func(sort string) store.Op {
		return store.Add(store.Key{Part: "RUN", Sort: sort}, map[string]int64{"left": -1})
	}
	check := func(sort string) store.Op { return store.Check(store.Key{Part: "RUN", Sort: sort}) }
	var table strings.Builder
	for _, c := range []struct {
		what   string
		before []store.Item
		ops    []store.Op
	}{
		{"create, replace, add or remove one item up to 1 KB", []store.Item{item("a", 10)}, []store.Op{add("a")}},
		{"replace one item of 3.5 KB", []store.Item{item("a", 3500)}, []store.Op{replaced(item("a", 3500))}},
		{"add to an item of 3.5 KB", []store.Item{item("a", 3500)}, []store.Op{add("a")}},
		{"check one item (a read)", []store.Item{item("a", 10)}, []store.Op{check("a")}},
		{"create with an index entry", nil, []store.Op{store.Create(listed(item("a", 10), "1"))}},
		{"replace, the index entry stays", []store.Item{listed(item("a", 10), "1")}, []store.Op{replaced(listed(item("a", 10), "1"))}},
		{"replace, the index entry moves", []store.Item{listed(item("a", 10), "1")}, []store.Op{replaced(listed(item("a", 10), "2"))}},
		{"two items in one write", []store.Item{item("a", 10), item("b", 10)}, []store.Op{replaced(item("a", 10)), check("b")}},
		{"three items in one write", []store.Item{item("a", 10), item("b", 10)}, []store.Op{replaced(item("a", 10)), add("b"), store.Create(item("c", 10))}},
		{"two items, one of 3.5 KB", []store.Item{item("b", 10)}, []store.Op{store.Create(item("a", 3500)), check("b")}},
	} {
		_, bundle := onFake(t)
		for _, item := range c.before {
			if err := bundle.Store.Write(t.Context(), "before "+item.Sort, store.Create(item)); err != nil {
				t.Fatal(err)
			}
		}
		ctx, meter := store.WithMeter(t.Context())
		if err := bundle.Store.Write(ctx, "1", c.ops...); err != nil {
			t.Fatalf("%s: %v", c.what, err)
		}
		used := meter.Usage()
		fmt.Fprintf(&table, "| %s | %g | %g |\n", c.what, used.WriteUnits, used.ReadUnits)
		if estimate := estimated(c.before, c.ops); used.ReadUnits == 0 && estimate != used.WriteUnits {
			t.Errorf("%s: %g units by size, %g were charged", c.what, estimate, used.WriteUnits)
		}
	}
	docs, err := os.ReadFile("../../../docs/store.md")
	if err != nil {
		t.Error(err)
	}
	if !strings.Contains(string(docs), table.String()) {
		t.Errorf("docs/store.md does not hold the table as measured:\n%s", table.String())
	}
}

func estimated(before []store.Item, ops []store.Op) float64 {
	stood, left := make([]*store.Item, len(ops)), make([]*store.Item, len(ops))
	for i, op := range ops {
		for _, item := range before {
			if item.Key == op.Item.Key {
				item.Version, item.WriteID = 1, "before a"
				stood[i] = &item
			}
		}
		left[i], _ = store.Evaluate("1", op, stood[i])
	}
	return store.Units(ops, stood, left)
}

// TestRefusedWriteIsCharged: a condition that fails costs what stood there.
func TestRefusedWriteIsCharged(t *testing.T) {
	t.Parallel()
	_, bundle := onFake(t)
	large := store.Item{Key: counter, Body: []byte(strings.Repeat("x", 3500))}
	if err := bundle.Store.Write(t.Context(), "1", store.Create(large)); err != nil {
		t.Fatal(err)
	}
	ctx, meter := store.WithMeter(t.Context())
	if err := bundle.Store.Write(ctx, "2", store.Create(large)); err == nil {
		t.Fatal("created twice")
	}
	if used := meter.Usage(); used.WriteUnits != 4 || used.Calls != 1 {
		t.Fatalf("charged %+v", used)
	}
}

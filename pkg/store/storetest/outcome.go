package storetest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"testing"

	"github.com/outerloop-dev/outerloop/pkg/store"
)

var outcomeTests = map[string]func(*testing.T, bench){
	"outcome/the answer is lost":          testLostAnswer,
	"outcome/another's write is not mine": testNotMine,
	"outcome/half of it is not all of it": testPartlyMine,
	"outcome/a caller that has gone":      testCallerGone,
	"outcome/what leaves no trace":        testNoTrace,
}

// Deaf carries out the writes of a store and drops the answers.
type Deaf struct{ store.Store }

// Write answers ErrOutcomeUnknown where the write was done.
func (d Deaf) Write(ctx context.Context, id string, ops ...store.Op) error {
	if err := d.Store.Write(ctx, id, ops...); err != nil {
		return err
	}
	return fmt.Errorf("%w: the answer was dropped", store.ErrOutcomeUnknown)
}

func testLostAnswer(t *testing.T, b bench) {
	run, old := b.item("RUN", "1", map[string]int64{"left": 9}), b.item("RUN", "old", nil)
	free := b.item("FREE", "1", map[string]int64{"n": 1})
	b.write(t, store.Create(run), store.Create(old), store.Create(free))
	for _, ops := range [][]store.Op{
		{store.Create(b.item("X", "1", nil))},
		{store.Replace(at(old, 1))},
		{store.Replace(at(old, 2))},
		{store.Add(run.Key, map[string]int64{"left": -1})},
		{store.Add(run.Key, map[string]int64{"left": -1}, store.AtLeast("left", 8))},
		{
			store.Create(b.item("RUN", "step", nil)), store.Add(run.Key, map[string]int64{"left": -1}),
			store.Remove(old.Key, 3), store.Check(free.Key, store.Equal("n", 1)),
		},
	} {
		id := rand.Text()
		if err := (Deaf{b.Store}).Write(t.Context(), id, ops...); !errors.Is(err, store.ErrOutcomeUnknown) {
			t.Fatalf("the first time: %v", err)
		}
		for range 2 {
			if err := b.Store.Write(t.Context(), id, ops...); err != nil && !store.Won(err) {
				t.Fatalf("again: %v, want nothing or that it had won", err)
			}
		}
	}
	if got := b.get(t, run.Key); got.Numbers["left"] != 6 || got.Version != 4 {
		t.Fatalf("a write was done twice or lost: %+v", got)
	}
	b.absent(t, old.Key)
}

func testNotMine(t *testing.T, b bench) {
	item := b.item("P", "1", nil)
	if err := b.Store.Write(t.Context(), rand.Text(), store.Create(item)); err != nil {
		t.Fatal(err)
	}
	err := b.Store.Write(t.Context(), rand.Text(), store.Create(item))
	if !errors.Is(err, store.ErrCondition) || store.Won(err) {
		t.Fatalf("another id: %v", err)
	}
	mine := rand.Text()
	if err := b.Store.Write(t.Context(), mine, store.Replace(at(item, 1))); err != nil {
		t.Fatal(err)
	}
	b.write(t, store.Replace(at(item, 2))) // somebody else, since then
	err = b.Store.Write(t.Context(), mine, store.Replace(at(item, 1)))
	if !errors.Is(err, store.ErrCondition) || store.Won(err) {
		t.Fatalf("an item changed since: %v", err)
	}
}

// testPartlyMine: the same id with other operations is another write.
func testPartlyMine(t *testing.T, b bench) {
	a, c := b.item("A", "1", nil), b.item("C", "1", nil)
	id := rand.Text()
	if err := b.Store.Write(t.Context(), id, store.Create(a)); err != nil {
		t.Fatal(err)
	}
	err := b.Store.Write(t.Context(), id, store.Create(a), store.Create(c))
	if !errors.Is(err, store.ErrCondition) || store.Won(err) {
		t.Fatalf("one item of two: %v", err)
	}
	b.absent(t, c.Key)
	d := b.item("D", "1", nil)
	id = rand.Text()
	if err := b.Store.Write(t.Context(), id, store.Create(c), store.Create(d)); err != nil {
		t.Fatal(err)
	}
	err = b.Store.Write(t.Context(), id, store.Create(c), store.Create(b.item("E", "1", nil)))
	if !errors.Is(err, store.ErrCondition) || store.Won(err) {
		t.Fatalf("two items, one of them another: %v", err)
	}
	err = b.Store.Write(t.Context(), id, store.Create(a), store.Remove(c.Key, 0))
	if !errors.Is(err, store.ErrCondition) || store.Won(err) {
		t.Fatalf("an item that was not removed: %v", err)
	}
}

func testCallerGone(t *testing.T, b bench) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	item := b.item("P", "1", nil)
	if err := b.Store.Write(ctx, rand.Text(), store.Create(item)); err == nil {
		t.Fatal("a write for a caller that has gone says it is done")
	}
	if _, err := b.Store.Get(ctx, item.Key); err == nil {
		t.Fatal("a read for a caller that has gone succeeds")
	}
	if _, err := b.Store.List(ctx, store.Query{Part: item.Part}); err == nil {
		t.Fatal("a list for a caller that has gone succeeds")
	}
	b.absent(t, item.Key)
}

// testNoTrace: a write that only removes or checks leaves no id behind, so it
// is never recognised; repeating it is harmless.
func testNoTrace(t *testing.T, b bench) {
	item := b.item("P", "1", nil)
	b.write(t, store.Create(item))
	id := rand.Text()
	for range 2 {
		if err := b.Store.Write(t.Context(), id, store.CheckVersion(item.Key, 1)); err != nil {
			t.Fatalf("checking: %v", err)
		}
	}
	id = rand.Text()
	if err := b.Store.Write(t.Context(), id, store.Remove(item.Key, 1)); err != nil {
		t.Fatal(err)
	}
	if err := b.Store.Write(t.Context(), id, store.Remove(item.Key, 1)); !errors.Is(err, store.ErrCondition) || store.Won(err) {
		t.Fatalf("removing again: %v", err)
	}
}

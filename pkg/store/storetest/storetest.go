// Package storetest is the definition of a store: an adapter exists when it
// passes Run. It is linked into tests only.
package storetest

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/outerloop-dev/outerloop/pkg/store"
)

// Features are what an adapter may differ in.
type Features struct {
	// LaggingIndexes says that ByList and ByDue may show an older state.
	LaggingIndexes bool
	// Remote says that a call crosses a network: fewer repetitions are made.
	Remote bool
	// GrowsUnchecked says that an Add may make an item larger than 400 KB: a
	// flaw of emulators.
	GrowsUnchecked bool
}

// Bundle is one store under test.
type Bundle struct {
	Store    store.Store
	Features Features
	// Scan walks through the store; nil: the store does, if it is a store.Scanner.
	Scan store.Scanner
	// Blobs is nil where the adapter keeps none.
	Blobs store.Blobs
	// Damage changes one byte of a stored blob.
	Damage func(t *testing.T, ref string)
	// Crash gives a store as another process would find it if this one were
	// killed now. Only for a store.Pipeline.
	Crash func(t *testing.T) store.Store
}

// Run holds an adapter to the port. open is called once a test and may give
// the same state each time: every test works in partitions of its own.
func Run(t *testing.T, open func(t *testing.T) Bundle) {
	t.Helper()
	for _, group := range []map[string]func(*testing.T, bench){
		writeTests, conditionTests, contentionTests, outcomeTests, listTests, limitTests, blobTests, pipelineTests,
	} {
		for name, test := range group {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(t, bench{Bundle: open(t), space: rand.Text()})
			})
		}
	}
}

// bench is a bundle and the name space of one test.
type bench struct {
	Bundle
	space string
}

func (b bench) part(name string) string { return name + "#" + b.space }

func (b bench) key(part, sort string) store.Key { return store.Key{Part: b.part(part), Sort: sort} }

func (b bench) item(part, sort string, numbers map[string]int64) store.Item {
	return store.Item{Key: b.key(part, sort), Body: []byte(`{"of":"` + sort + `"}`), Numbers: numbers}
}

// write demands success.
func (b bench) write(t *testing.T, ops ...store.Op) {
	t.Helper()
	if err := b.try(t.Context(), ops...); err != nil {
		t.Fatalf("writing: %v", err)
	}
}

// try writes under a new id until the store is not throttled.
func (b bench) try(ctx context.Context, ops ...store.Op) error {
	for id := rand.Text(); ; {
		err := b.Store.Write(ctx, id, ops...)
		switch {
		case errors.Is(err, store.ErrThrottled):
		case store.Won(err):
			return nil
		default:
			return err
		}
	}
}

// refused demands that a write fails on the condition of one operation, and
// gives what it says.
func (b bench) refused(t *testing.T, at int, ops ...store.Op) *store.ConditionError {
	t.Helper()
	err := b.try(t.Context(), ops...)
	var failed *store.ConditionError
	if !errors.As(err, &failed) {
		t.Fatalf("got %v, want a failed condition", err)
	}
	if !errors.Is(err, store.ErrCondition) || failed.Op != at || failed.Key != ops[at].Item.Key {
		t.Fatalf("operation %d on %v failed, want %d on %v", failed.Op, failed.Key, at, ops[at].Item.Key)
	}
	if failed.Won {
		t.Fatal("a write that was not done says that it won")
	}
	return failed
}

func (b bench) get(t *testing.T, key store.Key) *store.Item {
	t.Helper()
	items, err := b.Store.Get(t.Context(), key)
	if err != nil || len(items) != 1 {
		t.Fatalf("reading %v: %v, %v", key, items, err)
	}
	return items[0]
}

// holds demands that an item stands as given, apart from its WriteID.
func (b bench) holds(t *testing.T, want store.Item) {
	t.Helper()
	got := b.get(t, want.Key)
	if got == nil {
		t.Fatalf("%v is absent", want.Key)
	}
	if diff := cmp.Diff(want, *got, asStored); diff != "" {
		t.Fatalf("item differs (-want +got):\n%s", diff)
	}
}

func (b bench) absent(t *testing.T, key store.Key) {
	t.Helper()
	if got := b.get(t, key); got != nil {
		t.Fatalf("%v is there: %+v", key, got)
	}
}

// asStored compares bodies as a whole: byte by byte takes seconds for the large ones.
var asStored = cmp.Options{
	cmpopts.IgnoreFields(store.Item{}, "WriteID"), cmpopts.EquateEmpty(),
	cmp.FilterValues(func(a, b []byte) bool { return len(a)+len(b) > 0 }, cmp.Comparer(bytes.Equal)),
}

func at(item store.Item, version int64) store.Item {
	item.Version = version
	return item
}

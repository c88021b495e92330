package storetest

import (
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"sync"
	"testing"

	"github.com/outerloop-dev/outerloop/pkg/store"
)

var pipelineTests = map[string]func(*testing.T, bench){
	"pipeline/applied is visible at once":  testApplyVisible,
	"pipeline/a crash loses a suffix":      testCrashSuffix,
	"pipeline/synced survives a crash":     testCrashSynced,
	"pipeline/many callers share a commit": testSharedSync,
}

func (b bench) pipeline(t *testing.T) store.Pipeline {
	t.Helper()
	pipeline, ok := b.Store.(store.Pipeline)
	if !ok {
		t.Skip("this store has no pipeline")
	}
	if b.Crash == nil {
		t.Fatal("a bundle with a pipeline says how to crash it")
	}
	return pipeline
}

func testApplyVisible(t *testing.T, b bench) {
	pipe := b.pipeline(t)
	item := b.item("P", "1", map[string]int64{"n": 1})
	if err := pipe.Apply(t.Context(), "1", store.Create(item)); err != nil {
		t.Fatal(err)
	}
	b.holds(t, at(item, 1))
	b.sorts(t, store.Query{Part: item.Part}, "1")
	err := pipe.Apply(t.Context(), "2", store.Create(item), store.Create(b.item("P", "2", nil)))
	if !errors.Is(err, store.ErrCondition) {
		t.Fatalf("applying on a failed condition: %v", err)
	}
	b.absent(t, b.key("P", "2"))
	b.holds(t, at(item, 1)) // a refused Apply leaves those before it alone
	for range 2 {
		if err := pipe.Sync(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// testCrashSuffix: every write says which number it is and moves a counter
// along; whatever a crash leaves must be the first so many of them.
func testCrashSuffix(t *testing.T, b bench) {
	pipe := b.pipeline(t)
	counter := b.item("C", "1", map[string]int64{"n": 0})
	b.write(t, store.Create(counter))
	random := mathrand.New(mathrand.NewPCG(1, 2))
	synced := 0
	for n := 1; n <= 200; n++ {
		item := b.item("P", fmt.Sprintf("%04d", n), nil)
		err := pipe.Apply(t.Context(), rand.Text(), store.Create(item),
			store.Add(counter.Key, map[string]int64{"n": 1}, store.Equal("n", int64(n-1))))
		if err != nil {
			t.Fatal(err)
		}
		switch random.IntN(12) {
		case 0:
			if err := pipe.Sync(t.Context()); err != nil {
				t.Fatal(err)
			}
			synced = n
		case 1:
			b.prefixLeft(t, counter.Key, synced, n)
		}
	}
}

// prefixLeft crashes the store and demands the first so many writes, at least
// those that were synced.
func (b bench) prefixLeft(t *testing.T, counter store.Key, synced, applied int) {
	t.Helper()
	after := bench{Bundle: Bundle{Store: b.Crash(t)}, space: b.space}
	left := int(after.get(t, counter).Numbers["n"])
	if left < synced || left > applied {
		t.Fatalf("%d writes are left of %d, of which %d were synced", left, applied, synced)
	}
	items, _ := after.all(t, store.Query{Part: b.part("P")})
	if len(items) != left {
		t.Fatalf("%d items for %d writes", len(items), left)
	}
	for i, item := range items {
		if want := fmt.Sprintf("%04d", i+1); item.Sort != want {
			t.Fatalf("write %s is missing, %s is there", want, item.Sort)
		}
	}
}

func testCrashSynced(t *testing.T, b bench) {
	b.pipeline(t)
	for n := range 20 {
		item := b.item("P", fmt.Sprint(n), nil)
		b.write(t, store.Create(item))
		after := bench{Bundle: Bundle{Store: b.Crash(t)}, space: b.space}
		after.holds(t, at(item, 1))
	}
}

func testSharedSync(t *testing.T, b bench) {
	pipe := b.pipeline(t)
	var applied sync.WaitGroup
	applied.Add(callers)
	together(t, func(caller int) error {
		err := pipe.Apply(t.Context(), rand.Text(), store.Create(b.item("P", fmt.Sprint(caller), nil)))
		applied.Done()
		applied.Wait()
		return errors.Join(err, pipe.Sync(t.Context()))
	})
	after := bench{Bundle: Bundle{Store: b.Crash(t)}, space: b.space}
	if items, _ := after.all(t, store.Query{Part: b.part("P")}); len(items) != callers {
		t.Fatalf("%d of %d synced writes are left", len(items), callers)
	}
}

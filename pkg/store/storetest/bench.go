package storetest

import (
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/store"
)

// Benchmark measures a store with one caller and with 64 in flight: writes of
// one item and of three, one hot counter, and reads. Beside the time per
// operation it reports the 50th and 99th percentile of a caller's wait.
func Benchmark(b *testing.B, open func(b *testing.B) store.Store) {
	b.Helper()
	for _, work := range []struct {
		name string
		do   func(b *testing.B, s store.Store, space string) func(n int) error
	}{
		{"create", benchCreate}, {"transaction", benchTransaction}, {"counter", benchCounter}, {"get5", benchGet}, {"list50", benchList},
	} {
		for _, callers := range []int{1, 64} {
			b.Run(fmt.Sprintf("%s/callers=%d", work.name, callers), func(b *testing.B) {
				do := work.do(b, open(b), rand.Text())
				b.ReportAllocs()
				b.ResetTimer()
				measure(b, callers, do)
			})
		}
	}
}

// measure shares b.N operations among callers and reports their waits.
func measure(b *testing.B, callers int, do func(n int) error) {
	b.Helper()
	var next atomic.Int64
	var all sync.WaitGroup
	waits := make([][]time.Duration, callers)
	for caller := range callers {
		all.Go(func() {
			for n := next.Add(1); n <= int64(b.N); n = next.Add(1) {
				start := time.Now()
				if err := do(int(n)); err != nil {
					b.Error(err)
					return
				}
				waits[caller] = append(waits[caller], time.Since(start))
			}
		})
	}
	all.Wait()
	sorted := slices.Sorted(slices.Values(slices.Concat(waits...)))
	if len(sorted) > 0 {
		b.ReportMetric(float64(sorted[len(sorted)/2].Microseconds()), "µs-p50")
		b.ReportMetric(float64(sorted[len(sorted)*99/100].Microseconds()), "µs-p99")
	}
}

var kilobyte = []byte(`"` + strings.Repeat("x", 1000) + `"`)

func benchItem(space string, n int) store.Item {
	return store.Item{
		Key: store.Key{Part: fmt.Sprintf("RUN#%s#%d", space, n), Sort: "STEP a#1"}, Body: kilobyte,
		Numbers: map[string]int64{"gen": 1, "fence": 1, "lease_ms": 1_700_000_000_000},
	}
}

func benchCreate(b *testing.B, s store.Store, space string) func(int) error {
	return func(n int) error {
		return s.Write(b.Context(), fmt.Sprint(space, n), store.Create(benchItem(space, n)))
	}
}

func benchTransaction(b *testing.B, s store.Store, space string) func(int) error {
	run := store.Item{Key: store.Key{Part: "RUN#" + space, Sort: "RUN"}, Numbers: map[string]int64{"open": 1}}
	if err := s.Write(b.Context(), space, store.Create(run)); err != nil {
		b.Fatal(err)
	}
	return func(n int) error {
		item := benchItem(space, n)
		other := item
		other.Sort = "ACT"
		return s.Write(b.Context(), fmt.Sprint(space, n), store.Create(item), store.Create(other), store.Check(run.Key, store.Equal("open", 1)))
	}
}

func benchCounter(b *testing.B, s store.Store, space string) func(int) error {
	hot := store.Item{Key: store.Key{Part: "BUDGET", Sort: space}, Numbers: map[string]int64{"left": 1 << 60}}
	if err := s.Write(b.Context(), space, store.Create(hot)); err != nil {
		b.Fatal(err)
	}
	return func(n int) error {
		return s.Write(b.Context(), fmt.Sprint(space, n), store.Add(hot.Key, map[string]int64{"left": -1}, store.AtLeast("left", 1)))
	}
}

func benchGet(b *testing.B, s store.Store, space string) func(int) error {
	keys := make([]store.Key, 5)
	for n := range keys {
		item := benchItem(space, n)
		keys[n] = item.Key
		if err := s.Write(b.Context(), fmt.Sprint(space, n), store.Create(item)); err != nil {
			b.Fatal(err)
		}
	}
	return func(int) error {
		_, err := s.Get(b.Context(), keys...)
		return err
	}
}

func benchList(b *testing.B, s store.Store, space string) func(int) error {
	for n := range 200 {
		item := benchItem(space, n)
		item.List = &store.IndexKey{Part: "LOOP#" + space, Sort: fmt.Sprintf("%06d", n)}
		if err := s.Write(b.Context(), fmt.Sprint(space, n), store.Create(item)); err != nil {
			b.Fatal(err)
		}
	}
	return func(int) error {
		page, err := s.List(b.Context(), store.Query{Index: store.ByList, Part: "LOOP#" + space, Limit: 50, Descending: true})
		if err == nil && len(page.Items) != 50 {
			err = fmt.Errorf("a page of %d", len(page.Items))
		}
		return err
	}
}

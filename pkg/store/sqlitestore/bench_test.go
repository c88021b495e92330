package sqlitestore_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/store"
	"github.com/outerloop-dev/outerloop/pkg/store/sqlitestore"
	"github.com/outerloop-dev/outerloop/pkg/store/storetest"
)

func BenchmarkStore(b *testing.B) {
	storetest.Benchmark(b, func(b *testing.B) store.Store { return openBench(b) })
}

// BenchmarkApply is the pipeline: ten writes to one Sync.
func BenchmarkApply(b *testing.B) {
	s := openBench(b)
	body := []byte(strings.Repeat("x", 1000))
	for n := 0; b.Loop(); n++ {
		item := store.Item{Key: store.Key{Part: "P", Sort: fmt.Sprintf("%09d", n)}, Body: body}
		if err := s.Apply(b.Context(), fmt.Sprint(n), store.Create(item)); err != nil {
			b.Fatal(err)
		}
		if n%10 == 9 {
			if err := s.Sync(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
	}
}

func openBench(b *testing.B) *sqlitestore.Store {
	b.Helper()
	s, err := sqlitestore.Open(filepath.Join(b.TempDir(), "state.db"), sqlitestore.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := s.Close(); err != nil {
			b.Error(err)
		}
	})
	return s
}

// BenchmarkMillionRuns loads a million run rows and lists the newest 50 of a
// loop, which is to take under 5 ms.
func BenchmarkMillionRuns(b *testing.B) {
	s := openBench(b)
	load(b, s, 1_000_000)
	q := store.Query{Index: store.ByList, Part: "LOOP#7#closed", Limit: 50, Descending: true}
	var waits []time.Duration
	for b.Loop() {
		start := time.Now()
		page, err := s.List(b.Context(), q)
		if err != nil || len(page.Items) != 50 {
			b.Fatalf("a page of %d, %v", len(page.Items), err)
		}
		waits = append(waits, time.Since(start))
	}
	slices.Sort(waits)
	slowest := waits[len(waits)*99/100]
	b.ReportMetric(float64(slowest.Microseconds()), "µs-p99")
	if slowest > 5*time.Millisecond {
		b.Errorf("99 of 100 lists took up to %s, over 5 ms", slowest)
	}
	size, err := s.Size(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(size.File>>20), "MB-file")
}

func load(b *testing.B, s *sqlitestore.Store, rows int) {
	b.Helper()
	body := []byte(strings.Repeat("x", 300))
	start := time.Now()
	for n := 0; n < rows; n += store.MaxOps {
		ops := make([]store.Op, store.MaxOps)
		for i := range ops {
			id := fmt.Sprintf("%08d", n+i)
			ops[i] = store.Create(store.Item{
				Key: store.Key{Part: "RUN#" + id, Sort: "RUN"}, Body: body, Numbers: map[string]int64{"open": 0, "gen": 1},
				List: &store.IndexKey{Part: fmt.Sprintf("LOOP#%d#closed", (n+i)%20), Sort: id},
			})
		}
		if err := s.Apply(context.Background(), "", ops...); err != nil {
			b.Fatal(err)
		}
	}
	if err := s.Sync(context.Background()); err != nil {
		b.Fatal(err)
	}
	b.Logf("loaded %d rows in %s", rows, time.Since(start).Round(time.Millisecond))
}

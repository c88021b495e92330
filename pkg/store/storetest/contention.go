package storetest

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/outerloop-dev/outerloop/pkg/store"
)

var contentionTests = map[string]func(*testing.T, bench){
	"contention/one creates":                    testOneCreates,
	"contention/one replaces":                   testOneReplaces,
	"contention/one counter loses nothing":      testNothingLost,
	"contention/a limit holds":                  testLimitHolds,
	"contention/transfers keep the sum":         testTransfers,
	"contention/a paused owner wakes up":        testPausedOwner,
	"contention/one run in spite of duplicates": testDuplicateStart,
}

const callers = 64

// together runs a function on 64 goroutines that start at once.
func together(t *testing.T, do func(caller int) error) {
	t.Helper()
	var ready, done sync.WaitGroup
	ready.Add(1)
	for caller := range callers {
		done.Go(func() {
			ready.Wait()
			if err := do(caller); err != nil {
				t.Errorf("caller %d: %v", caller, err)
			}
		})
	}
	ready.Done()
	done.Wait()
}

// tally counts winners and lets a failed condition pass.
func tally(winners *atomic.Int64, err error) error {
	switch {
	case err == nil:
		winners.Add(1)
		return nil
	case errors.Is(err, store.ErrCondition):
		return nil
	default:
		return err
	}
}

func testOneCreates(t *testing.T, b bench) {
	var winners atomic.Int64
	together(t, func(caller int) error {
		item := b.item("P", "1", map[string]int64{"by": int64(caller)})
		err := b.try(t.Context(), store.Create(item))
		var failed *store.ConditionError
		if errors.As(err, &failed) && failed.Current == nil {
			return errors.New("the loser is not told who won")
		}
		return tally(&winners, err)
	})
	if winners.Load() != 1 {
		t.Fatalf("%d winners", winners.Load())
	}
}

func testOneReplaces(t *testing.T, b bench) {
	item := b.item("P", "1", nil)
	b.write(t, store.Create(item))
	var winners atomic.Int64
	together(t, func(caller int) error {
		mine := at(item, 1)
		mine.Numbers = map[string]int64{"by": int64(caller)}
		log := b.item("LOG", "1", nil)
		return tally(&winners, b.try(t.Context(), store.Replace(mine), store.Create(log)))
	})
	if winners.Load() != 1 {
		t.Fatalf("%d winners", winners.Load())
	}
	if got := b.get(t, item.Key); got.Version != 2 {
		t.Fatalf("version %d", got.Version)
	}
}

func testNothingLost(t *testing.T, b bench) {
	item := b.item("P", "1", map[string]int64{"n": 0})
	b.write(t, store.Create(item))
	rounds := 8
	if b.Features.Remote {
		rounds = 2
	}
	together(t, func(int) error {
		for range rounds {
			if err := b.try(t.Context(), store.Add(item.Key, map[string]int64{"n": 3})); err != nil {
				return err
			}
		}
		return nil
	})
	item.Numbers["n"] = int64(3 * callers * rounds)
	b.holds(t, at(item, int64(1+callers*rounds)))
	t.Logf("%d callers at once added 3 to one counter, %d times each: it holds %d, version %d; nothing is lost",
		callers, rounds, item.Numbers["n"], 1+callers*rounds)
}

func testLimitHolds(t *testing.T, b bench) {
	item := b.item("P", "1", map[string]int64{"left": 100})
	b.write(t, store.Create(item))
	var winners atomic.Int64
	together(t, func(int) error {
		return tally(&winners, b.try(t.Context(), store.Add(item.Key, map[string]int64{"left": -3}, store.AtLeast("left", 3))))
	})
	if winners.Load() != 33 {
		t.Fatalf("%d takers of 3 from 100", winners.Load())
	}
	if left := b.get(t, item.Key).Numbers["left"]; left != 1 {
		t.Fatalf("%d left", left)
	}
}

func testTransfers(t *testing.T, b bench) {
	from, to := b.item("A", "1", map[string]int64{"n": 20}), b.item("B", "1", map[string]int64{"n": 0})
	b.write(t, store.Create(from), store.Create(to))
	var winners atomic.Int64
	together(t, func(int) error {
		return tally(&winners, b.try(t.Context(),
			store.Add(from.Key, map[string]int64{"n": -1}, store.AtLeast("n", 1)),
			store.Add(to.Key, map[string]int64{"n": 1})))
	})
	left, moved := b.get(t, from.Key).Numbers["n"], b.get(t, to.Key).Numbers["n"]
	if winners.Load() != 20 || left != 0 || moved != 20 {
		t.Fatalf("%d winners, %d left, %d moved", winners.Load(), left, moved)
	}
}

// testPausedOwner: acquisition raises the fence; whatever an older owner still
// writes is refused and changes nothing.
func testPausedOwner(t *testing.T, b bench) {
	lease := b.item("LEASE", "mail", map[string]int64{"fence": 1, "until_ms": 1000})
	step := b.item("STEP", "send", map[string]int64{"fence": 1})
	b.write(t, store.Create(lease), store.Create(step))
	owned := func(fence int64) []store.Op {
		return []store.Op{
			store.Check(lease.Key, store.Equal("fence", fence)),
			store.Add(step.Key, map[string]int64{"settled": 1}, store.Equal("fence", fence), store.Absent("settled")),
		}
	}
	takeOver := []store.Op{
		store.Add(lease.Key, map[string]int64{"fence": 1, "until_ms": 60_000}, store.AtMost("until_ms", 5000)),
		store.Add(step.Key, map[string]int64{"fence": 1}, store.Equal("fence", 1)),
	}
	b.write(t, takeOver...)
	b.refused(t, 0, takeOver...) // the new lease is alive
	if failed := b.refused(t, 0, owned(1)...); failed.Current.Numbers["fence"] != 2 {
		t.Fatalf("the paused owner is told %+v", failed.Current)
	}
	b.refused(t, 0, store.Replace(at(lease, 1))) // a release by the old owner
	b.write(t, owned(2)...)
	b.refused(t, 1, owned(2)...)
}

func testDuplicateStart(t *testing.T, b bench) {
	var winners atomic.Int64
	together(t, func(int) error {
		slot := b.item("SLOT", "loop", nil)
		run := b.item("RUN", "1", map[string]int64{"open": 1})
		return tally(&winners, b.try(t.Context(), store.Create(run), store.Create(slot)))
	})
	if winners.Load() != 1 {
		t.Fatalf("%d runs were started", winners.Load())
	}
}

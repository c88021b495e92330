package sim_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/outerloop-dev/outerloop/internal/sim"
)

var (
	oneSeed  = flag.Int64("seed", -1, "the one seed that TestSeed replays, with its trace")
	scenario = flag.String("scenario", "", "the scenario that seeds play; empty: each seed chooses")
	seeds    = flag.Uint64("seeds", 300, "how many seeds TestSeeds runs")
	from     = flag.Uint64("from", 0, "the first of them")
	where    = flag.String("store", "memory", "the store of TestSeed: memory, sqlite or dynamo")
)

// TestSeed replays one seed and prints everything that happens in it.
func TestSeed(t *testing.T) {
	t.Parallel()
	if *oneSeed < 0 {
		t.Skip("say which: -seed N")
	}
	s := sim.New(uint64(*oneSeed), sim.Options{Scenario: *scenario, Backend: backends[*where]})
	broken := s.Run()
	s.WriteTrace(os.Stdout, 0)
	if broken != nil {
		t.Fatal(broken)
	}
}

// TestSeeds runs a range of seeds and demands that every promise of the protocol
// holds in each, and that every window was hit (R24, R26, R33, R35, R37, R41, R49, R63).
func TestSeeds(t *testing.T) {
	t.Parallel()
	began := time.Now()
	fell, seen, scenes := runSeeds(t, *from, *seeds, sim.Options{Scenario: *scenario})
	if t.Failed() {
		return
	}
	took := time.Since(began)
	t.Logf("%d seeds from %d in %s, %.0f a second", *seeds, *from, took.Round(time.Millisecond), float64(*seeds)/took.Seconds())
	for _, w := range sim.Windows {
		n := fell[w.Name] + seen[w.Name]
		t.Logf("%7d  %s", n, w.Name)
		if n == 0 && *seeds >= 2000 && *scenario == "" {
			t.Errorf("window %q was never hit", w.Name)
		}
	}
	t.Logf("other faults: %v", fell)
	t.Logf("scenarios: %v", scenes)
}

// runSeeds runs seeds on as many processors as there are.
func runSeeds(t *testing.T, first, count uint64, o sim.Options) (fell, seen map[sim.Fault]int, scenes map[string]int) {
	t.Helper()
	fell, seen, scenes = map[sim.Fault]int{}, map[sim.Fault]int{}, map[string]int{}
	var mu sync.Mutex
	var next atomic.Uint64
	var wait sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wait.Go(func() {
			for n := next.Add(1) - 1; n < count; n = next.Add(1) - 1 {
				s := sim.New(first+n, o)
				broken := s.Run()
				mu.Lock()
				if broken != nil {
					t.Errorf("seed %d (%s): %v\n%s", s.Seed, s.Scenario, broken, explained(s.Seed, o))
				}
				for f, n := range s.Fell {
					fell[f] += n
				}
				for f, n := range s.Seen {
					seen[f] += n
				}
				scenes[s.Scenario]++
				mu.Unlock()
			}
		})
	}
	wait.Wait()
	return fell, seen, scenes
}

// explained is a failing seed with as few faults as show it, and how to see more.
func explained(seed uint64, o sim.Options) string {
	o, broken := sim.Shrink(seed, o, 30)
	s := sim.New(seed, o)
	_ = s.Run()
	var out bytes.Buffer
	fmt.Fprintf(&out, "with the faults %v left out: %v\n", o.Drop, broken)
	s.WriteTrace(&out, 40)
	fmt.Fprintf(&out, "all of it: go test ./internal/sim -run 'TestSeed$' -seed %d", seed)
	return out.String()
}

// TestReplay: the same seed gives the same trace, byte for byte.
func TestReplay(t *testing.T) {
	t.Parallel()
	for seed := range uint64(40) {
		var traces [2]bytes.Buffer
		for i := range traces {
			s := sim.New(seed, sim.Options{})
			if broken := s.Run(); broken != nil {
				t.Fatalf("seed %d: %v", seed, broken)
			}
			s.WriteTrace(&traces[i], 0)
		}
		a, b := traces[0].Bytes(), traces[1].Bytes()
		if !bytes.Equal(a, b) {
			i := 0
			for i < min(len(a), len(b)) && a[i] == b[i] {
				i++
			}
			t.Fatalf("seed %d does not replay:\n%s\n---\n%s", seed, around(a, i), around(b, i))
		}
		if len(a) == 0 || slices.Contains(a, 0) {
			t.Fatalf("seed %d has no trace", seed)
		}
	}
}

func around(text []byte, i int) []byte { return text[max(0, i-400):min(len(text), i+200)] }

package sim_test

import (
	"flag"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/outerloop-dev/outerloop/internal/sim"
)

var (
	without = flag.String("without", "", "the preconditions that TestItSees takes away, comma separated; empty: each")
	within  = flag.Uint64("within", 4000, "within how many seeds TestItSees must see it")
	sees    = flag.Bool("sees", false, "run TestItSees, which takes some minutes")
	update  = flag.Bool("update", false, "write docs/simulation.md")
)

// found is what taking a precondition away led to.
type found struct {
	seed   uint64
	broken *sim.Broken
	seen   bool
}

// lookFor runs seeds without a precondition until a promise is broken.
func lookFor(p *sim.Precondition, most uint64) found {
	for seed := range most {
		scene := p.Scenario
		if seed%4 == 3 { // now and then elsewhere
			scene = ""
		}
		if broken := sim.New(seed, sim.Options{Scenario: scene, Without: p, Aims: p.Aims}).Run(); broken != nil {
			return found{seed: seed, broken: broken, seen: true}
		}
	}
	return found{}
}

// TestItSees takes each precondition of the protocol away in turn and demands
// that some seed then breaks a promise: a simulation that sees nothing proves
// nothing. Where another precondition stands in for it, no seed may.
func TestItSees(t *testing.T) {
	t.Parallel()
	if !*sees && *without == "" {
		t.Skip("no -sees")
	}
	results := make([]found, len(sim.Preconditions))
	var wait sync.WaitGroup
	next := make(chan int)
	for range 2 {
		wait.Go(func() {
			for i := range next {
				p := &sim.Preconditions[i]
				most := *within
				if p.Redundant != "" {
					most = min(most, 300)
				}
				results[i] = lookFor(p, most)
				if r := results[i]; r.seen {
					t.Logf("%-20s seed %4d  %.150v", p.Name, r.seed, r.broken)
				}
			}
		})
	}
	for i := range sim.Preconditions {
		if *without == "" || strings.Contains(","+*without+",", ","+sim.Preconditions[i].Name+",") {
			next <- i
		}
	}
	close(next)
	wait.Wait()
	for i, p := range sim.Preconditions {
		if *without != "" && !strings.Contains(","+*without+",", ","+p.Name+",") {
			continue
		}
		switch r := results[i]; {
		case r.seen && p.Redundant != "":
			t.Errorf("%s is said to be redundant (%s), seed %d: %v", p.Name, p.Redundant, r.seed, r.broken)
		case !r.seen && p.Redundant == "":
			t.Errorf("%s: no seed of %d saw it", p.Name, *within)
		case !r.seen:
			t.Logf("%-20s redundant: %s", p.Name, p.Redundant)
		}
	}
	if *without == "" && !t.Failed() {
		documented(t, results)
	}
}

// documented compares the page with what the program knows, but for the seeds,
// which are those of the last time it was written.
func documented(t *testing.T, results []found) {
	t.Helper()
	var list []sim.Finding
	for i, p := range sim.Preconditions {
		if r := results[i]; r.seen {
			list = append(list, sim.Finding{Precondition: p.Name, Seed: r.seed, Invariant: r.broken.Invariant})
		}
	}
	const path = "../../docs/simulation.md"
	page := sim.Page(list)
	if *update {
		if err := os.WriteFile(path, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	have, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if withoutSeeds(string(have)) != withoutSeeds(page) {
		t.Errorf("%s is not what the simulation says: go test ./internal/sim -run TestItSees -sees -update", path)
	}
}

// withoutSeeds leaves out the columns that another seed may change.
func withoutSeeds(page string) string {
	return regexp.MustCompile(`(?m) \| (\d+ \| \S+|– \| (redundant: .*|\?)) \|$`).ReplaceAllString(page, "")
}

package sim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/store"
	"github.com/outerloop-dev/outerloop/pkg/store/storetest/memstore"
)

// Options say what a simulation runs on.
type Options struct {
	// Scenario names what is run; empty: the seed chooses.
	Scenario string
	// Backend opens the store for a seed; nil: a store in memory.
	Backend func(seed uint64) Backend
	// Without takes a precondition away, to see that somebody notices; nil: none.
	Without *Precondition
	// Drop names faults that do not fall, by their number from 0.
	Drop []int
	// Aims are faults that the seed aims at besides its own.
	Aims []Fault
	// NoFaults leaves only what the seed interleaves.
	NoFaults bool
}

// Sim is one simulated world of one seed.
type Sim struct {
	Seed     uint64
	Options  Options
	Scenario string
	// Fell counts the faults that fell, Seen the windows that came about by themselves.
	Fell map[Fault]int
	Seen map[Fault]int

	ctx      context.Context
	project  *Project
	now      time.Time
	turns    turns
	arrivals int
	steps    int
	cur      *actor
	alive    []*actor
	random   *rand.Rand
	plan     *plan
	resting  bool

	backend   Backend
	shadow    map[store.Key]*store.Item
	processes []*process
	ids       int
	runs      map[string]*execution
	tokens    map[string]waiting
	outside   outside
	guard     *guard
	trace     []line
	started   []string
	rounds    int
}

// Broken is what a seed has shown to be wrong.
type Broken struct {
	// Invariant is its short name, such as I1; What says what happened.
	Invariant string
	What      string
}

// Error is both.
func (b *Broken) Error() string { return b.Invariant + " " + b.What }

// largestSkew is how far a clock may be off: twice that, and what a provider
// takes, fits in the grace of an action.
const (
	largestSkew = 4 * time.Second
	grace       = 10 * time.Second
)

func (s *Sim) skew() time.Duration {
	if s.random.IntN(2) == 0 {
		return 0
	}
	return time.Duration(s.random.IntN(int(2*largestSkew))) - largestSkew
}

// New makes the world of a seed.
func New(seed uint64, o Options) *Sim {
	s := &Sim{
		Seed: seed, Options: o, Fell: map[Fault]int{}, Seen: map[Fault]int{}, ctx: context.Background(),
		now:    time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC),
		random: rand.New(rand.NewPCG(seed, 1)), shadow: map[store.Key]*store.Item{}, runs: map[string]*execution{},
		tokens: map[string]waiting{}, project: Loops(),
	}
	s.outside = outside{s: s, effects: map[string]int{}, calls: map[string]int{}}
	s.guard = newGuard(s)
	s.plan = newPlan(rand.New(rand.NewPCG(seed, 2)))
	if o.NoFaults {
		s.plan.left, s.plan.own = 0, nil
	}
	for _, n := range o.Drop {
		s.plan.dropped[n] = true
	}
	if o.Backend != nil {
		s.backend = o.Backend(seed)
	} else {
		m := memstore.New()
		s.backend = Backend{Store: m, Blobs: m}
	}
	for i := range 3 {
		p := &process{s: s, name: fmt.Sprintf("p%d", i), skew: s.skew()}
		s.processes = append(s.processes, p)
		p.boot()
	}
	return s
}

// Run runs the seed to its end; nil: everything held.
func (s *Sim) Run() (broken *Broken) {
	defer s.end()
	scene := s.scene()
	s.Scenario = scene.Name
	if !s.Options.NoFaults {
		s.plan.aimAt(scene.aims)
		s.plan.aims = append(s.plan.aims, s.Options.Aims...)
		s.plan.own = append(s.plan.own, s.Options.Aims...)
	}
	s.log("scenario %s, faults %d, aiming at %q", scene.Name, s.plan.left, s.plan.aims)
	scene.play(s)
	s.people()
	hours := []int{1, 2, 3, 5, 5, 30}[s.random.IntN(6)]
	ok := s.run(s.now.Add(time.Duration(hours) * time.Hour))
	if ok {
		s.rest()
	}
	if len(s.guard.broken) > 0 {
		return &s.guard.broken[0]
	}
	return nil
}

// FaultsFallen is how many faults fell, the dropped ones included.
func (s *Sim) FaultsFallen() int { return s.plan.fell }

// Steps is how many things happened.
func (s *Sim) Steps() int { return s.steps }

package sim

import (
	"fmt"
	"slices"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/coordinator"
)

// scene is what is asked of the loops in a seed.
type scene struct {
	Name string
	play func(*Sim)
	// aims are windows that hardly any other scenario comes by.
	aims []Fault
}

// starts begins runs of loops with inputs, each at some time of the first minutes.
func starts(pairs ...string) func(*Sim) { return startsWithin(20*time.Second, pairs...) }

// startsWithin begins them within some time.
func startsWithin(most time.Duration, pairs ...string) func(*Sim) {
	return func(s *Sim) {
		for i := 0; i+1 < len(pairs); i += 2 {
			loop, input := pairs[i], pairs[i+1]
			s.spawn(time.Duration(s.random.IntN(int(most.Milliseconds())))*time.Millisecond, "trigger", func() { s.start(loop, input) })
			if s.random.IntN(3) == 0 { // a trigger that comes again
				s.spawn(time.Duration(s.random.IntN(200))*time.Second, "trigger again", func() { s.start(loop, input) })
			}
		}
	}
}

// scenes are by what they are about; the seed chooses one, often the ones with actions.
func scenes() []scene {
	out := []scene{
		{"plain", starts("plain", `{"key":"a"}`, "plain", `{"key":"b"}`), nil},
		{"one action", starts("acts", `{"key":"a","ask":true}`), []Fault{"begin on a run cancelled a moment ago", "cancelling / execution not stopped"}},
		{"two runs act on one contact", starts("acts", `{"key":"a"}`, "acts", `{"key":"b","ask":true}`), nil},
		{"items", starts("items", `{"key":"a","n":3,"ask":true}`), nil},
		{"facts", startsWithin(4*time.Second, "facts", `{"key":"a"}`, "facts", `{"key":"b"}`), nil},
		{"money", starts("money", `{"key":"a"}`, "money", `{"key":"b"}`, "money", `{"key":"c"}`), nil},
		{"poor", starts("poor", `{"key":"a"}`, "poor", `{"key":"b"}`), nil},
		{"dear", dear, []Fault{"owner paused past its lease settles", "run closed / what follows not done"}},
		{"patterns", patterns, []Fault{"child started / parent's state retried"}},
		{"rooms", rooms, []Fault{"rollback created / first undo not handed over", "halt decided / execution still running"}},
		{"overlap skip", starts("skips", `{"key":"a"}`, "skips", `{"key":"b"}`), nil},
		{"overlap queue", starts("queues", `{"key":"a"}`, "queues", `{"key":"b"}`, "queues", `{"key":"c"}`, "queues", `{"key":"d"}`), nil},
		{"overlap replace", starts("replaces", `{"key":"a"}`, "replaces", `{"key":"b"}`), nil},
		{"breaker", starts("breaks", `{"key":"a"}`, "breaks", `{"key":"b"}`), nil},
		{"rates", starts("rates", `{"key":"a"}`, "rates", `{"key":"b"}`), nil},
		{"approvals", starts("asks", `{"key":"a"}`), []Fault{"expiry and decision in one second", "decision / token not completed", "decision / token not registered yet", SecondDecider}},
		{"deadline", deadline, []Fault{"run closed / what follows not done", "generation raised / new execution not started", "expiry and decision in one second"}},
		{"events", events, nil},
		{"agents", starts("agents", `{"key":"a"}`, "agents", `{"key":"b"}`), []Fault{"owner paused past its lease settles", "admit / handler dies"}},
	}
	out = append(out, out[slices.IndexFunc(out, func(c scene) bool { return c.Name == "rooms" })])
	for i := range generatedLoops {
		name := fmt.Sprintf("gen%02d", i)
		out = append(out, scene{name, starts(name, `{"key":"a","ask":true}`), []Fault{"registration delayed past a redrive"}})
	}
	return out
}

// scene is the seed's, or the one that is asked for.
func (s *Sim) scene() scene {
	list := scenes()
	chosen := list[s.random.IntN(len(list))]
	if s.random.IntN(3) == 0 {
		chosen = list[s.random.IntN(4)]
	}
	if i := slices.IndexFunc(list, func(c scene) bool { return c.Name == s.Options.Scenario }); i >= 0 {
		chosen = list[i]
	}
	return chosen
}

func patterns(s *Sim) {
	starts("patterns", `{"key":"a"}`)(s)
	s.spawn(time.Duration(s.random.IntN(120))*time.Second, "sender of events", func() {
		s.publish("e1", `{"key":"a"}`)
		s.publish("e2", `{"key":"b","n":1}`)
	})
}

// rooms are opened, and rolled back once the run is blocked.
func rooms(s *Sim) {
	starts("rooms", `{"key":"a"}`)(s)
	for range 3 {
		s.spawn(time.Duration(60+s.random.IntN(600))*time.Second, "bob", func() {
			for _, run := range slices.Clone(s.started) {
				view, err := persistently(s, "rollback", func(c *coordinator.Coordinator) (coordinator.RunView, error) {
					return c.Rollback(s.ctx, coordinator.PersonRequest{Run: run, By: "bob"})
				})
				s.log("bob rolls %s back: %s %v", run, view.ID, err)
			}
		})
	}
}

// deadline lets requests run into the run's deadline, and redrives what failed.
func deadline(s *Sim) {
	starts("voids", `{"key":"a"}`)(s)
	for range 4 {
		s.spawn(time.Duration(46+s.random.IntN(70))*time.Minute, "bob", s.redrives)
	}
}

// events are told by steps and by completed runs, while a listener is paused.
func events(s *Sim) {
	starts("tells", `{"key":"a"}`)(s)
	pause := func(paused bool) func() {
		return func() {
			_, err := persistently(s, "pause", func(c *coordinator.Coordinator) (struct{}, error) {
				if paused {
					return struct{}{}, c.Pause(s.ctx, "hears")
				}
				return struct{}{}, c.Resume(s.ctx, "hears")
			})
			s.log("paused %t: %v", paused, err)
		}
	}
	if s.random.IntN(2) == 0 {
		s.spawn(time.Duration(s.random.IntN(10_000))*time.Millisecond, "ann", pause(true))
		s.spawn(time.Duration(30+s.random.IntN(600))*time.Second, "ann", pause(false))
	}
	s.spawn(time.Duration(s.random.IntN(60))*time.Second, "sender of events", func() { s.publish("e1", `{"key":"x","n":7}`) })
}

// dear are runs with models' steps whose deadline comes early; they are redriven.
func dear(s *Sim) {
	starts("dear", `{"key":"a"}`, "dear", `{"key":"b"}`)(s)
	for range 3 {
		s.spawn(time.Duration(5+s.random.IntN(80))*time.Minute, "bob", s.redrives)
	}
}

package sim

import (
	"container/heap"
	"iter"
	"runtime/debug"
	"time"
)

// actor is one thread of the simulated world: a function's invocation, a person,
// a round of the watch. It runs as a coroutine and gives the baton back whenever
// it waits.
type actor struct {
	name string
	// op is what it is doing, for the trace, the windows and the preconditions
	// that are taken away by operation.
	op string
	// on is the process whose coordinator it calls; its clock may differ.
	on *process
	// gen is the generation that it works for; 0: none.
	gen int
	run string
	// work is the invocation of a worker that it is, if it is one.
	work *invocation

	resume func() (struct{}, bool)
	stop   func()
	yield  func(struct{}) bool
	ended  bool
}

// killed unwinds an actor that never goes on; died unwinds the one call that
// the actor made, whose process is gone.
type (
	killed struct{}
	died   struct{}
)

// turn is something that happens at a time.
type turn struct {
	at time.Time
	n  int
	do func()
}

// turns is a heap by time, then by order of arrival.
type turns []turn

// Len is the heap's size.
func (t turns) Len() int { return len(t) }

// Less orders by time, then by arrival.
func (t turns) Less(i, j int) bool {
	if !t[i].at.Equal(t[j].at) {
		return t[i].at.Before(t[j].at)
	}
	return t[i].n < t[j].n
}

// Swap exchanges two.
func (t turns) Swap(i, j int) { t[i], t[j] = t[j], t[i] }

// Push adds one at the end.
func (t *turns) Push(x any) { *t = append(*t, x.(turn)) }

// Pop takes the last.
func (t *turns) Pop() any {
	old := *t
	last := old[len(old)-1]
	old[len(old)-1] = turn{}
	*t = old[:len(old)-1]
	return last
}

// at lets something happen at a time, outside of any actor.
func (s *Sim) at(when time.Time, do func()) {
	s.arrivals++
	heap.Push(&s.turns, turn{at: when, n: s.arrivals, do: do})
}

func (s *Sim) after(d time.Duration, do func()) { s.at(s.now.Add(d), do) }

// spawn begins an actor after a while.
func (s *Sim) spawn(d time.Duration, name string, do func()) *actor {
	a := &actor{name: name, on: s.any()}
	a.resume, a.stop = iter.Pull(func(yield func(struct{}) bool) {
		a.yield = yield
		defer func() {
			if r := recover(); r != nil {
				if _, ok := r.(killed); !ok {
					s.guard.bad("I0", "%v\n%s", r, debug.Stack())
				}
			}
		}()
		do()
	})
	s.alive = append(s.alive, a)
	s.after(d, func() { s.go_(a) })
	return a
}

// go_ hands the baton to an actor until it waits or ends.
func (s *Sim) go_(a *actor) {
	if a.ended {
		return
	}
	before := s.cur
	s.cur = a
	if _, more := a.resume(); !more {
		a.ended = true
	}
	s.cur = before
}

// wait parks the running actor for a time.
func (s *Sim) wait(d time.Duration) {
	a := s.cur
	s.after(d, func() { s.go_(a) })
	if !a.yield(struct{}{}) {
		panic(killed{})
	}
}

// kill ends an actor for good: it never goes on from where it waits.
func (s *Sim) kill(a *actor) {
	if a.ended {
		return
	}
	if a == s.cur {
		panic(killed{})
	}
	a.ended = true
	a.stop()
}

// latency is what a call takes: mostly next to nothing, seldom long enough for
// everybody else to get ahead.
func (s *Sim) latency() time.Duration {
	switch n := s.random.IntN(100); {
	case n < 60:
		return time.Duration(1+s.random.IntN(3)) * time.Millisecond
	case n < 88:
		return time.Duration(1+s.random.IntN(30)) * time.Millisecond
	case n < 98:
		return time.Duration(1+s.random.IntN(400)) * time.Millisecond
	}
	return time.Duration(1+s.random.IntN(6000)) * time.Millisecond
}

// run lets things happen until a time, or until nothing is left to happen
// before it; false: the guard saw something, or there is no end.
func (s *Sim) run(until time.Time) bool {
	for len(s.turns) > 0 && !s.turns[0].at.After(until) {
		t := heap.Pop(&s.turns).(turn)
		if t.at.After(s.now) {
			s.now = t.at
		}
		s.steps++
		t.do()
		if len(s.guard.broken) > 0 {
			return false
		}
		if s.steps > maxSteps {
			s.guard.bad("end", "the world does not come to rest")
			return false
		}
	}
	if s.now.Before(until) {
		s.now = until
	}
	return true
}

// maxSteps bounds a seed.
const maxSteps = 60_000

// end kills whoever is left.
func (s *Sim) end() {
	s.cur = nil
	for _, a := range s.alive {
		if !a.ended {
			a.ended = true
			a.stop()
		}
	}
	if s.backend.Close != nil {
		s.backend.Close()
	}
}

package sim

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

const (
	// lastRounds is how often people and the watch look when nothing goes wrong any more.
	lastRounds = 45
	// redriveEvery is after how many rounds a blocked run is redriven.
	redriveEvery = 3
)

// rest lets people and the watch finish what there is, without new faults, and
// demands that everything ends and nothing is left over.
func (s *Sim) rest() {
	s.resting = true
	if s.backend.Calm != nil {
		s.backend.Calm()
	}
	s.log("from now on nothing goes wrong")
	for s.rounds = range lastRounds {
		if s.rounds > 1 && s.over() {
			if !s.run(s.now.Add(time.Minute)) { // the last answers are on their way to the engine
				return
			}
			if s.over() { // nobody has redriven one meanwhile
				break
			}
		}
		s.spawn(0, "last round", func() {
			s.watch()
			s.looks("ann")
			s.looks("bob")
			s.answers("ann")
			if s.rounds%redriveEvery == 0 {
				for _, id := range slices.Sorted(maps.Keys(s.guard.runs)) {
					if r := s.guard.runs[id]; r.Status == outerloop.StatusBlocked && r.Rollback == nil {
						s.redrive(id)
					}
				}
			}
			s.watch()
		})
		if !s.run(s.now.Add(10 * time.Minute)) {
			return
		}
	}
	for _, id := range slices.Sorted(maps.Keys(s.guard.runs)) {
		if r := s.guard.runs[id]; !r.Status.Closed() && !s.waitsForMoney(r) {
			s.guard.bad("I7", "run %s is %s, cancelling %t, queued %t: %s", id, r.Status, r.Cancelling, r.Queued, r.Reason)
		}
	}
	if len(s.guard.broken) == 0 {
		s.leftOver()
		s.listed()
	}
}

// waitsForMoney tells whether a run waits in line for the next day's budget.
func (s *Sim) waitsForMoney(r *record.Run) bool {
	return r.Queued && s.project.defs[r.Definition].Loop.Budget.PerDay.Micro > 0
}

// over tells whether every run is closed.
func (s *Sim) over() bool {
	for _, r := range s.guard.runs {
		if !r.Status.Closed() && !s.waitsForMoney(r) {
			return false
		}
	}
	return true
}

// leftOver: I18 and I1e what stands when all is over.
func (s *Sim) leftOver() {
	g := s.guard
	for _, key := range slices.SortedFunc(maps.Keys(s.shadow), compareKeys) {
		item := s.shadow[key]
		switch {
		case key.Sort == "ACT":
			act := must(record.DecodeAction(item))
			effects := s.outside.effects[act.ProviderKey]
			switch {
			case act.State == record.ActionExecuting:
				g.bad("I18", "%s is executing for ever", act.Entry)
			case act.State == record.ActionDone && effects == 0 || act.State == record.ActionFailed && effects > 0:
				g.bad("I1e", "%s is recorded as %s, the outside has done it %d times", act.Entry, act.State, effects)
			}
		case key.Sort == "RUN":
			g.undone(must(record.DecodeRun(item)))
		case key.Sort == "APPROVAL":
			if ap := must(record.DecodeApproval(item)); !ap.Decided() && !ap.Void {
				g.bad("I18", "the request of %s is open although its run is closed", ap.Step)
			}
		case key.Sort == "EXC":
			if exc := must(record.DecodeException(item)); !exc.Resolved() {
				g.bad("I18", "the exception of %s (%s) is open although its run is closed", exc.Step, exc.Cause)
			}
		case strings.HasPrefix(key.Sort, record.ChildPrefix):
			if child := must(record.DecodeChild(item)); !child.Told {
				g.bad("I18", "the parent of %s was never told its end", child.ID)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.runs)) {
		if r := s.runs[name]; !r.over() {
			g.bad("I18", "execution %s goes on although its run is closed", name)
		}
	}
}

func compareKeys(a, b store.Key) int {
	if c := strings.Compare(a.Part, b.Part); c != 0 {
		return c
	}
	return strings.Compare(a.Sort, b.Sort)
}

// listed: I17 every index lists exactly the items that name it.
func (s *Sim) listed() {
	want := map[store.Index]map[string][]string{store.ByList: {}, store.ByDue: {}}
	for key, item := range s.shadow {
		for index, at := range map[store.Index]*store.IndexKey{store.ByList: item.List, store.ByDue: item.Due} {
			if at != nil {
				want[index][at.Part] = append(want[index][at.Part], at.Sort+" "+key.Part+"/"+key.Sort)
			}
		}
	}
	for index, parts := range want {
		for part, entries := range parts {
			slices.Sort(entries)
			if have := s.list(index, part); !slices.Equal(have, entries) {
				s.guard.bad("I17", "index %s/%s lists %q, not %q", index, part, have, entries)
			}
		}
	}
}

func (s *Sim) list(index store.Index, part string) []string {
	var out []string
	s.quietly(func() {
		q := store.Query{Index: index, Part: part}
		for {
			page, err := s.backend.Store.List(context.Background(), q)
			if err != nil {
				panic(errors.Join(errors.New("listing"), err))
			}
			for _, item := range page.Items {
				at := item.List
				if index == store.ByDue {
					at = item.Due
				}
				out = append(out, at.Sort+" "+item.Part+"/"+item.Sort)
			}
			if page.Next == "" {
				break
			}
			q.After = page.Next
		}
	})
	slices.Sort(out)
	return out
}

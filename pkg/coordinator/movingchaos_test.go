package coordinator_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/outerloop-dev/outerloop"
)

// Moved while things go wrong on the side that is left: crashes, lost answers,
// pauses, calls that did or did not get through. Nothing is done twice (R37).
func TestMovedInTrouble(t *testing.T) {
	t.Parallel()
	seeds := 40
	if testing.Short() {
		seeds = 8
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			from, to := onSQLite(t), onFake(t)
			here := worldOver(t, from, files(eachLoop, nil))
			usual(here)
			random := rand.New(rand.NewPCG(uint64(seed), 7))
			here.rand = random
			here.chaos = &chaos{rand: random, budget: 6, seen: map[string]int{}}
			for range 3 {
				here.chaos.focus = append(here.chaos.focus, faultNames[random.IntN(len(faultNames))])
			}
			run := start(t, here, `{"key":"a","n":4,"ask":true}`)
			for range 20 + random.IntN(160) {
				if !here.step(here.now.Add(time.Minute)) {
					break
				}
			}
			there := move(t, here, from, to)
			drive(t, there, run)
			here.now, here.chaos = latest(here.now, there.now), nil
			here.run(48*time.Hour, 4000)
			if view := show(t, there, run); view.Status != outerloop.StatusCompleted && view.Status != outerloop.StatusBlocked {
				t.Errorf("the run is %s", view.Status) // blocked: an action was refused too often
			}
			for key, n := range there.provider().effects {
				if n != 1 {
					t.Errorf("%s was done %d times\n%s\n=== there\n%s", key, n, here.tail(80), there.tail(60))
				}
			}
		})
	}
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

package coordinator_test

import (
	"strings"
	"testing"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// What was closed 90 days ago goes, in bounded rounds, whole; what is open or
// younger stays, and so does the action log: a later run of the same subject
// does nothing twice (R37, R75).
func TestOldRunsGo(t *testing.T) {
	t.Parallel()
	for name, open := range backEnds {
		if name == lagging {
			continue // it would be found some rounds later
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := open(t)
			w := worldOver(t, b, files(eachLoop, nil))
			usual(w)
			old := start(t, w, `{"key":"a","n":3,"ask":true}`)
			w.run(time.Minute, 1000)
			for range 3 {
				voteOne(w)
				w.run(time.Minute, 1000)
			}
			want(t, w, old, outerloop.StatusCompleted)
			w.now = w.now.Add(60 * 24 * time.Hour)
			young := start(t, w, `{"key":"b","n":1}`)
			w.run(time.Hour, 1000)
			want(t, w, young, outerloop.StatusCompleted)
			retain(t, w, coordinator.Retention{}, 0)

			w.now = w.now.Add(30*24*time.Hour + time.Hour)
			rounds := 0
			for more := true; more; rounds++ {
				out, err := w.coord.Retain(w.ctx, coordinator.Retention{Items: 4})
				if err != nil || out.Items > 8 {
					t.Fatalf("round %d: %+v, %v", rounds, out, err)
				}
				more = out.More
				if _, err := w.coord.Redrive(w.ctx, coordinator.PersonRequest{Run: old, By: "ann"}); err == nil {
					t.Fatal("a run that is being removed was redriven")
				}
			}
			if rounds < 3 {
				t.Errorf("%d rounds", rounds)
			}
			left := partitions(t, b)
			for part := range left {
				if strings.Contains(part, old) || strings.HasPrefix(part, "APPROVAL#") {
					t.Errorf("%s is left", part)
				}
			}
			if left["ACT#test#D-0:send"] == 0 && left["ACT#test#a/D-0:send"] == 0 {
				t.Errorf("the action log went: %v", left)
			}
			want(t, w, young, outerloop.StatusCompleted)

			clear(w.runs) // an engine forgets, too
			again := start(t, w, `{"key":"a","n":3}`)
			w.run(time.Hour, 1000)
			want(t, w, again, outerloop.StatusCompleted)
			for key, n := range w.provider().effects {
				if n != 1 {
					t.Errorf("%s was done %d times", key, n)
				}
			}
			if again != old {
				t.Errorf("the subject's run is %s, was %s", again, old)
			}
		})
	}
}

func retain(t *testing.T, w *world, r coordinator.Retention, runs int) {
	t.Helper()
	out, err := w.coord.Retain(w.ctx, r)
	if err != nil || out.Runs != runs {
		t.Fatalf("removed %+v, %v, want %d runs", out, err, runs)
	}
}

func partitions(t *testing.T, b backEnd) map[string]int {
	t.Helper()
	found := map[string]int{}
	var after store.Key
	for {
		items, err := b.scan.Scan(t.Context(), after, 100)
		if err != nil {
			t.Fatal(err)
		}
		if len(items) == 0 {
			return found
		}
		for _, item := range items {
			found[item.Part]++
			after = item.Key
		}
	}
}

// A loop may keep its runs for another time; an open run is never old.
func TestRetentionPerLoop(t *testing.T) {
	t.Parallel()
	b := onSQLite(t)
	w := worldOver(t, b, files(eachLoop, nil))
	usual(w)
	done := start(t, w, `{"key":"a","n":1}`)
	w.run(time.Hour, 1000)
	want(t, w, done, outerloop.StatusCompleted)
	open := start(t, w, `{"key":"b","n":4,"ask":true}`)
	w.run(time.Minute, 1000)
	w.now = w.now.Add(8 * 24 * time.Hour)
	retain(t, w, coordinator.Retention{Before: w.now, Loop: "other"}, 0)
	retain(t, w, coordinator.Retention{Before: w.now, Loop: "test"}, 1)
	if view := show(t, w, open); view.Status.Closed() {
		t.Errorf("the open run is %s", view.Status)
	}
	if parts := partitions(t, b); parts[record.RunKey(done).Part] != 0 || parts[record.RunKey(open).Part] == 0 {
		t.Errorf("left are %v", parts)
	}
}

// A loop's `keep` decides, else the project's, else 90 days.
func TestKeepInTheLanguage(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		loop, project string
		days          int
	}{
		"the loop's":    {"keep: 3d\n", "keep: 30d\n", 3},
		"the project's": {"", "keep: 30d\n", 30},
		"the usual":     {"", "", 90},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			loop := strings.Replace(eachLoop, "\nsteps:", "\n"+c.loop+"steps:", 1)
			w := newWorld(t, files(loop, map[string]string{"outerloop.yaml": projectFile + c.project}))
			usual(w)
			run := start(t, w, `{"key":"a","n":1}`)
			w.run(time.Hour, 1000)
			want(t, w, run, outerloop.StatusCompleted)
			w.now = w.now.Add(time.Duration(c.days)*24*time.Hour - 2*time.Hour)
			retain(t, w, coordinator.Retention{}, 0)
			w.now = w.now.Add(3 * time.Hour)
			retain(t, w, coordinator.Retention{}, 1)
		})
	}
}

// A fact is there as long as the project keeps it, and then it is as if it had
// never been (R25): what reads it lacks it, what writes it writes it anew.
func TestFactIsKeptAsDeclared(t *testing.T) {
	t.Parallel()
	project := strings.Replace(projectFile, "additionalProperties: false}}", "additionalProperties: false}, keep: 2d}", 1)
	w := newWorld(t, files(loopHead+`
steps:
  board: {worker: board, input: {n: 1}, writes: {board/state: "${output}"}}
`, map[string]string{"outerloop.yaml": project}))
	usual(w)
	start(t, w, `{"key":"a"}`)
	w.run(time.Hour, 1000)
	item, err := w.store.Get(w.ctx, record.FactKey("board/state"))
	if err != nil || item[0] == nil {
		t.Fatal(item, err)
	}
	fact, err := record.DecodeFact(item[0])
	if err != nil {
		t.Fatal(err)
	}
	if got := fact.Until.Sub(fact.At); got != 2*24*time.Hour || item[0].Expires != fact.Until.Unix()+1 {
		t.Errorf("kept for %s, expires %d", got, item[0].Expires)
	}
	if fact.Gone(fact.Until.Add(-time.Second)) || !fact.Gone(fact.Until) {
		t.Error("it is not there until its time is over, or after")
	}
}

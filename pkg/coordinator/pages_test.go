package coordinator_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// Lists of several partitions come page by page: each run once, newest first,
// also when one moves from open to closed between two pages.
func TestRunsComeByPage(t *testing.T) {
	t.Parallel()
	w := newWorld(t, files(eachLoop, nil))
	usual(w)
	var want []string
	for i := range 25 {
		want = append(want, start(t, w, fmt.Sprintf(`{"key":"k%d","ask":true}`, i)))
		if i%3 == 0 {
			w.run(time.Minute, 500)
		}
		w.now = w.now.Add(time.Duration(i%2) * time.Second) // some of one millisecond
	}
	var got []string
	q := coordinator.RunsQuery{Limit: 4}
	for {
		page, err := w.coord.RunsPage(w.ctx, q)
		if err != nil {
			t.Fatal(err)
		}
		if len(page.Items) > 4 {
			t.Fatalf("a page of %d", len(page.Items))
		}
		for _, v := range page.Items {
			got = append(got, v.ID)
		}
		if page.Next == "" {
			break
		}
		q.After = page.Next
		if last := page.Items[len(page.Items)-1]; !last.Status.Closed() { // it moves to the closed ones
			if _, err := w.coord.Cancel(w.ctx, coordinator.PersonRequest{Run: last.ID, By: "ann@example.com"}); err != nil {
				t.Fatal(err)
			}
		}
	}
	all, err := w.coord.Runs(w.ctx, coordinator.RunsQuery{Limit: 1000})
	if err != nil || len(all) != len(want) {
		t.Fatalf("%d runs, %v", len(all), err)
	}
	var once []string
	for _, v := range all {
		once = append(once, v.ID)
	}
	if !slices.Equal(got, once) {
		t.Errorf("by pages\n%v\nat once\n%v", got, once)
	}
	for _, after := range []string{"x", "%", "e30"} {
		if _, err := w.coord.RunsPage(w.ctx, coordinator.RunsQuery{After: after}); !errors.Is(err, coordinator.ErrInput) {
			t.Errorf("after %q: %v", after, err)
		}
	}
	if found, err := w.coord.Find(w.ctx, ""); err != nil || !slices.Equal(found, once[:1]) {
		t.Errorf("the newest: %v, %v", found, err)
	}
	id := once[7]
	for _, beginning := range []string{id, id[:len(id)-4]} {
		if found, err := w.coord.Find(w.ctx, beginning); err != nil || !slices.Equal(found, []string{id}) {
			t.Errorf("%s: %v, %v", beginning, found, err)
		}
	}
	for _, beginning := range []string{"frob", "l-zzzz", id + "0"} {
		if found, err := w.coord.Find(w.ctx, beginning); err != nil || len(found) != 0 {
			t.Errorf("%s: %v, %v", beginning, found, err)
		}
	}
}

// twofold lists what is open among what is closed too, as an index does that an
// item has just moved in.
type twofold struct{ store.Store }

func (d twofold) List(ctx context.Context, q store.Query) (store.Page, error) {
	q.Part = strings.Replace(q.Part, "#closed", "#open", 1)
	return d.Store.List(ctx, q)
}

// A run that moves while it is listed is listed once.
func TestARunThatMovesIsListedOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, files(eachLoop, nil))
	usual(w)
	for i := range 12 {
		start(t, w, fmt.Sprintf(`{"key":"k%d","ask":true}`, i))
	}
	w.store = twofold{w.store}
	w.boot()
	seen := map[string]bool{}
	for q := (coordinator.RunsQuery{Limit: 5}); ; {
		page, err := w.coord.RunsPage(w.ctx, q)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range page.Items {
			if seen[v.ID] {
				t.Errorf("%s is listed twice", v.ID)
			}
			seen[v.ID] = true
		}
		if q.After = page.Next; page.Next == "" {
			break
		}
	}
	if len(seen) != 12 {
		t.Errorf("%d runs are listed", len(seen))
	}
}

// Requests and exceptions by pages are those of the whole list.
func TestWaitsComeByPage(t *testing.T) {
	t.Parallel()
	w := newWorld(t, files(eachLoop, nil))
	usual(w)
	for i := range 7 {
		start(t, w, fmt.Sprintf(`{"key":"k%d","ask":true}`, i))
	}
	w.run(time.Minute, 2000)
	all, err := w.coord.Approvals(w.ctx, coordinator.ApprovalsQuery{})
	if err != nil || len(all) < 7 {
		t.Fatalf("%d approvals, %v", len(all), err)
	}
	var got []string
	for q := (coordinator.ApprovalsQuery{Limit: 2}); ; {
		page, err := w.coord.ApprovalsPage(w.ctx, q)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range page.Items {
			got = append(got, v.ID)
		}
		if q.After = page.Next; page.Next == "" {
			break
		}
	}
	if len(got) != len(all) || slices.ContainsFunc(all, func(v coordinator.ApprovalView) bool { return !slices.Contains(got, v.ID) }) {
		t.Errorf("by pages %v, at once %d", got, len(all))
	}
}

// The watch's last round is on record, and a loop says whether it is paused.
func TestWatchAndLoopsAreOnRecord(t *testing.T) {
	t.Parallel()
	w := newWorld(t, files(eachLoop, nil))
	usual(w)
	if beat, err := w.coord.LastBeat(w.ctx); err != nil || !beat.At.IsZero() {
		t.Errorf("before: %+v, %v", beat, err)
	}
	for range 2 {
		tick, err := w.coord.Watch(w.ctx)
		if err := errors.Join(err, w.coord.Beat(w.ctx, tick, errors.New("one went wrong"))); err != nil {
			t.Fatal(err)
		}
		if beat, err := w.coord.LastBeat(w.ctx); err != nil || !beat.At.Equal(w.now) || beat.Failed == "" {
			t.Errorf("%+v, %v", beat, err)
		}
		w.now = w.now.Add(time.Minute)
	}
	loops, err := w.coord.Loops(w.ctx)
	if err != nil || len(loops) == 0 || loops[0].Version == 0 || loops[0].Paused {
		t.Fatalf("%+v, %v", loops, err)
	}
	if err := w.coord.Pause(w.ctx, loops[0].ID); err != nil {
		t.Fatal(err)
	}
	if loops, err = w.coord.Loops(w.ctx); err != nil || !loops[0].Paused {
		t.Errorf("%+v, %v", loops, err)
	}
}

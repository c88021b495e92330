package coordinator_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/coordinator"
)

// lives are runs with the turns that a run's life may take.
var lives = map[string]struct {
	loop string
	live func(t *testing.T, w *world, run string)
}{
	"decided, rejected, expired": {eachLoop, func(t *testing.T, w *world, run string) {
		for i, ap := range waiting4(t, w) {
			if i == 2 {
				break // nobody looks at that one
			}
			if err := decide(w, ap, []string{coordinator.Approve, coordinator.Reject}[i], "bob", ""); err != nil {
				t.Fatal(err)
			}
		}
		w.run(time.Minute, 1000)
		w.run(5*time.Hour, 1000)
	}},
	"halted and resolved": {draftLoop("{then: halt}"), func(t *testing.T, w *world, run string) {
		want(t, w, run, outerloop.StatusBlocked)
		exc := awhile(t, w, func() (coordinator.ExceptionView, bool) {
			list, err := w.coord.Exceptions(w.ctx, coordinator.ExceptionsQuery{})
			return first(list), err == nil && len(list) == 1
		})
		if _, err := w.coord.Resolve(w.ctx, coordinator.ResolveRequest{Exception: exc.ID, Way: coordinator.WayRetry, By: "ann"}); err != nil {
			t.Fatal(err)
		}
		w.run(time.Minute, 500)
	}},
	"halted and redriven": {draftLoop("{then: halt}"), func(t *testing.T, w *world, run string) {
		if _, err := w.coord.Redrive(w.ctx, coordinator.PersonRequest{Run: run, By: "ann", Reason: "mended"}); err != nil {
			t.Fatal(err)
		}
		w.run(time.Minute, 500)
	}},
	"cancelled": {eachLoop, func(t *testing.T, w *world, run string) {
		if _, err := w.coord.Cancel(w.ctx, coordinator.PersonRequest{Run: run, By: "ann", Reason: "no more"}); err != nil {
			t.Fatal(err)
		}
		w.run(time.Minute, 500)
	}},
}

func first[T any](list []T) (one T) {
	if len(list) > 0 {
		one = list[0]
	}
	return one
}

// awhile asks until an index that lags has what is asked for.
func awhile[T any](t *testing.T, w *world, ask func() (T, bool)) T {
	t.Helper()
	for range 300 {
		if found, ok := ask(); ok {
			return found
		}
	}
	t.Fatalf("it never comes\n%s", w.tail(20))
	panic("unreachable")
}

func waiting4(t *testing.T, w *world) []coordinator.ApprovalView {
	t.Helper()
	return awhile(t, w, func() ([]coordinator.ApprovalView, bool) {
		list, err := w.coord.Approvals(w.ctx, coordinator.ApprovalsQuery{})
		return list, err == nil && len(list) == 3
	})
}

// The coordinator decides alike on every store: the same runs, with everything
// that is shown of them, come out of the same events.
func TestAlikeOnEveryStore(t *testing.T) {
	t.Parallel()
	for name, tc := range lives {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			model := newWorld(t, files(tc.loop, nil))
			whole := tc.live
			wanted := lived(t, model, whole)
			for back, open := range backEnds {
				t.Run(back, func(t *testing.T) {
					t.Parallel()
					got := lived(t, worldOver(t, open(t), files(tc.loop, nil)), whole)
					if diff := cmp.Diff(wanted, got); diff != "" {
						t.Errorf("differs from the store in memory (-memory +%s):\n%s", back, diff)
					}
				})
			}
		})
	}
}

// lived is all that is shown of a run after its life, and what it did outside.
func lived(t *testing.T, w *world, live func(*testing.T, *world, string)) string {
	t.Helper()
	usual(w)
	failing(w, "writer", outerloop.ClassFatal, 1)
	run := start(t, w, `{"key":"a","n":5,"ask":true}`)
	w.run(time.Minute, 1000)
	live(t, w, run)
	log, err := w.coord.Log(w.ctx, run)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.MarshalIndent(map[string]any{
		"run": show(t, w, run), "log": log, "effects": fmt.Sprint(w.provider().effects),
	}, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

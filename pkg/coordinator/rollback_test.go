package coordinator_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/gate"
)

// roomLoop opens rooms one after the other, tells somebody, and then fails.
const roomLoop = loopHead + `
steps:
  one: {worker: rooms, action: open, key: "${input.key}/1", input: {text: first, n: 1}}
  two: {worker: rooms, action: open, key: "${input.key}/2", input: {text: second, n: 2}, after: [one]}
  told: {worker: sender, action: send, input: {text: hello}, after: [two], approval: {when: "false", ask: never}}
  last: {worker: writer, input: {text: x}, after: [told], on_failure: {then: halt}}
`

// rolling is a world whose rooms can be closed again, and what was done in it.
func rolling(t *testing.T) (*world, *[]string) {
	w := newWorld(t, files(roomLoop, map[string]string{
		"functions/workers/rooms/charter.yaml": charterFile("rooms", anyIn, textOut, "tools: {mail: [send]}",
			"actions: {open: {effect: none, undo: shut, unknown: verify, start: limited}, shut: {effect: none, undo: open, unknown: verify, start: limited}}"),
	}))
	usual(w)
	w.outside()
	var did []string
	w.work["rooms"] = worker{do: func(t gate.Task) (any, *gate.Failure) {
		var in struct{ Text string }
		_ = json.Unmarshal(t.Input, &in)
		did = append(did, t.Action+" "+in.Text)
		return map[string]any{"text": in.Text}, nil
	}}
	w.work["writer"] = worker{do: func(gate.Task) (any, *gate.Failure) {
		return nil, &gate.Failure{Class: outerloop.ClassFatal, Message: "no"}
	}}
	return w, &did
}

// outside gives the coordinator the way to workers outside of machines.
func (w *world) outside() {
	w.handOver = func(worker string, d gate.Delivery) {
		raw, _ := json.Marshal(d)
		w.send(&message{worker: worker, body: raw})
	}
	w.boot()
}

// watched lets time pass with rounds of the watch.
func (w *world) watched(t *testing.T, rounds int) {
	t.Helper()
	for range rounds {
		if _, err := w.coord.Watch(w.ctx); err != nil {
			t.Fatal(err)
		}
		w.run(2*time.Minute, 5000)
		w.now = w.now.Add(2 * time.Minute)
	}
}

func rollback(w *world, run string) (coordinator.RunView, error) {
	return w.coord.Rollback(w.ctx, coordinator.PersonRequest{Run: run, By: "ann", Reason: "wrong guest"})
}

// The reversible actions of a run are undone, the last first, each once, by the
// same worker with the same input; what cannot be undone is named (R35).
func TestRollback(t *testing.T) {
	t.Parallel()
	w, did := rolling(t)
	run := start(t, w, `{"key":"a"}`)
	w.run(time.Hour, 5000)
	want(t, w, run, outerloop.StatusBlocked)
	exc := exceptionOf(t, w)
	if !slices.Contains(exc.Ways, coordinator.WayRollback) {
		t.Fatalf("ways are %v", exc.Ways)
	}
	if _, err := w.coord.Resolve(w.ctx, coordinator.ResolveRequest{Exception: exc.ID, Way: coordinator.WayRollback, By: "ann"}); err != nil {
		t.Fatal(err)
	}
	for range 3 { // asked again, it is the same rollback
		if _, err := rollback(w, run); err != nil {
			t.Fatal(err)
		}
	}
	w.watched(t, 5)
	back, err := rollback(w, run)
	if err != nil || back.Status != outerloop.StatusCompleted {
		t.Fatalf("the rollback is %+v, %v\n%s", back, err, w.tail(60))
	}
	if got := fmt.Sprint(*did); got != "[open first open second shut second shut first]" {
		t.Errorf("done was %s", got)
	}
	if view := want(t, w, run, outerloop.StatusFailed); !strings.Contains(view.Reason, "by ann") {
		t.Errorf("the run is %+v", view)
	}
	list, err := w.coord.Actions(w.ctx, coordinator.ActionsQuery{Key: "a/"})
	var entries []string
	for _, a := range list {
		entries = append(entries, a.ID+" "+a.State)
	}
	slices.Sort(entries)
	if got := strings.Join(entries, ","); err != nil || got != "a/1:open done,a/1:shut done,a/2:open done,a/2:shut done" {
		t.Errorf("the action log is %s, %v", got, err)
	}
	log, _ := w.coord.Log(w.ctx, back.ID)
	if raw, _ := json.Marshal(log); !strings.Contains(string(raw), "cannot be undone and stays: a:send") {
		t.Errorf("the rollback's log is %s", raw)
	}
}

// A rollback goes on after anything died; an undo that fails asks once, and
// goes on where it stood.
func TestRollbackIsResumed(t *testing.T) {
	t.Parallel()
	w, did := rolling(t)
	run := start(t, w, `{"key":"a"}`)
	w.run(time.Hour, 5000)
	*did = nil
	good := w.work["rooms"].do
	w.work["rooms"] = worker{do: func(task gate.Task) (any, *gate.Failure) {
		if strings.Contains(string(task.Input), "first") {
			return nil, &gate.Failure{Class: outerloop.ClassFatal, Message: "jammed"}
		}
		return good(task)
	}}
	back, err := rollback(w, run)
	if err != nil {
		t.Fatal(err)
	}
	w.pending = nil // the process died with what it had handed over
	w.boot()
	w.watched(t, 30)
	want(t, w, back.ID, outerloop.StatusBlocked)
	exc := exceptionOf(t, w)
	if exc.Run != back.ID || !strings.Contains(exc.Cause, "undoing a/1:open failed") || slices.Contains(exc.Ways, coordinator.WayRollback) {
		t.Fatalf("the exception is %+v", exc)
	}
	w.work["rooms"] = worker{do: good}
	if _, err := w.coord.Resolve(w.ctx, coordinator.ResolveRequest{Exception: exc.ID, Way: coordinator.WayRetry, By: "ann"}); err != nil {
		t.Fatal(err)
	}
	w.watched(t, 5)
	want(t, w, back.ID, outerloop.StatusCompleted)
	if got := fmt.Sprint(*did); got != "[shut second shut first]" {
		t.Errorf("done was %s", got)
	}
	for key, n := range w.provider().effects {
		if n != 1 {
			t.Errorf("%s had %d effects", key, n)
		}
	}
}

// Where it cannot roll back, it says why.
func TestNoRollback(t *testing.T) {
	t.Parallel()
	refused := func(w *world, run, why string) {
		t.Helper()
		if _, err := rollback(w, run); !errors.Is(err, coordinator.ErrNotPossible) || !strings.Contains(err.Error(), why) {
			t.Errorf("rollback is %v, want %q", err, why)
		}
	}
	w, _ := rolling(t)
	run := start(t, w, `{"key":"a"}`)
	refused(w, run, "cancel it first")
	w.run(time.Hour, 5000)
	w.handOver = nil
	w.boot()
	refused(w, run, "nothing outside a machine")
	other := newWorld(t, files(sendLoop, nil))
	usual(other)
	other.outside()
	run = start(t, other, `{"key":"a"}`)
	other.run(time.Hour, 1000)
	refused(other, run, "nothing that can be undone; cannot be undone and stays: a:send")
}

// R35, R41: a rollback that a person has decided on is made by the watch where
// the process died before it was; once, and nothing is done when all is done.
func TestDecidedRollbackIsMade(t *testing.T) {
	t.Parallel()
	w, did := rolling(t)
	run := start(t, w, `{"key":"a"}`)
	w.run(time.Hour, 5000)
	exc := exceptionOf(t, w)
	left := 1 // the resolution is written, then the process dies
	healthy := w.store
	w.store = dying{healthy, &left}
	w.boot()
	if _, err := w.coord.Resolve(w.ctx, coordinator.ResolveRequest{Exception: exc.ID, Way: coordinator.WayRollback, By: "ann"}); !errors.Is(err, errDead) {
		t.Fatalf("the process lives on: %v", err)
	}
	w.store = healthy
	w.boot()
	want(t, w, run, outerloop.StatusFailed)
	w.watched(t, 6)
	if got := fmt.Sprint(*did); got != "[open first open second shut second shut first]" {
		t.Errorf("done was %s\n%s", got, w.tail(40))
	}
	if tick, err := w.coord.Watch(w.ctx); err != nil || len(tick.Repaired) != 0 {
		t.Errorf("the watch finds %+v, %v", tick.Repaired, err)
	}
}

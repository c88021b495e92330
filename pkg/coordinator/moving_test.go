package coordinator_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/gate"
	"github.com/outerloop-dev/outerloop/pkg/transfer"
)

// A run that is moved at any moment, from SQLite to DynamoDB or back, goes on
// at the other side: what was done is not done again, what was being done is
// found out about, votes and decisions stand, and the side that it left moves
// nothing any more, whatever still arrives there.
func TestMovedAtAnyMoment(t *testing.T) {
	t.Parallel()
	for _, way := range []struct {
		name     string
		from, to func(testing.TB) backEnd
	}{
		{"to aws", onSQLite, onFake}, {"from aws", onFake, onSQLite}, {"to lagging indexes", onSQLite, onLaggingFake}, {"to an endpoint", onSQLite, onEndpoint},
	} {
		for after := 1; after < 140; after += 7 {
			t.Run(fmt.Sprintf("%s after %d", way.name, after), func(t *testing.T) {
				t.Parallel()
				from, to := way.from(t), way.to(t)
				here := worldOver(t, from, files(eachLoop, nil))
				usual(here)
				run := start(t, here, `{"key":"a","n":4,"ask":true}`)
				for range after {
					if !here.step(here.now.Add(time.Minute)) {
						break
					}
				}
				if after%2 == 0 {
					voteOne(here)
				}
				there := move(t, here, from, to)
				if after%3 == 0 { // late things arrive before or after the run goes on
					here.run(10*time.Minute, 2000)
				}
				drive(t, there, run)
				here.now = there.now
				here.run(48*time.Hour, 4000)
				want(t, there, run, outerloop.StatusCompleted)
				want(t, here, run, outerloop.StatusFailed)
				if len(there.provider().effects) != 4 {
					t.Errorf("effects are %v", there.provider().effects)
				}
				for key, n := range there.provider().effects {
					if n != 1 {
						t.Errorf("%s was done %d times\n%s\n=== there\n%s", key, n, here.tail(60), there.tail(60))
					}
				}
			})
		}
	}
}

// voteOne approves what waits for a person, if something does.
func voteOne(w *world) {
	list, err := w.coord.Approvals(w.ctx, coordinator.ApprovalsQuery{})
	if err != nil {
		w.t.Fatal(err)
	}
	if len(list) > 0 {
		if err := decide(w, list[0], coordinator.Approve, "bob", ""); err != nil {
			w.t.Fatal(err)
		}
	}
}

// move exports one back end and imports it into another, with an engine there
// that knows nothing. The outside world is the same.
func move(t *testing.T, here *world, from, to backEnd) *world {
	t.Helper()
	clock := func() time.Time { return here.now }
	var file bytes.Buffer
	_, counts, err := transfer.Export(t.Context(), transfer.Exporting{
		Source: transfer.Source{Store: from.store, Scan: from.scan, Blobs: from.blobs, Now: clock}, ID: "m1", From: "here", To: "file",
	}, &file)
	if err != nil {
		t.Fatal(err)
	}
	there := worldOver(t, to, files(eachLoop, nil))
	there.now, there.ids = here.now, there.ids+1_000_000
	there.work = here.work
	there.outer = *here.provider() // the maps are shared
	got, err := transfer.Import(t.Context(), transfer.Destination{Store: to.store, Blobs: to.blobs, Now: clock}, bytes.NewReader(file.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	if got.Already || got.Counts != counts || len(got.Open) != counts.Open {
		t.Errorf("imported %+v, exported %+v", got, counts)
	}
	return there
}

// drive lets the watch find the moved run and people approve until it is done.
func drive(t *testing.T, w *world, run string) {
	t.Helper()
	for range 40 {
		w.now = w.now.Add(time.Minute)
		if _, err := w.coord.Watch(w.ctx); err != nil {
			t.Fatal(err)
		}
		w.run(3*time.Minute, 2000)
		if s := show(t, w, run).Status; s.Closed() || s == outerloop.StatusBlocked {
			return
		}
		voteOne(w)
	}
	raw, _ := json.MarshalIndent(show(t, w, run), "", " ")
	t.Fatalf("the run does not come to its end\n%s\n%s", raw, w.tail(60))
}

// A question to a person moves with its run: the answer given at the other side counts.
func TestMovedWithAQuestion(t *testing.T) {
	t.Parallel()
	from, to := onSQLite(t), onFake(t)
	loop := files(loopHead+`
steps:
  draft: {worker: writer, input: {text: "${input.key}"}, on_failure: {then: ask}}
  send: {worker: sender, action: send, input: {text: "${draft.text}"}}
output: {id: "${send.id}"}
`, nil)
	here := worldOver(t, from, loop)
	usual(here)
	calls := 0
	here.work["writer"] = worker{do: func(gate.Task) (any, *gate.Failure) {
		calls++
		return nil, &gate.Failure{Class: outerloop.ClassFatal, Message: "cannot"}
	}}
	run := start(t, here, `{"key":"a"}`)
	here.run(time.Minute, 200)
	there := moveLoop(t, here, from, to, loop)
	there.run(time.Minute, 200)
	if _, err := there.coord.Watch(there.ctx); err != nil {
		t.Fatal(err)
	}
	exc := exceptionOf(t, there)
	if _, err := there.coord.Resolve(there.ctx, coordinator.ResolveRequest{
		Exception: exc.ID, Way: coordinator.WaySubstitute, Value: json.RawMessage(`{"text":"by hand"}`), By: "ann", Reason: "known",
	}); err != nil {
		t.Fatal(err)
	}
	drive(t, there, run)
	want(t, there, run, outerloop.StatusCompleted)
	if calls != 1 || len(there.provider().effects) != 1 {
		t.Errorf("the writer ran %d times, effects %v", calls, there.provider().effects)
	}
}

func moveLoop(t *testing.T, here *world, from, to backEnd, loop map[string]string) *world {
	t.Helper()
	there := move(t, here, from, to)
	again := worldOver(t, to, loop)
	again.now, again.ids, again.work, again.outer = there.now.Add(time.Minute), again.ids+2_000_000, there.work, there.outer
	return again
}

// Taken back, a run that was moved nowhere goes on where it was.
func TestTakenBack(t *testing.T) {
	t.Parallel()
	from := onFake(t)
	w := worldOver(t, from, files(eachLoop, nil))
	usual(w)
	run := start(t, w, `{"key":"a","n":4,"ask":true}`)
	w.run(time.Minute, 500)
	list, err := w.coord.Approvals(w.ctx, coordinator.ApprovalsQuery{})
	if err != nil || len(list) == 0 {
		t.Fatal(list, err)
	}
	src := transfer.Source{Store: from.store, Scan: from.scan, Blobs: from.blobs, Now: func() time.Time { return w.now }}
	var file bytes.Buffer
	if _, _, err := transfer.Export(t.Context(), transfer.Exporting{Source: src, ID: "m1", To: "file"}, &file); err != nil {
		t.Fatal(err)
	}
	if err := decide(w, list[0], coordinator.Approve, "bob", ""); err == nil {
		t.Error("a decision was taken where the run is no more")
	}
	w.run(time.Hour, 500)
	open, err := transfer.TakeBack(t.Context(), src)
	if err != nil || len(open) != 1 || open[0] != run {
		t.Fatalf("taken back %v, %v", open, err)
	}
	if err := w.coord.Continue(w.ctx, run); err != nil {
		t.Fatal(err)
	}
	drive(t, w, run)
	want(t, w, run, outerloop.StatusCompleted)
	for key, n := range w.provider().effects {
		if n != 1 {
			t.Errorf("%s was done %d times", key, n)
		}
	}
}

package coordinator_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/charter"
	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/gate"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// watched is a world whose sender starts in a stage; three reviewed outputs, two
// of them as they were, propose the next.
func watched(t *testing.T, stage string) *world {
	t.Helper()
	w := newWorld(t, files(loopHead+`
steps:
  send:
    worker: sender
    action: send
    key: ${input.key}
    input: {text: "${input.key}"}
    approval: {when: input.ask == true, ask: "Send ${input.key}?"}
output: {id: '${default(send.id, "")}'}
`, map[string]string{
		"functions/workers/sender/charter.yaml": charterFile("sender", anyIn, "{type: object, properties: {id: {type: string}}, required: [id], additionalProperties: false}",
			"tools: {mail: [send]}", "actions: {send: {effect: none, undo: none, unknown: verify, start: "+stage+"}}",
			"autonomy: {start: approval, promote: {reviewed: 3, accepted: 66%, breaches: 0}}"),
	}))
	usual(w)
	return w
}

// trust is what is known of the sender's action.
func (w *world) trust() coordinator.AutonomyView {
	w.t.Helper()
	def, err := (*definitions)(w).Definition(w.ctx, w.latest["test"])
	if err != nil {
		w.t.Fatal(err)
	}
	views, err := w.coord.Autonomy(w.ctx, def.Workers["sender"].Charter)
	if err != nil || len(views) != 1 {
		w.t.Fatalf("%+v, %v", views, err)
	}
	return views[0]
}

func (w *world) raise(by string, unmeasured bool) error {
	_, err := w.coord.SetStage(w.ctx, coordinator.StageRequest{Loop: "test", Worker: "sender", Action: "send", Up: true, By: by, Reason: "looked at", Unmeasured: unmeasured})
	return err
}

// send runs the loop for a key and gives what became of the step.
func (w *world) send1(key string) coordinator.StepView {
	w.t.Helper()
	run := start(w.t.(*testing.T), w, fmt.Sprintf(`{"key":%q,"ask":false}`, key))
	w.run(time.Minute, 100)
	view, err := w.coord.Show(w.ctx, run)
	if err != nil || len(view.Steps) == 0 {
		w.t.Fatalf("%+v, %v", view, err)
	}
	return view.Steps[0]
}

// R43: what is only observed is stored and compared with what people did; their
// agreement is measured, proposes the next stage, and people alone apply it. It
// lasts over restarts, and each stage is measured anew.
func TestAutonomyGrowsFromMeasuredResults(t *testing.T) {
	t.Parallel()
	w := watched(t, "observe")
	done := 0
	w.work["sender"] = worker{do: func(gate.Task) (any, *gate.Failure) { done++; return map[string]any{"id": "sent"}, nil }}
	for _, key := range []string{"a", "b", "c"} {
		if s := w.send1(key); s.Outcome != outerloop.OutcomeProposed || done != 0 {
			t.Fatalf("observed: %+v, done %d", s, done)
		}
	}
	list, err := w.coord.Proposals(w.ctx, "sender")
	if err != nil || len(list) != 3 || string(list[0].Payload) != `{"text":"a"}` {
		t.Fatalf("proposals are %+v, %v", list, err)
	}
	did := func(entry, payload string) error {
		_, err := w.coord.Did(w.ctx, coordinator.DidRequest{Loop: "test", Entry: entry, Payload: json.RawMessage(payload), By: "ann"})
		return err
	}
	for entry, payload := range map[string]string{"a:send": `{"text": "a"}`, "b:send": `{"text":"b"}`} {
		if err := did(entry, payload); err != nil {
			t.Fatal(err)
		}
	}
	var before *coordinator.DecidedError
	if err := did("a:send", "null"); !errors.As(err, &before) {
		t.Errorf("compared twice: %v", err)
	}
	if err := w.raise("ann", false); !errors.Is(err, coordinator.ErrNotProposed) {
		t.Errorf("raised before the sample was there: %v", err)
	}
	if err := did("c:send", ""); err != nil { // nothing
		t.Fatal(err)
	}
	w.boot()
	if v := w.trust(); v.Proposed != charter.StageRecommend || v.Reviewed != 3 || v.Accepted != 2 {
		t.Fatalf("measured: %+v", v)
	}
	if v := w.trust(); v.Stage != charter.StageObserve {
		t.Errorf("the stage rose by itself: %+v", v)
	}
	if err := w.raise("eve", false); !errors.Is(err, coordinator.ErrNotAllowed) {
		t.Errorf("somebody who does not own the worker raised it: %v", err)
	}
	for range 2 {
		if err := w.raise("ann", true); err != nil {
			t.Fatal(err)
		}
	}
	w.boot()
	for _, key := range []string{"d", "e", "f"} {
		if s := w.send1(key); s.Status != outerloop.StepParked {
			t.Fatalf("stage approval did not ask: %+v", s)
		}
		if err := decide(w, asked(t, w), "approve", "bob", ""); err != nil {
			t.Fatal(err)
		}
		w.run(time.Minute, 100)
	}
	if v := w.trust(); v.Proposed != charter.StageLimited || v.Accepted != 3 || done != 3 || len(v.Changes) != 2 {
		t.Fatalf("measured: %+v, done %d", v, done)
	}
	if err := w.raise("ann", false); err != nil {
		t.Fatal(err)
	}
	if s := w.send1("g"); s.Outcome != outerloop.OutcomeCompleted || done != 4 {
		t.Errorf("stage limited: %+v, done %d", s, done)
	}
}

// R43: a breach takes autonomy away at once, is told once, and asks for a larger
// sample; the limit itself has held.
func TestABreachDemotesAtOnce(t *testing.T) {
	t.Parallel()
	w, run := office(t)
	def, err := (*definitions)(w).Definition(w.ctx, w.latest["test"])
	if err != nil {
		t.Fatal(err)
	}
	sender := def.Workers["sender"]
	for i := range sender.Limits { // refuses, where the office asks
		sender.Limits[i].Otherwise = charter.OtherwiseRefuse
	}
	sender.Charter.Autonomy.Promote = &charter.Promotion{Reviewed: 3, Accepted: 6600}
	agent := byHand(t, w, run, "writer", "talk", "first")
	agent.admit()
	for i, input := range []string{`{"n": 225, "text": "x"}`, `{"n": 2, "text": "y"}`} {
		tool := agent.tool("sender", fmt.Sprintf("tool%d", i), agent.ask("sender", input))
		out := tool.admit()
		if i == 0 && (out.Decision != gate.Answered || out.Verdict.Error != outerloop.ErrorGiveUp) {
			t.Fatalf("the limit did not hold: %+v", out)
		}
		if i == 1 && (out.Decision != gate.Answered || out.Verdict.Error != outerloop.ErrorNeedsApproval) {
			t.Errorf("after a breach nobody is asked: %+v", out.Verdict)
		}
	}
	v := w.trust()
	if v.Stage != charter.StageApproval || v.Needed != 6 || len(v.Changes) != 1 || v.Changes[0].By != "gate" {
		t.Errorf("after a breach: %+v", v)
	}
	told := 0
	for _, a := range w.alerts {
		if a.Kind == coordinator.KindAutonomy && a.To == "ops" && strings.Contains(a.Text, "stage approval now, after a breach") {
			told++
		}
	}
	if told != 1 {
		t.Errorf("told %d times: %+v", told, w.alerts)
	}
}

// R42: the authority is the ceiling, whatever the charter starts with.
func TestAuthorityIsTheCeiling(t *testing.T) {
	t.Parallel()
	w := watched(t, "observe")
	for authority, top := range map[charter.Authority]charter.Stage{
		charter.AuthorityRecommend: charter.StageRecommend, charter.AuthorityPrepare: charter.StageApproval, charter.AuthorityExecute: charter.StageBroad,
	} {
		views, err := w.coord.Autonomy(w.ctx, &charter.Charter{
			Worker: "other", Version: 1, Authority: authority, Actions: []charter.Action{{Name: "send", Start: charter.StageBroad}},
			Autonomy: charter.Autonomy{Promote: &charter.Promotion{Reviewed: 1}},
		})
		if err != nil || views[0].Stage != top || views[0].Ceiling != top || views[0].Proposed != "" {
			t.Errorf("%s: %+v, %v", authority, views, err)
		}
	}
}

// locked is the world's store for several goroutines.
type locked struct {
	mu sync.Mutex
	store.Store
}

// Get is one at a time.
func (l *locked) Get(ctx context.Context, keys ...store.Key) ([]*store.Item, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Store.Get(ctx, keys...)
}

// Write is one at a time.
func (l *locked) Write(ctx context.Context, id string, ops ...store.Op) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Store.Write(ctx, id, ops...)
}

// R43: results that are measured at the same time all count, and each once.
func TestMeasuredResultsAtOnce(t *testing.T) {
	t.Parallel()
	w := watched(t, "observe")
	const n = 12
	for i := range n {
		w.send1(fmt.Sprintf("k%02d", i))
	}
	var ids atomic.Int64
	c, err := coordinator.New(coordinator.Config{
		Store: &locked{Store: w.store}, Blobs: w.blobs, Definitions: (*definitions)(w), Executions: (*executions)(w), Tokens: (*tokens)(w),
		Clock: func() time.Time { return w.now }, IDs: func() string { return fmt.Sprint("c", ids.Add(1)) },
	})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	var again atomic.Int64
	for i := range 2 * n { // each is said twice
		wg.Go(func() {
			key := fmt.Sprintf("k%02d", i%n)
			_, err := c.Did(t.Context(), coordinator.DidRequest{Loop: "test", Entry: key + ":send", Payload: json.RawMessage(`{"text":"` + key + `"}`), By: "ann"})
			var before *coordinator.DecidedError
			if errors.As(err, &before) {
				again.Add(1)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if v := w.trust(); v.Reviewed != n || v.Accepted != n || again.Load() != n {
		t.Errorf("%d reviewed, %d accepted, %d said again; want %d each", v.Reviewed, v.Accepted, again.Load(), n)
	}
}

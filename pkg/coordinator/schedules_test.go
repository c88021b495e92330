package coordinator_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/coordinator"
)

const dailyLoop = `
loop: test
version: 1
owner: ops
objective: Once a day.
subject: ${day(run.as_of)}
triggers:
  - {schedule: "cron(0 7 * * ? *)", catch_up: 2, input: {text: daily}}
overlap: allow
input: {type: object, properties: {text: {type: string}}, required: [text], additionalProperties: false}
budget: {cost: 1.00 USD, deadline: 23h, otherwise: ask}
defaults: {on_failure: {then: skip}}
steps:
  one: {worker: writer, input: {text: "${input.text}"}}
output: {text: "${one.text}"}
`

func subjects(fired []coordinator.Fired) string {
	var out []string
	for _, f := range fired {
		out = append(out, f.Subject)
	}
	return strings.Join(out, " ")
}

// A fire that is told twice is one run; one without a time is refused, since
// every later one would be its duplicate; what a scheduler outside did not tell
// is made up for, within the policy, and told to people (R38, R58).
func TestFireSchedule(t *testing.T) {
	t.Parallel()
	w := newWorld(t, files(dailyLoop, nil))
	usual(w)
	fire := func(at time.Time) (coordinator.Fired, error) {
		return w.coord.FireSchedule(w.ctx, coordinator.FireRequest{Loop: "test", At: at})
	}
	if out, err := w.coord.CatchUp(w.ctx, nil); err != nil || len(out) > 0 { // seen for the first time
		t.Errorf("%+v, %v", out, err)
	}
	w.now = time.Date(2026, 12, 1, 6, 0, 3, 0, time.UTC)
	at := w.now.Truncate(time.Minute)
	first, err := fire(at)
	again, err2 := fire(at)
	if err != nil || err2 != nil || first.Run != again.Run || first.Duplicate || !again.Duplicate || first.Subject != "2026-12-01" {
		t.Errorf("%+v, %v; %+v, %v", first, err, again, err2)
	}
	for _, wrong := range []time.Time{{}, w.now.Add(time.Hour)} {
		if _, err := fire(wrong); !errors.Is(err, coordinator.ErrInput) {
			t.Errorf("at %s: %v", wrong, err)
		}
	}
	w.now = time.Date(2026, 12, 5, 6, 4, 0, 0, time.UTC) // three fires missed, one not yet late
	made, err := w.coord.CatchUp(w.ctx, nil)
	if err != nil || subjects(made) != "2026-12-03 2026-12-04" {
		t.Errorf("made up for %q, %v", subjects(made), err)
	}
	if len(w.alerts) != 1 || w.alerts[0].Kind != coordinator.KindMissed || !strings.Contains(w.alerts[0].Text, "3 fires did not come; 2 are made up for") {
		t.Errorf("alerts %+v", w.alerts)
	}
	if made, err := w.coord.CatchUp(w.ctx, nil); err != nil || len(made) > 0 {
		t.Errorf("again: %+v, %v", made, err)
	}
	w.now = w.now.Add(2 * time.Minute)
	if made, err := w.coord.CatchUp(w.ctx, nil); err != nil || subjects(made) != "2026-12-05" {
		t.Errorf("the late one: %q, %v", subjects(made), err)
	}
}

// What a paused loop misses is made up for when it goes on; what is refused for
// good is told once and holds nothing up.
func TestFireSchedulePausedAndRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, files(dailyLoop, nil))
	usual(w)
	if _, err := w.coord.CatchUp(w.ctx, nil); err != nil {
		t.Fatal(err)
	}
	if err := w.coord.Pause(w.ctx, "test"); err != nil {
		t.Fatal(err)
	}
	w.now = time.Date(2026, 12, 1, 6, 0, 1, 0, time.UTC)
	out, err := w.coord.FireSchedule(w.ctx, coordinator.FireRequest{Loop: "test", At: w.now.Truncate(time.Minute)})
	if err != nil || out.NotDue == "" {
		t.Errorf("paused: %+v, %v", out, err)
	}
	w.now = w.now.Add(time.Hour)
	if made, err := w.coord.CatchUp(w.ctx, nil); err != nil || len(made) > 0 {
		t.Errorf("paused: %+v, %v", made, err)
	}
	if err := w.coord.Resume(w.ctx, "test"); err != nil {
		t.Fatal(err)
	}
	lost := func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
		return nil, &coordinator.InputError{What: "file", Faults: []string{"is missing"}}
	}
	made, err := w.coord.CatchUp(w.ctx, lost)
	if err != nil || len(made) != 1 || made[0].Run != "" || !strings.Contains(made[0].NotDue, "is missing") {
		t.Errorf("refused: %+v, %v", made, err)
	}
	if made, err := w.coord.CatchUp(w.ctx, lost); err != nil || len(made) > 0 {
		t.Errorf("refused again: %+v, %v", made, err)
	}
	passing := errors.New("the bucket does not answer")
	w.now = time.Date(2026, 12, 2, 6, 0, 1, 0, time.UTC)
	_, err = w.coord.FireSchedule(w.ctx, coordinator.FireRequest{Loop: "test", At: w.now.Truncate(time.Minute), Files: func(context.Context, json.RawMessage) (json.RawMessage, error) { return nil, passing }})
	w.now = w.now.Add(time.Hour)
	made, err2 := w.coord.CatchUp(w.ctx, nil)
	if !errors.Is(err, passing) || err2 != nil || subjects(made) != "2026-12-02" {
		t.Errorf("what passes: %v; then %q, %v", err, subjects(made), err2)
	}
}

const hookedLoop = `
loop: test
version: 1
owner: ops
objective: By webhook.
subject: ${input.text} ${day(run.as_of)}
triggers:
  - {webhook: payments, when: event.body.amount > 1, input: {text: "${event.headers.kind} ${event.body.id}"}}
overlap: allow
input: {type: object, properties: {text: {type: string}}, required: [text], additionalProperties: false}
budget: {cost: 1.00 USD, deadline: 23h, otherwise: ask}
defaults: {on_failure: {then: skip}}
steps:
  one: {worker: writer, input: {text: "${input.text}"}}
output: {text: "${one.text}"}
`

// A webhook's delivery is one event however often it comes, also days later,
// and waits while the loop is paused.
func TestAccept(t *testing.T) {
	t.Parallel()
	project := files(hookedLoop, nil)
	project["outerloop.yaml"] += "\nwebhooks: {payments: {verify: stripe, secrets: [pay-hook], body: {type: object, properties: {id: {type: string}, amount: {type: number}}, required: [id, amount]}}}\n"
	w := newWorld(t, project)
	usual(w)
	accept := func(id string, amount string) coordinator.Published {
		t.Helper()
		out, err := w.coord.Accept(w.ctx, coordinator.WebhookRequest{
			Name: "payments", ID: id, At: w.now, Headers: map[string]string{"kind": "paid"}, Body: json.RawMessage(`{"id":"` + id + `","amount":` + amount + `}`),
		})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	runs := func() string {
		t.Helper()
		all, err := w.coord.Runs(w.ctx, coordinator.RunsQuery{Loop: "test"})
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, r := range all {
			out = append(out, r.Subject)
		}
		return strings.Join(out, ", ")
	}
	accept("evt-1", "5")
	accept("evt-0", "0") // its `when` does not hold
	w.now = w.now.Add(48 * time.Hour)
	if !accept("evt-1", "5").Duplicate {
		t.Error("a replay was taken for a delivery of its own")
	}
	if got := runs(); got != "paid evt-1 2026-11-30" {
		t.Errorf("runs %s", got)
	}
	if err := w.coord.Pause(w.ctx, "test"); err != nil {
		t.Fatal(err)
	}
	accept("evt-2", "5")
	if got := runs(); got != "paid evt-1 2026-11-30" {
		t.Errorf("paused, runs %s", got)
	}
	w.now = w.now.Add(24 * time.Hour)
	if err := w.coord.Resume(w.ctx, "test"); err != nil {
		t.Fatal(err)
	}
	if got := runs(); got != "paid evt-2 2026-12-02, paid evt-1 2026-11-30" {
		t.Errorf("resumed, runs %s", got)
	}
	for _, wrong := range []coordinator.WebhookRequest{{Name: "payments", Body: json.RawMessage(`{}`)}, {Name: "payments", ID: "x", Body: json.RawMessage(`a=b`)}, {Name: "payments", ID: "y", Body: json.RawMessage(`{"id":"y","amount":"5"}`)}} {
		if _, err := w.coord.Accept(w.ctx, wrong); !errors.Is(err, coordinator.ErrInput) {
			t.Errorf("%+v: %v", wrong, err)
		}
	}
}

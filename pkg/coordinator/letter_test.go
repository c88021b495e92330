package coordinator_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/gate"
)

const plainLoop = loopHead + `
steps:
  draft: {worker: writer, input: {text: "${input.key}"}, on_failure: {then: {substitute: {text: none}}}}
output: {text: "${draft.text}"}
`

// waitingToken lets a run go until a message of it is under way, and gives its token.
func waitingToken(t *testing.T, w *world) string {
	t.Helper()
	for len(w.tokens) == 0 {
		if !w.step(w.now.Add(time.Second)) {
			t.Fatal("nothing waits")
		}
	}
	for token := range w.tokens {
		return token
	}
	return ""
}

// A message that nobody can read becomes one exception that keeps its body, is
// told once to an owner, and is closed by a person of the project (R39).
func TestUnreadableMessageIsOneException(t *testing.T) {
	t.Parallel()
	long := `{"run":` + strings.Repeat("ä", coordinator.LetterKept)
	for name, c := range map[string]struct{ body, why, kept string }{
		"no JSON":          {`hello <b>`, "it is not JSON", `hello <b>`},
		"no delivery":      {`[1,2]`, "it is no delivery", `[1,2]`},
		"another type":     {`{"run":7,"step":"draft"}`, "field run is not of its type", `{"run":7,"step":"draft"}`},
		"nobody's":         {`{"order":"A-7"}`, "it names no run and step", `{"order":"A-7"}`},
		"unknown run":      {`{"run":"nobody-1","gen":1,"step":"draft"}`, "no such run", `{"run":"nobody-1","gen":1,"step":"draft"}`},
		"a run of 9 KB":    {`{"run":"` + strings.Repeat("r", 9000) + `","step":"draft"}`, "operation is not valid", `{"run":"` + strings.Repeat("r", 9000) + `","step":"draft"}`},
		"a step of 9 KB":   {`{"run":"RUN","step":"` + strings.Repeat("s", 9000) + `"}`, "no step", `{"run":"RUN","step":"` + strings.Repeat("s", 9000) + `"}`},
		"a run with NUL":   {`{"run":"a\u0000b","step":"draft"}`, "", `{"run":"a\u0000b","step":"draft"}`},
		"its token broken": {`{"token":"AAAA-secret","run":`, "it is not JSON", `{"token":"[redacted]","run":`},
		"a token unended":  {`{"token":"AAAA-secret`, "it is not JSON", `{"token":"[redacted]`},
		"too long":         {long, "it is not JSON", `{"run":` + strings.Repeat("ä", (coordinator.LetterKept-7)/2) + "…"},
		"no UTF-8":         {"\xff\xfe", "it is not JSON", "\uFFFD"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, files(plainLoop, nil))
			if strings.Contains(c.body, "RUN") {
				run := start(t, w, `{"key":"a"}`)
				c.body, c.kept = strings.Replace(c.body, "RUN", run, 1), strings.Replace(c.kept, "RUN", run, 1)
			}
			letter := coordinator.Letter{Queue: "writer", ID: "m-1", Worker: "writer", Body: []byte(c.body), Receives: 5}
			for range 3 {
				if done, err := w.coord.Undeliverable(w.ctx, letter); err != nil || !done {
					t.Fatalf("taken: %v, %v", done, err)
				}
				w.boot()
			}
			list, err := w.coord.Exceptions(w.ctx, coordinator.ExceptionsQuery{})
			if err != nil || len(list) != 1 {
				t.Fatalf("%d exceptions, %v", len(list), err)
			}
			exc := list[0]
			if exc.Body != c.kept || !strings.Contains(exc.Cause, c.why) || exc.Queue != "writer" || exc.Owner != "ops" || exc.Run != "" || len(exc.Cause) > 600 {
				t.Errorf("%+v", exc)
			}
			if len(w.alerts) != 1 || w.alerts[0].ID != exc.ID || strings.Contains(w.alerts[0].Text, c.body) {
				t.Errorf("told %+v", w.alerts)
			}
			closeLetter(t, w, exc.ID)
			if done, err := w.coord.Undeliverable(w.ctx, letter); err != nil || !done {
				t.Errorf("once more: %v, %v", done, err)
			}
			if list, err = w.coord.Exceptions(w.ctx, coordinator.ExceptionsQuery{}); err != nil || len(list) != 0 {
				t.Errorf("after it was closed: %+v, %v", list, err)
			}
			w.now = w.now.Add(coordinator.DefaultKeep + 2*time.Hour)
			if _, err := w.coord.Watch(w.ctx); err != nil {
				t.Fatal(err)
			}
			if v, err := w.coord.Exception(w.ctx, exc.ID); !errors.Is(err, coordinator.ErrNoException) {
				t.Errorf("90 days later: %+v, %v", v, err)
			}
		})
	}
}

// closeLetter lets a stranger, then one of the project, then another resolve it.
func closeLetter(t *testing.T, w *world, id string) {
	t.Helper()
	if _, err := w.coord.Watch(w.ctx); err != nil {
		t.Fatal(err)
	}
	req := coordinator.ResolveRequest{Exception: id, Way: coordinator.WayClose, By: "mallory", Reason: "mine"}
	if _, err := w.coord.Resolve(w.ctx, req); !errors.Is(err, coordinator.ErrNotAllowed) {
		t.Errorf("a stranger: %v", err)
	}
	req.By, req.Way = "ann", coordinator.WaySkip
	if _, err := w.coord.Resolve(w.ctx, req); !errors.Is(err, coordinator.ErrNotPossible) {
		t.Errorf("skip: %v", err)
	}
	req.Way = coordinator.WayClose
	if v, err := w.coord.Resolve(w.ctx, req); err != nil || v.Resolution != coordinator.WayClose || v.By != "ann" {
		t.Errorf("%+v, %v", v, err)
	}
	var decided *coordinator.DecidedError
	if _, err := w.coord.Resolve(w.ctx, req); !errors.As(err, &decided) || decided.By != "ann" {
		t.Errorf("again: %v", err)
	}
}

// What waits for the answer to a message that cannot be read goes on by its
// step's rule, and the message is one exception beside it.
func TestUnreadableMessageFailsItsTask(t *testing.T) {
	t.Parallel()
	w := newWorld(t, files(plainLoop, nil))
	usual(w)
	run := start(t, w, `{"key":"a"}`)
	token := waitingToken(t, w)
	w.pending = nil // its message is the broken one
	body, err := json.Marshal(map[string]any{"run": run, "gen": "one", "step": "draft", "token": token})
	if err != nil {
		t.Fatal(err)
	}
	if done, err := w.coord.Undeliverable(w.ctx, coordinator.Letter{Queue: "writer", ID: "m", Worker: "writer", Body: body}); err != nil || !done {
		t.Fatal(done, err)
	}
	w.run(time.Hour, 200)
	view, err := w.coord.Show(w.ctx, run)
	if err != nil || view.Status != "completed" || string(view.Output) != `{"text":"none"}` {
		t.Errorf("%+v, %v", view, err)
	}
	list, err := w.coord.Exceptions(w.ctx, coordinator.ExceptionsQuery{})
	if err != nil || len(list) != 1 || strings.Contains(list[0].Body, token) || !strings.Contains(list[0].Cause, "field gen") {
		t.Errorf("%+v, %v", list, err)
	}
}

// A readable delivery that its queue gave up on is answered by its step's rule,
// and is no exception of its own.
func TestReadableLetterIsDrained(t *testing.T) {
	t.Parallel()
	w := newWorld(t, files(plainLoop, nil))
	run := start(t, w, `{"key":"a"}`)
	body, err := json.Marshal(gate.Delivery{Run: run, Gen: 1, Step: "draft", Token: waitingToken(t, w)})
	if err != nil {
		t.Fatal(err)
	}
	w.pending = nil // nobody delivers it
	if done, err := w.coord.Undeliverable(w.ctx, coordinator.Letter{Queue: "writer", ID: "m", Worker: "writer", Body: body}); err != nil || !done {
		t.Fatal(done, err)
	}
	usual(w)
	w.run(time.Hour, 200)
	if view, err := w.coord.Show(w.ctx, run); err != nil || view.Status != "completed" {
		t.Errorf("%+v, %v", view, err)
	}
	if list, err := w.coord.Exceptions(w.ctx, coordinator.ExceptionsQuery{}); err != nil || len(list) != 0 {
		t.Errorf("%+v, %v", list, err)
	}
}

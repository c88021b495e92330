package bridge_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/functions/workers/bridge"
	"github.com/outerloop-dev/outerloop/pkg/gate"
	"github.com/outerloop-dev/outerloop/pkg/worker"
	"github.com/outerloop-dev/outerloop/pkg/worker/workertest"
)

// try is one attempt at a bridged worker's step.
type try struct {
	charter string
	action  string
	files   worker.Files
	g       *workertest.Gate
	callers bridge.Callers
}

// run gives the settled request.
func (a *try) run(t *testing.T) gate.SettleRequest {
	t.Helper()
	if a.g == nil {
		a.g = &workertest.Gate{}
	}
	task := &gate.Task{
		Run: "order-1", Loop: "orders", Step: "book", Visit: 1, Attempt: 2, Worker: "booker", AsOf: time.Date(2026, 11, 30, 7, 0, 0, 0, time.UTC),
		Deadline: time.Now().Add(time.Minute), Lease: time.Now().Add(time.Minute), Fence: 1, Action: a.action,
		Charter: json.RawMessage(a.charter), Input: json.RawMessage(`{"order":"A-1"}`),
	}
	if a.files != nil {
		task.Files = map[string]string{"scan": "sha256:x"}
	}
	a.g.Task = task
	_, err := worker.Handle(t.Context(), worker.Invocation{
		Worker: bridge.New("booker", 3, a.callers), Gate: a.g, Request: fmt.Sprint("q", len(a.g.Settled)), Limit: time.Now().Add(time.Minute),
		Delivery: gate.Delivery{Run: task.Run, Step: task.Step},
		Env: worker.Env{Files: a.files, Connections: map[string]worker.Connection{
			"shop": {Name: "shop", Kind: "http", Settings: map[string]string{"secret": "s3cret"}},
		}},
	})
	if err != nil || len(a.g.Settled) == 0 {
		t.Fatalf("%v, %d settled", err, len(a.g.Settled))
	}
	return a.g.Settled[len(a.g.Settled)-1]
}

// endpoint is an HTTPS endpoint.
func endpoint(t *testing.T, serve http.HandlerFunc) (url string, callers bridge.Callers) {
	t.Helper()
	server := httptest.NewTLSServer(serve)
	t.Cleanup(server.Close)
	return server.URL + "/work?key=hidden", bridge.Callers{bridge.KindHTTP: bridge.NewHTTP(server.Client().Transport)}
}

func httpCharter(url, payload string) string {
	return fmt.Sprintf(`{"kind":"http","http":{"url":%q,"connection":"shop","payload":%q}}`, url, payload)
}

// R71: an endpoint gets the input and answers the output; the gate counts it as any worker.
func TestEndpoint(t *testing.T) {
	t.Parallel()
	var got *http.Request
	var body []byte
	url, callers := endpoint(t, func(w http.ResponseWriter, r *http.Request) {
		got = r
		body, _ = io.ReadAll(r.Body)
		_, _ = io.WriteString(w, `{"booked":true}`)
	})
	settled := (&try{charter: httpCharter(url, "input"), callers: callers}).run(t)
	if settled.Result == nil || string(settled.Result.Output) != `{"booked":true}` {
		t.Fatalf("%+v %+v", settled.Result, settled.Failure)
	}
	if got.Method != http.MethodPost || string(body) != `{"order":"A-1"}` {
		t.Errorf("%s %s", got.Method, body)
	}
	for name, want := range map[string]string{
		"Authorization": "Bearer s3cret", "Content-Type": "application/json", "Outerloop-Run": "order-1", "Outerloop-Step": "book",
		"Outerloop-Attempt": "2", "Outerloop-As-Of": "2026-11-30T07:00:00Z", "Idempotency-Key": "order-1/book/1", "Outerloop-Action": "",
	} {
		if have := got.Header.Get(name); have != want {
			t.Errorf("%s: %q, want %q", name, have, want)
		}
	}
}

// What an endpoint answers instead has a class; no error shows its address.
func TestEndpointFails(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status int
		body   string
		class  outerloop.Class
		says   string
	}{
		"too many": {429, "", outerloop.ClassRateLimited, "429"},
		"down":     {503, `{"message":"maintenance"}`, outerloop.ClassTransient, "maintenance"},
		"input":    {422, `{"detail":"no such order"}`, outerloop.ClassMissingInput, "no such order"},
		"conflict": {409, "", outerloop.ClassConflict, "409"},
		"no":       {403, "", outerloop.ClassRefused, "403"},
		"wrong":    {404, "<html>A-1</html>", outerloop.ClassFatal, "404"},
		"moved":    {302, "", outerloop.ClassFatal, "redirects are not followed"},
		"no JSON":  {200, "<html>", outerloop.ClassInvalidOutput, "no JSON"},
		"too long": {200, `"` + strings.Repeat("x", bridge.MaxAnswer) + `"`, outerloop.ClassInvalidOutput, "over"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, callers := endpoint(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Retry-After", "30")
				w.Header().Set("Location", "https://elsewhere.example")
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.body)
			})
			f := (&try{charter: httpCharter(url, "input"), callers: callers}).run(t).Failure
			if f == nil || f.Class != c.class || !strings.Contains(f.Message, c.says) || strings.Contains(f.Message, "hidden") || strings.Contains(f.Message, "<html>") {
				t.Errorf("%+v", f)
			}
			if limited := c.status == 429; f != nil && f.RetryAfter.IsZero() == limited {
				t.Errorf("retry after %s", f.RetryAfter)
			}
		})
	}
}

// R37: a call that is an action is claimed before it is made; what certainly did
// not happen may be tried again with the same key, what may have happened is not.
func TestAction(t *testing.T) {
	t.Parallel()
	status := 503
	var keys []string
	url, callers := endpoint(t, func(w http.ResponseWriter, r *http.Request) {
		keys = append(keys, r.Header.Get("Idempotency-Key"))
		w.WriteHeader(status)
		_, _ = io.WriteString(w, `{"booked":true}`)
	})
	a := &try{charter: httpCharter(url, "input"), callers: callers, action: "book", g: &workertest.Gate{}}
	status = 429
	if f := a.run(t).Failure; f == nil || f.Class != outerloop.ClassRateLimited {
		t.Fatalf("%+v", f)
	}
	status = 200
	done := a.run(t)
	if done.Result == nil || string(done.Result.Output) != `{"booked":true}` {
		t.Fatalf("%+v", done.Failure)
	}
	again := a.run(t) // the same action: its recorded answer, and no call
	if again.Result == nil || string(again.Result.Output) != `{"booked":true}` {
		t.Fatalf("%+v", again.Failure)
	}
	if len(keys) != 2 || keys[0] == "" || keys[0] != keys[1] {
		t.Errorf("called with %q", keys)
	}
	unknown := &try{charter: httpCharter(url, "input"), callers: callers, action: "book", g: &workertest.Gate{}}
	status = 502
	unknown.run(t)
	for _, entry := range unknown.g.Log {
		if entry.State != "executing" {
			t.Errorf("after 502 the action is %s", entry.State)
		}
	}
}

// The whole task goes along where the charter says so: facts, files, a result
// with evidence, failures by class; and the other side can be asked what became
// of an action.
func TestTask(t *testing.T) {
	t.Parallel()
	answer, finding := `{"failure":{"class":"transient","message":"not yet"}}`, `{"finding":"not_found"}`
	var documents []bridge.Document
	url, callers := endpoint(t, func(w http.ResponseWriter, r *http.Request) {
		var d bridge.Document
		if err := json.NewDecoder(r.Body).Decode(&d); err != nil {
			t.Error(err)
		}
		documents = append(documents, d)
		if d.Do == "verify" {
			answer = `{"output":{"booked":true},"confidence":"high","evidence":[{"claim":"x","source":"y"}]}`
			_, _ = io.WriteString(w, finding)
			return
		}
		_, _ = io.WriteString(w, answer)
	})
	files := &worker.BlobFiles{Get: func(context.Context, string) ([]byte, error) { return []byte("page"), nil }}
	f := (&try{charter: httpCharter(url, "task"), callers: callers, files: files}).run(t).Failure
	if f == nil || f.Class != outerloop.ClassTransient || !strings.Contains(f.Message, "not yet") {
		t.Errorf("%+v", f)
	}
	if d := documents[0]; d.Do != "work" || d.Files["scan"] != "cGFnZQ==" || d.Loop != "orders" || string(d.Input) != `{"order":"A-1"}` || d.Action != nil {
		t.Errorf("%+v", d)
	}
	g := &workertest.Gate{Log: map[string]*workertest.Entry{}}
	a := &try{charter: httpCharter(url, "task"), callers: callers, action: "book", g: g}
	a.run(t) // executing: a failure without not_done
	for _, entry := range g.Log {
		entry.State = "unknown"
	}
	r := a.run(t).Result
	if r == nil || string(r.Output) != `{"booked":true}` || r.Confidence != worker.High || len(r.Evidence) != 1 {
		t.Errorf("%+v", r)
	}
	last := documents[len(documents)-1]
	if verified := documents[len(documents)-2]; verified.Do != "verify" || last.Do != "work" || last.Action == nil || verified.Action.Key != last.Action.Key {
		t.Errorf("%+v, then %+v", verified.Action, last.Action)
	}
}

// Files do not go along with the bare input, and work is not sent in the clear.
func TestRefused(t *testing.T) {
	t.Parallel()
	files := &worker.BlobFiles{Get: func(context.Context, string) ([]byte, error) { return nil, nil }}
	http := bridge.Callers{bridge.KindHTTP: bridge.NewHTTP(nil)}
	for name, c := range map[string]struct {
		try  try
		says string
	}{
		"files":   {try{charter: httpCharter("https://x.example", "input"), files: files, callers: http}, "payload: task"},
		"clear":   {try{charter: httpCharter("http://x.example", "input"), callers: http}, "no https address"},
		"no way":  {try{charter: `{"kind":"command","command":{"run":["true"]}}`, callers: http}, "kind command cannot be called from here"},
		"payload": {try{charter: httpCharter("https://x.example", "all"), callers: http}, "neither input nor task"},
	} {
		if f := c.try.run(t).Failure; f == nil || f.Class != outerloop.ClassFatal || !strings.Contains(f.Message, c.says) {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

// A program of this machine reads the input and writes the output; its exit
// code says a class, and it does not outlive its time.
func TestCommand(t *testing.T) {
	t.Parallel()
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("there is no sh")
	}
	dir := t.TempDir()
	callers := bridge.Callers{bridge.KindCommand: bridge.Command{Dir: dir, Env: []string{"PATH=" + os.Getenv("PATH")}}}
	run := func(script string) gate.SettleRequest {
		charter, err := json.Marshal(map[string]any{"kind": "command", "command": map[string]any{"run": []string{sh, "-c", script}}})
		if err != nil {
			t.Fatal(err)
		}
		return (&try{charter: string(charter), callers: callers}).run(t)
	}
	if r := run(`read in; printf '{"got":%s,"run":"%s","home":"%s"}' "$in" "$OUTERLOOP_RUN" "$HOME"`).Result; r == nil || string(r.Output) != `{"got":{"order":"A-1"},"run":"order-1","home":""}` {
		t.Errorf("%+v", r)
	}
	for code, class := range map[int]outerloop.Class{75: outerloop.ClassTransient, 65: outerloop.ClassMissingInput, 77: outerloop.ClassRefused, 1: outerloop.ClassToolFailed} {
		f := run(fmt.Sprint("echo why >&2; exit ", code)).Failure
		if f == nil || f.Class != class || !strings.Contains(f.Message, "why") {
			t.Errorf("exit %d: %+v", code, f)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	mark := filepath.Join(dir, "mark")
	began := time.Now()
	_, err = callers[bridge.KindCommand].Call(ctx, bridge.Request{Target: bridge.Target{Run: []string{sh, "-c", "(sleep 30; touch " + mark + ") & wait"}}})
	if f := worker.FailureOf(err); f.Class != outerloop.ClassTimeout || time.Since(began) > 10*time.Second {
		t.Errorf("after %s: %+v", time.Since(began), f)
	}
	if _, err := callers[bridge.KindCommand].Call(t.Context(), bridge.Request{Target: bridge.Target{Run: []string{"./not-there"}}}); err == nil || worker.FailureOf(err).Class != outerloop.ClassFatal {
		t.Error(err)
	}
}

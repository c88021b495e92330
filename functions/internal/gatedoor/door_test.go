package gatedoor_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/outerloop-dev/outerloop/functions/internal/gatedoor"
	"github.com/outerloop-dev/outerloop/functions/internal/gatewire"
	"github.com/outerloop-dev/outerloop/pkg/gate"
	"github.com/outerloop-dev/outerloop/pkg/loop"
	"github.com/outerloop-dev/outerloop/pkg/project"
	"github.com/outerloop-dev/outerloop/pkg/worker/workertest"
)

type signer struct{}

func (signer) Fetch(_ context.Context, ref string) (gatewire.Fetch, error) {
	return gatewire.Fetch{Ref: ref, URL: "https://signed/" + ref}, nil
}

// door is mailer's gate over a loop of the repository.
func door(t *testing.T, g gate.Gate) *gatedoor.Door {
	t.Helper()
	p, problems := project.Load(os.DirFS("../../.."))
	def, ok := p.Loop("crm-followup")
	if !ok {
		t.Fatal(problems.Err())
	}
	return gatedoor.New(gatedoor.Config{
		Worker: "mailer", Gate: g, Signer: signer{},
		Definition: func(_ context.Context, run string) (*loop.Definition, error) {
			if run != "r" {
				return nil, errors.New("no such run")
			}
			return def, nil
		},
		Keep: func(_ context.Context, content []byte) (string, error) { return "sha256:kept", nil },
	})
}

func ask(t *testing.T, d *gatedoor.Door, event string) gatewire.Answer {
	t.Helper()
	out, err := d.Handle(t.Context(), json.RawMessage(event))
	if err != nil {
		t.Fatal(err)
	}
	return out.(gatewire.Answer)
}

// An admitted task brings the connections of its charter's tools and the
// addresses of its files, and no others (R20).
func TestSurroundings(t *testing.T) {
	t.Parallel()
	g := &workertest.Gate{Task: &gate.Task{Run: "r", Step: "send", Worker: "mailer", Files: map[string]string{"file": "sha256:f"}, Input: json.RawMessage(`{"to":"<a>"}`)}}
	out := ask(t, door(t, g), `{"call":"admit","request":{"run":"r","step":"send","nonce":"q/1"}}`)
	if out.Error != nil || out.With == nil || len(out.With.Connections) != 1 || len(out.With.Files) != 1 {
		t.Fatalf("%+v", out)
	}
	if c := out.With.Connections[0]; c.Name != "mail" || c.Kind != "outbox" || out.With.Files[0].URL != "https://signed/sha256:f" {
		t.Errorf("%+v", out.With)
	}
	if out := ask(t, door(t, &workertest.Gate{Answer: gate.AdmitAnswer{Decision: gate.Later}}), `{"call":"admit","request":{"run":"x","step":"send"}}`); out.With != nil || out.Error != nil {
		t.Errorf("a task that is not admitted: %+v", out)
	}
	g.Task.Run = "other"
	if out := ask(t, door(t, g), `{"call":"admit","request":{"run":"other","step":"send"}}`); out.Error == nil {
		t.Errorf("a run that is not there: %+v", out)
	}
}

// An answer over the limit is put where it can be fetched.
func TestLargeAnswer(t *testing.T) {
	t.Parallel()
	large := json.RawMessage(`"` + strings.Repeat("x", gatewire.MaxPayload) + `"`)
	out := ask(t, door(t, &workertest.Gate{Task: &gate.Task{Run: "r", Input: large}}), `{"call":"admit","request":{"run":"r","step":"send"}}`)
	if out.Answer != nil || out.AnswerAt == nil || out.AnswerAt.Ref != "sha256:kept" || out.With == nil {
		t.Errorf("%d bytes, %+v", len(out.Answer), out.AnswerAt)
	}
}

// Every call of the gate goes through; what went wrong is in the answer.
func TestCalls(t *testing.T) {
	t.Parallel()
	g := &workertest.Gate{Task: &gate.Task{Run: "r", Step: "send", Input: json.RawMessage(`{}`)}}
	d := door(t, g)
	for _, call := range []string{gatewire.Admit, gatewire.Begin, gatewire.Heartbeat, gatewire.Settle} {
		if out := ask(t, d, `{"call":"`+call+`","request":{"run":"r","step":"send","nonce":"q/1","action":"send","payload":{}}}`); out.Error != nil || len(out.Answer) == 0 {
			t.Errorf("%s: %+v", call, out.Error)
		}
	}
	for event, name := range map[string]string{
		`{"call":"erase"}`: "malformed", `[]`: "malformed", `{"call":"admit","request":7}`: "unavailable", `{"call":"call","request":{}}`: "unavailable",
	} {
		if out := ask(t, d, event); out.Error == nil || out.Error.Name != name || out.Answer != nil {
			t.Errorf("%s: %+v", event, out)
		}
	}
}

package scripted_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/agent"
	"github.com/outerloop-dev/outerloop/pkg/agent/scripted"
	"github.com/outerloop-dev/outerloop/pkg/gate"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

func question(text string) agent.Request {
	return agent.Request{
		System: "Answer.", MaxTokens: 100, Messages: []agent.Message{{Role: agent.RoleUser, Text: text}},
		Output: &agent.Form{Name: "answer", Schema: json.RawMessage(`{"type":"object"}`)},
	}
}

// record makes a script whose model answers well, badly and not at all.
func record(t *testing.T) *scripted.Script {
	t.Helper()
	asked := 0
	r := scripted.Record("capitals", scripted.Func(func(_ context.Context, req agent.Request) (agent.Answer, error) {
		asked++
		switch {
		case req.Messages[0].Text == "limit":
			return agent.Answer{}, worker.RateLimited(time.Time{}, "slow down")
		case asked == 1:
			return agent.Answer{Text: "{\"city\": \"Par", Stop: agent.StopLength}, nil
		}
		return agent.Answer{Text: `{"city":"Paris"}`, Stop: agent.StopEnd, Usage: gate.Tokens{Input: 20, Output: 5}}, nil
	}))
	for _, text := range []string{"France", "France", "limit"} {
		_, _ = r.Ask(t.Context(), question(text))
	}
	raw, err := r.Script().Encode()
	if err != nil {
		t.Fatal(err)
	}
	s, err := scripted.Load(raw)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestScriptRepliesInOrderAndSaysWhatItIs(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 30, 7, 0, 0, 0, time.UTC)
	m, err := scripted.New(record(t), func() time.Time { return now })
	if err != nil {
		t.Fatal(err)
	}
	var stops []agent.Stop
	for range 3 {
		a, err := m.Ask(t.Context(), question("France"))
		if err != nil {
			t.Fatal(err)
		}
		stops = append(stops, a.Stop)
		if a.Usage.Model != "scripted:capitals" {
			t.Errorf("the model calls itself %q", a.Usage.Model)
		}
	}
	if stops[0] != agent.StopLength || stops[1] != agent.StopEnd || stops[2] != agent.StopEnd {
		t.Errorf("replies came as %v", stops)
	}
	_, err = m.Ask(t.Context(), question("limit"))
	if f := worker.FailureOf(err); f.Class != outerloop.ClassRateLimited || !strings.Contains(f.Message, "slow down") {
		t.Errorf("the recorded failure came as %+v", f)
	}
}

func TestScriptMatchesStrictly(t *testing.T) {
	t.Parallel()
	m, err := scripted.New(record(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*agent.Request){
		"text":   func(r *agent.Request) { r.Messages[0].Text += " " },
		"system": func(r *agent.Request) { r.System = "Answer!" },
		"limit":  func(r *agent.Request) { r.MaxTokens++ },
		"schema": func(r *agent.Request) { r.Output.Schema = json.RawMessage(`{"type":"array"}`) },
	} {
		req := question("France")
		change(&req)
		_, err := m.Ask(t.Context(), req)
		if !errors.Is(err, scripted.ErrNotRecorded) || worker.FailureOf(err).Class != outerloop.ClassFatal {
			t.Errorf("another %s: %v", name, err)
		}
	}
	same := question("France")
	same.Timeout = time.Minute
	same.Output.Schema = json.RawMessage("{ \"type\" : \"object\" }")
	if _, err := m.Ask(t.Context(), same); err != nil {
		t.Errorf("the same request in another spelling: %v", err)
	}
}

func TestDigestIgnoresTheProvidersIDs(t *testing.T) {
	t.Parallel()
	exchange := func(id string) agent.Request {
		r := question("France")
		r.Messages = append(r.Messages,
			agent.Message{Role: agent.RoleModel, Calls: []agent.ToolCall{{ID: id, Name: "look", Input: "{}"}}},
			agent.Message{Role: agent.RoleUser, Results: []agent.Returned{{ID: id, Text: "{}"}}})
		return r
	}
	first := exchange("call_7Hx")
	if first.Digest() != exchange("tooluse_2").Digest() {
		t.Error("the id of a call changes the digest")
	}
	if first.Messages[1].Calls[0].ID != "call_7Hx" || first.Messages[2].Results[0].ID != "call_7Hx" {
		t.Error("Digest changes the request")
	}
}

func TestLoadRefusesWhatWasChanged(t *testing.T) {
	t.Parallel()
	raw, err := record(t).Encode()
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"request changed": strings.Replace(string(raw), `"France"`, `"Spain"`, 1),
		"unknown field":   strings.Replace(string(raw), `"name": "capitals"`, `"name": "capitals", "any": true`, 1),
		"no name":         strings.Replace(string(raw), `"capitals"`, `""`, 1),
		"other format":    strings.Replace(string(raw), scripted.Format, "something", 1),
		"trailing":        string(raw) + "{}",
		"cut":             string(raw)[:len(raw)/2],
	} {
		if _, err := scripted.Load([]byte(text)); err == nil {
			t.Errorf("%s: the script was taken", name)
		}
	}
}

package openai_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/outerloop-dev/outerloop/pkg/agent"
	"github.com/outerloop-dev/outerloop/pkg/agent/openai"
	"github.com/outerloop-dev/outerloop/pkg/agent/wiretest"
	"github.com/outerloop-dev/outerloop/pkg/gate"
)

func open(t testing.TB, url string) agent.Model {
	return with(t, openai.Config{URL: url, Model: "small", Key: "sk-test"})
}

func with(t testing.TB, cfg openai.Config) agent.Model {
	t.Helper()
	cfg.Now = func() time.Time { return wiretest.Now }
	m, err := openai.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestSuite(t *testing.T) {
	t.Parallel()
	wiretest.Suite(t, open)
}

func TestRequestOnTheWire(t *testing.T) {
	t.Parallel()
	s := wiretest.Start(t, wiretest.Always(wiretest.Reply{Answer: agent.Answer{Text: "{}", Stop: agent.StopEnd}}))
	req := wiretest.Question()
	req.Messages = append(req.Messages,
		agent.Message{Role: agent.RoleModel, Calls: []agent.ToolCall{{ID: "c1", Name: "look", Input: "{}"}, {ID: "c2", Name: "look", Input: "{"}}},
		agent.Message{Role: agent.RoleUser, Results: []agent.Returned{{ID: "c1", Text: "1"}, {ID: "c2", Text: "2", Failed: true}}})
	if _, err := open(t, s.URL+"/v1/").Ask(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	var want map[string]any
	if err := json.Unmarshal([]byte(`{
		"model": "small", "stream": false, "max_tokens": 50, "temperature": 0,
		"messages": [
			{"role": "system", "content": "Answer in one word."},
			{"role": "user", "content": "Capital of France?"},
			{"role": "assistant", "tool_calls": [
				{"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}},
				{"id": "c2", "type": "function", "function": {"name": "look", "arguments": "{"}}]},
			{"role": "tool", "tool_call_id": "c1", "content": "1"},
			{"role": "tool", "tool_call_id": "c2", "content": "2"}
		],
		"response_format": {"type": "json_schema", "json_schema": {"name": "capital", "strict": true, "schema":
			{"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"], "additionalProperties": false}}}
	}`), &want); err != nil {
		t.Fatal(err)
	}
	seen := s.Requests()[0]
	if diff := cmp.Diff(want, seen.Body); diff != "" {
		t.Error(diff)
	}
	if key := seen.Header.Get("Authorization"); key != "Bearer sk-test" {
		t.Errorf("the key came as %q", key)
	}
}

func TestFormats(t *testing.T) {
	t.Parallel()
	for format, want := range map[openai.Format]string{openai.FormatObject: `{"type":"json_object"}`, openai.FormatText: "null"} {
		s := wiretest.Start(t, wiretest.Always(wiretest.Reply{Answer: agent.Answer{Text: "{}", Stop: agent.StopEnd}}))
		m := with(t, openai.Config{URL: s.URL, Model: "small", Format: format, LimitField: "max_completion_tokens"})
		if _, err := m.Ask(t.Context(), wiretest.Question()); err != nil {
			t.Fatal(err)
		}
		body := s.Requests()[0].Body
		if got, _ := json.Marshal(body["response_format"]); string(got) != want || body["max_completion_tokens"] != 50.0 || body["max_tokens"] != nil {
			t.Errorf("%s: %s, %v", format, got, body)
		}
	}
}

// Endpoints differ: what is seen of them is read, and nothing else.
func TestResponsesOfOtherEndpoints(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		body string
		want agent.Answer
	}{
		"parts": {`{"choices":[{"message":{"content":[{"type":"text","text":"a"},{"type":"image"},{"type":"text","text":"b"}]},"finish_reason":"stop"}]}`,
			agent.Answer{Text: "ab", Stop: agent.StopEnd}},
		"null content, stop with calls": {`{"model":"m","choices":[{"message":{"content":null,"tool_calls":[{"id":"1","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"stop"}]}`,
			agent.Answer{Calls: []agent.ToolCall{{ID: "1", Name: "f", Input: "{}"}}, Stop: agent.StopTools, Usage: gate.Tokens{Model: "m"}}},
		"refusal": {`{"choices":[{"message":{"content":null,"refusal":"I can't."},"finish_reason":"stop"}],"usage":{"prompt_tokens":5,"completion_tokens":2}}`,
			agent.Answer{Stop: agent.StopRefused, Usage: gate.Tokens{Input: 5, Output: 2}}},
		"no finish": {`{"choices":[{"message":{"content":"x"},"finish_reason":null}]}`, agent.Answer{Text: "x", Stop: agent.StopEnd}},
	} {
		s := wiretest.Start(t, wiretest.Always(wiretest.Reply{Body: c.body}))
		a, err := open(t, s.URL).Ask(t.Context(), wiretest.Question())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, a); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestErrorForms(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		`{"error": "input exceeds the context window"}`, `{"detail": "input exceeds the context window"}`,
		`{"message": "input exceeds the context window"}`, `{"error": {"message": "input exceeds the context window", "code": 400}}`,
		`{"error": {"message": "no", "code": "context_length_exceeded"}}`,
	} {
		s := wiretest.Start(t, wiretest.Always(wiretest.Reply{Status: 400, Body: body}))
		if _, err := open(t, s.URL).Ask(t.Context(), wiretest.Question()); err == nil || !strings.Contains(err.Error(), "the context is too long") {
			t.Errorf("%s: %v", body, err)
		}
	}
}

// Only schemas that an endpoint can enforce are sent as strict.
func TestStrict(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		`{"type":"object","properties":{"a":{"enum":["x"]}},"required":["a"],"additionalProperties":false}`:                                                                true,
		`{"type":"object","properties":{"a":{"type":"array","items":{"$ref":"#/$defs/x"}}},"required":["a"],"additionalProperties":false,"$defs":{"x":{"type":"string"}}}`: true,
		`{"type":"object","properties":{"a":{"anyOf":[{"type":"null"},{"type":"string"}]}},"required":["a"],"additionalProperties":false}`:                                 true,
		`{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}`:                                                                              false,
		`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`:                                                                                          false,
		`{"type":"object","properties":{"a":{}},"required":["a"],"additionalProperties":false}`:                                                                            false,
		`{"type":"object","properties":{"a":{"type":"string","minLength":1}},"required":["a"],"additionalProperties":false}`:                                               false,
		`{"type":"object","properties":{"a":{"type":"array"}},"required":["a"],"additionalProperties":false}`:                                                              false,
		`{"type":"object","properties":{"a":{"type":"array","items":{"type":"object"}}},"required":["a"],"additionalProperties":false}`:                                    false,
		`{"type":"object","properties":{"a":{"anyOf":[{"not":{}}]}},"required":["a"],"additionalProperties":false}`:                                                        false,
		`true`: false,
	} {
		s := wiretest.Start(t, wiretest.Always(wiretest.Reply{Answer: agent.Answer{Text: "{}", Stop: agent.StopEnd}}))
		req := wiretest.Question()
		req.Output.Schema = json.RawMessage(text)
		if _, err := open(t, s.URL).Ask(t.Context(), req); err != nil {
			t.Fatal(err)
		}
		format := s.Requests()[0].Body["response_format"].(map[string]any)["json_schema"].(map[string]any)
		if format["strict"] != want {
			t.Errorf("%s: strict %v", text, format["strict"])
		}
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]openai.Config{
		"openai:http://127.0.0.1:8080":            {URL: "http://127.0.0.1:8080", Model: "default"},
		"openai:http://127.0.0.1:11434/v1#llama3": {URL: "http://127.0.0.1:11434/v1", Model: "llama3"},
	} {
		if got, ok := openai.Parse(text); !ok || got.URL != want.URL || got.Model != want.Model {
			t.Errorf("%s: %+v", text, got)
		}
	}
	if _, ok := openai.Parse("bedrock:some"); ok {
		t.Error("another kind was taken")
	}
	for _, cfg := range []openai.Config{{}, {URL: "127.0.0.1:8080", Model: "m"}, {URL: "ftp://x", Model: "m"}, {URL: "http://x"}} {
		if _, err := openai.New(cfg); err == nil {
			t.Errorf("%+v was taken", cfg)
		}
	}
}

package bedrock_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime"
	"github.com/google/go-cmp/cmp"

	"github.com/outerloop-dev/outerloop/pkg/agent"
	"github.com/outerloop-dev/outerloop/pkg/agent/bedrock"
	"github.com/outerloop-dev/outerloop/pkg/agent/wiretest"
	"github.com/outerloop-dev/outerloop/pkg/gate"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

const model = "eu.vendor.model-v1:0"

func open(t testing.TB, url string) agent.Model { return with(t, url, bedrock.Config{}) }

func with(t testing.TB, url string, cfg bedrock.Config) agent.Model {
	t.Helper()
	client := bedrockruntime.New(bedrockruntime.Options{
		Region: "eu-central-1", BaseEndpoint: aws.String(url),
		Credentials: credentials.NewStaticCredentialsProvider("AKIDEXAMPLE", "secret", ""),
	})
	cfg.Model, cfg.Now = model, func() time.Time { return wiretest.Now }
	m, err := bedrock.New(client, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestSuite(t *testing.T) {
	t.Parallel()
	wiretest.Suite(t, open)
}

func sent(t *testing.T, cfg bedrock.Config, req agent.Request) wiretest.Seen {
	t.Helper()
	s := wiretest.Start(t, wiretest.Always(wiretest.Reply{Answer: agent.Answer{Text: "{}", Stop: agent.StopEnd}}))
	if _, err := with(t, s.URL, cfg).Ask(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	return s.Requests()[0]
}

func same(t *testing.T, want string, got any) {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(want), &v); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(v, got); diff != "" {
		t.Error(diff)
	}
}

const citySchema = `{"type":"object","properties":{"city":{"type":"string"}},"required":["city"],"additionalProperties":false}`

func TestForcedToolOnTheWire(t *testing.T) {
	t.Parallel()
	req := wiretest.Question()
	req.Messages = append(req.Messages,
		agent.Message{Role: agent.RoleModel, Text: "I look.", Calls: []agent.ToolCall{{ID: "c1", Name: "look", Input: `{"n":1.5}`}, {ID: "c2", Name: "look", Input: "{"}}},
		agent.Message{Role: agent.RoleUser, Results: []agent.Returned{{ID: "c1", Text: "1"}, {ID: "c2", Text: "2", Failed: true}}})
	seen := sent(t, bedrock.Config{Cache: true}, req)
	if seen.Model != model || seen.Wire != wiretest.Bedrock {
		t.Errorf("asked %s over %s", seen.Model, seen.Wire)
	}
	same(t, `{
		"system": [{"text": "Answer in one word."}, {"cachePoint": {"type": "default"}}],
		"inferenceConfig": {"maxTokens": 50, "temperature": 0},
		"messages": [
			{"role": "user", "content": [{"text": "Capital of France?"}]},
			{"role": "assistant", "content": [{"text": "I look."},
				{"toolUse": {"toolUseId": "c1", "name": "look", "input": {"n": 1.5}}},
				{"toolUse": {"toolUseId": "c2", "name": "look", "input": {}}}]},
			{"role": "user", "content": [
				{"toolResult": {"toolUseId": "c1", "status": "success", "content": [{"text": "1"}]}},
				{"toolResult": {"toolUseId": "c2", "status": "error", "content": [{"text": "2"}]}}]}
		],
		"toolConfig": {"tools": [{"toolSpec": {"name": "give_answer", "description": "Give your whole answer with this tool, once, when you are done.", "inputSchema": {"json": `+citySchema+`}}}],
			"toolChoice": {"tool": {"name": "give_answer"}}}
	}`, any(seen.Body))
}

func TestNativeStructureAndTextOnTheWire(t *testing.T) {
	t.Parallel()
	native := sent(t, bedrock.Config{Structure: bedrock.StructureNative}, wiretest.Question()).Body
	if native["toolConfig"] != nil {
		t.Error("structured output forces a tool as well")
	}
	format := native["outputConfig"].(map[string]any)["textFormat"].(map[string]any)
	definition := format["structure"].(map[string]any)["jsonSchema"].(map[string]any)
	if format["type"] != "json_schema" || definition["name"] != "capital" {
		t.Errorf("the format is %v", format)
	}
	var schema any
	if err := json.Unmarshal([]byte(definition["schema"].(string)), &schema); err != nil {
		t.Fatal(err)
	}
	same(t, citySchema, schema)
	text := sent(t, bedrock.Config{Structure: bedrock.StructureText}, wiretest.Question()).Body
	if text["toolConfig"] != nil || text["outputConfig"] != nil {
		t.Errorf("text is asked as %v", text)
	}
}

func TestWithToolsTheModelMustChooseOne(t *testing.T) {
	t.Parallel()
	req := wiretest.Question()
	req.Tools = []agent.Tool{{Name: "look", Says: "Looks.", Input: json.RawMessage(`{"type":"object"}`)}}
	body := sent(t, bedrock.Config{}, req).Body
	config := body["toolConfig"].(map[string]any)
	same(t, `{"any": {}}`, config["toolChoice"])
	if n := len(config["tools"].([]any)); n != 2 || len(req.Tools) != 1 {
		t.Errorf("%d tools", n)
	}
}

func TestAnswersThroughTheTool(t *testing.T) {
	t.Parallel()
	early := []agent.ToolCall{{ID: "c1", Name: "look", Input: `{"order":"A-7"}`}}
	for name, c := range map[string]struct {
		given, want agent.Answer
	}{
		"the answer":     {agent.Answer{Text: `{"city":"Paris","n":12345678901}`, Stop: agent.StopEnd}, agent.Answer{Text: `{"city":"Paris","n":12345678901}`, Stop: agent.StopEnd}},
		"cut off":        {agent.Answer{Text: `{"city":"Par"}`, Stop: agent.StopLength}, agent.Answer{Text: `{"city":"Par"}`, Stop: agent.StopLength}},
		"too early":      {agent.Answer{Text: `{"city":"?"}`, Calls: early, Stop: agent.StopTools}, agent.Answer{Calls: early, Stop: agent.StopTools}},
		"malformed tool": {agent.Answer{Text: `{}`, Stop: agent.StopMalformed}, agent.Answer{Text: `{}`, Stop: agent.StopMalformed}},
	} {
		c.given.Usage = gate.Tokens{Input: 9, Output: 3, CacheRead: 1, CacheWrite: 2}
		s := wiretest.Start(t, wiretest.Always(wiretest.Reply{Answer: c.given, AsTool: true}))
		a, err := open(t, s.URL).Ask(t.Context(), wiretest.Question())
		if err != nil {
			t.Fatal(err)
		}
		c.want.Usage = c.given.Usage
		c.want.Usage.Model = model
		if diff := cmp.Diff(c.want, a); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestCodesThatSayMoreThanTheirStatus(t *testing.T) {
	t.Parallel()
	s := wiretest.Start(t, wiretest.Always(wiretest.Reply{Status: 400, Code: "ServiceQuotaExceededException", Message: "quota"}))
	_, err := open(t, s.URL).Ask(t.Context(), wiretest.Question())
	if err == nil || len(s.Requests()) != 1 {
		t.Fatal(err)
	}
	if got := classOf(err); got != "rate_limited" {
		t.Errorf("a quota is %s: %v", got, err)
	}
}

func TestPromptRoutersModelIsReported(t *testing.T) {
	t.Parallel()
	s := wiretest.Start(t, wiretest.Always(wiretest.Reply{Body: `{"output":{"message":{"role":"assistant","content":[{"text":"{}"}]}},"stopReason":"end_turn",
		"usage":{"inputTokens":1,"outputTokens":1,"totalTokens":2},"metrics":{"latencyMs":1},"trace":{"promptRouter":{"invokedModelId":"vendor.small"}}}`}))
	a, err := open(t, s.URL).Ask(t.Context(), wiretest.Question())
	if err != nil || a.Usage.Model != "vendor.small" {
		t.Errorf("%+v, %v", a, err)
	}
}

func classOf(err error) string { return string(worker.FailureOf(err).Class) }

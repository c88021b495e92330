package main

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/outerloop-dev/outerloop/cmd/outerloop/cli"
	llm "github.com/outerloop-dev/outerloop/pkg/agent"
	"github.com/outerloop-dev/outerloop/pkg/agent/wiretest"
	"github.com/outerloop-dev/outerloop/pkg/gate"
)

// spoken is what a request over the wire brings, as an author of answers reads it.
func spoken(t *testing.T, seen wiretest.Seen) data {
	var req llm.Request
	for _, message := range seen.Body["messages"].([]any) {
		m := message.(document)
		text, _ := m["content"].(string)
		if m["role"] == "user" && len(req.Messages) == 0 {
			req.Messages = []llm.Message{{Role: llm.RoleUser, Text: text}}
		}
		if m["role"] == "tool" {
			req.Messages = append(req.Messages, llm.Message{Role: llm.RoleUser, Results: []llm.Returned{{Text: text}}})
		}
		if m["role"] == "system" {
			req.System = text
		}
	}
	return read(t, req)
}

// served is a wire-format server that an author answers for.
func served(t *testing.T, write author) *wiretest.Server {
	return wiretest.Start(t, func(seen wiretest.Seen) wiretest.Reply {
		answer := write(spoken(t, seen))
		answer.Usage = gate.Tokens{Input: 900, Output: 120, Model: "wire-1"}
		return wiretest.Reply{Answer: answer}
	})
}

// steps of a run, by path.
func (b *bundle) steps(run string) (show document, steps map[string]document) {
	b.t.Helper()
	show, steps = object(b.t, b.want(0, "show", run, "-o", "json").out), map[string]document{}
	for _, step := range show["steps"].([]any) {
		steps[step.(document)["path"].(string)] = step.(document)
	}
	return show, steps
}

// number reads a number of a document; what is not there is 0.
func number(d document, keys ...string) float64 {
	for _, key := range keys[:len(keys)-1] {
		d, _ = d[key].(document)
	}
	n, _ := d[keys[len(keys)-1]].(float64)
	return n
}

// R49, R29, R17: a whole run over the wire, in which the provider throttles,
// cuts a connection, sends half a response, lets a body hang and answers what
// is no JSON. Each is tried again, and what the run costs is the price of the tokens.
func TestMarketResearchOverTheWire(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.edit("functions/workers/researcher/charter.yaml", "version: 1", "version: 2")
	b.edit("functions/workers/researcher/charter.yaml", "timeout: 60s", "timeout: 4s") // of the body that hangs
	b.want(0, "compile")
	var mu sync.Mutex
	asked := map[string]int{}
	trouble := map[string]func(wiretest.Reply) wiretest.Reply{
		"demand": func(wiretest.Reply) wiretest.Reply {
			return wiretest.Reply{Status: 429, Code: "rate_limit_exceeded", Message: "slow down", Header: map[string]string{"Retry-After": "1"}}
		},
		"competitors": func(r wiretest.Reply) wiretest.Reply { r.Cut = 60; return r },
		"prices": func(wiretest.Reply) wiretest.Reply {
			return wiretest.Reply{Body: `{"choices": [{"message": {"content": "{\"out`}
		},
		"subsidies":      func(r wiretest.Reply) wiretest.Reply { r.Hang = true; return r },
		"sales-channels": func(r wiretest.Reply) wiretest.Reply { r.Answer.Text = "Gladly! Here it is."; return r },
	}
	s := wiretest.Start(t, func(seen wiretest.Seen) wiretest.Reply {
		d := spoken(t, seen)
		topic := get[struct{ ID string }](d, "input.topic").ID
		reply := wiretest.Reply{Answer: researcher(d)}
		reply.Answer.Usage = gate.Tokens{Input: 900, Output: 120, CacheRead: 100, Model: "wire-1"}
		mu.Lock()
		defer mu.Unlock()
		if asked[topic]++; asked[topic] == 1 && trouble[topic] != nil {
			return trouble[topic](reply)
		}
		return reply
	})
	b.want(0, append(marketResearch, "--model", "openai:"+s.URL+"/v1#small-1", "--model-price", "2.00/8.00")...).
		has(t, "completed", "researcher asks chosen-model (small-1) with prompt", "at 2.00/8.00 USD per million tokens")
	for topic := range trouble {
		if asked[topic] != 2 {
			t.Errorf("%s was asked %d times, want 2", topic, asked[topic])
		}
	}
	show, steps := b.steps(b.newest())
	if covered := len(show["output"].(document)["report"].(document)["covered"].([]any)); covered != 7 {
		t.Errorf("%d subtopics are covered, want 7", covered)
	}
	var cost float64
	for path, step := range steps {
		price := (number(step, "tokens", "input")+number(step, "tokens", "cache_read"))*2 + number(step, "tokens", "output")*8
		if math.Abs(number(step, "cost")*1e6-price) > 2 { // each attempt is rounded up
			t.Errorf("%s cost %v, its tokens %v", path, step["cost"], step["tokens"])
		}
		cost += number(step, "cost")
	}
	if math.Abs(cost-number(show, "spent")) > 1e-9 || cost == 0 {
		t.Errorf("the steps cost %v, the run spent %v", cost, show["spent"])
	}
	if in := number(steps["research[sales-channels]/gather"], "tokens", "input"); in != 1800 { // both attempts
		t.Errorf("%v tokens of two answers", in)
	}
	if model := s.Requests()[0].Model; model != "small-1" {
		t.Errorf("asked for model %q", model)
	}
}

// R49: what nobody priced is not asked, and nothing is started.
func TestModelNeedsAPrice(t *testing.T) {
	t.Parallel()
	b := setup(t)
	s := served(t, researcher)
	ask := func(more ...string) []string {
		return append(marketResearch[:len(marketResearch):len(marketResearch)], more...)
	}
	b.want(cli.ExitUsage, ask("--model", "openai:"+s.URL)...).has(t, "nobody says what", "--model-price 0/0", "models")
	b.want(cli.ExitUsage, ask("--model", "openai:"+s.URL, "--model-price", "free")...).has(t, "is no price")
	b.want(cli.ExitUsage, ask("--model", "gpt")...).has(t, "declares no such model", "--model openai:")
	b.want(cli.ExitUsage, ask("--model", "openai:", "--model-price", "0/0")...).has(t, "names no model")
	if _, err := os.Stat(filepath.Join(b.dir, ".outerloop")); err == nil || len(s.Requests()) > 0 {
		t.Error("something was started")
	}
	b.edit("outerloop.yaml", "models:\n", "models:\n  mine: {connection: local-llm, id: small-1, price: {input: 1.00 USD, output: 2.00 USD, as_of: \"2026-11-01\"}}\n")
	b.edit("outerloop.yaml", "connections:\n", "connections:\n  local-llm: {kind: openai, url: \""+s.URL+"\"}\n")
	b.want(0, ask("--model", "openai:"+s.URL+"#small-1")...).has(t, "at 1.00/2.00 USD per million tokens, as of 2026-11-01")
	b.want(0, ask("--model", "mine", "--rerun")...).has(t, "researcher asks mine (small-1)")
}

// R49: the call that would break the budget is not made; the run says why.
func TestModelRunStopsAtItsBudget(t *testing.T) {
	t.Parallel()
	b := setup(t)
	s := served(t, researcher)
	b.want(cli.ExitWaiting, append(marketResearch, "--model", "openai:"+s.URL, "--model-price", "300.00/1400.00")...)
	b.want(0, "exceptions").has(t, "the budget has")
	show, _ := b.steps(b.newest())
	if spent := number(show, "spent"); spent > 5 {
		t.Errorf("%v USD of 5 were spent", spent)
	}
	if n := len(s.Requests()); n == 0 || n > 8 {
		t.Errorf("%d calls were made of the 10 that there would be with more money", n)
	}
}

// The key of an endpoint comes from the environment and stays there.
func TestModelKey(t *testing.T) {
	t.Setenv("OUTERLOOP_SECRET_MODEL_KEY", "sk-very-secret")
	b := setup(t)
	s := served(t, researcher)
	out := b.want(0, append(marketResearch, "--model", "openai:"+s.URL, "--model-price", "0/0")...)
	if got := s.Requests()[0].Header.Get("Authorization"); got != "Bearer sk-very-secret" {
		t.Errorf("asked with %q", got)
	}
	state, err := os.ReadFile(filepath.Join(b.dir, ".outerloop", "state.db"))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.out+out.err+string(state), "sk-very-secret") {
		t.Error("the key was written down")
	}
}

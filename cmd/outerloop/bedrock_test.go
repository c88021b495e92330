//go:build bedrock

package main

import (
	"encoding/json"
	"strings"
	"testing"

	llm "github.com/outerloop-dev/outerloop/pkg/agent"
	"github.com/outerloop-dev/outerloop/pkg/agent/wiretest"
	"github.com/outerloop-dev/outerloop/pkg/gate"
)

// converseText joins the texts of a list of Converse's content blocks.
func converseText(blocks any) string {
	var texts []string
	list, _ := blocks.([]any)
	for _, block := range list {
		if text, ok := block.(document)["text"].(string); ok {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "\n")
}

// A program that is built with the tag asks Amazon Bedrock's Converse, with the
// environment's credentials and region, and prices what it reports.
func TestBedrockModel(t *testing.T) {
	s := wiretest.Start(t, func(seen wiretest.Seen) wiretest.Reply {
		messages := seen.Body["messages"].([]any)
		answer := researcher(read(t, llm.Request{
			System:   converseText(seen.Body["system"]),
			Messages: []llm.Message{{Role: llm.RoleUser, Text: converseText(messages[0].(document)["content"])}},
		}))
		answer.Usage = gate.Tokens{Input: 900, Output: 120}
		return wiretest.Reply{Answer: answer, AsTool: json.Valid([]byte(answer.Text))}
	})
	t.Setenv("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", s.URL)
	t.Setenv("AWS_REGION", "eu-central-1")
	b := setup(t)
	const model = "anthropic.model-1:0"
	b.want(0, append(marketResearch, "--model", "bedrock:"+model, "--model-price", "2.00/8.00")...).has(t, "completed", "("+model+")")
	for _, seen := range s.Requests() {
		if auth := seen.Header.Get("Authorization"); seen.Wire != wiretest.Bedrock || seen.Model != model || !strings.Contains(auth, "/eu-central-1/bedrock/aws4_request") {
			t.Fatalf("asked %s as %q with %q", seen.Wire, seen.Model, auth)
		}
	}
	show, _ := b.steps(b.newest())
	if spent, calls := number(show, "spent"), float64(len(s.Requests())); spent != calls*(900*2+120*8)/1e6 {
		t.Errorf("%v calls cost %v", calls, spent)
	}
}

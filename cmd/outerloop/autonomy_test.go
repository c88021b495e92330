package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/outerloop-dev/outerloop/cmd/outerloop/cli"
)

// R42, R43: a refund agent that only observes proposes and refunds nothing; what
// people did is compared; people alone raise the stage, within the authority.
func TestAutonomyOfARefund(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.edit("functions/workers/refund/charter.yaml", "start: limited", "start: observe")
	b.edit("functions/workers/refund/charter.yaml", "reviewed: 50", "reviewed: 1")
	b.edit("functions/workers/refund/charter.yaml", "version: 1", "version: 2")
	b.want(0, "compile")
	b.want(cli.ExitUsage, "autonomy", "nobody").has(t, "no worker")
	run := []string{"run", "support-agent", "--input", "samples/support-agent/requests/T-2001.json", "--as-of", "2026-11-30"}
	s := served(t, supporter)
	b.want(cli.ExitWaiting, append(run, "--model", "openai:"+s.URL, "--model-price", "0/0")...)
	// and a refund that was only proposed is no source for "was refunded" (R27)
	if n := b.records("refunds"); n != 0 {
		t.Fatalf("%d refunds were made while it only observes", n)
	}
	b.want(0, "autonomy", "refund").has(t, "refund", "observe", "broad", "0 of 1 reviewed", "Proposed, and not compared", "A-1007:refund", "outerloop did support-agent")
	doc := object(t, b.want(0, "autonomy", "refund", "-o", "json").out)
	proposal := doc["proposals"].([]any)[0].(document)
	b.write("refund.json", jsonText(t, proposal["payload"]))
	b.want(0, "did", "support-agent", proposal["entry"].(string), "--payload", "refund.json", "--by", "anna@acme.example").has(t, "people did the same")
	b.want(1, "did", "support-agent", proposal["entry"].(string), "--nothing", "--by", "anna@acme.example").has(t, "anna")
	b.want(0, "autonomy").has(t, "recommend is proposed: 1 of 1 accepted", "outerloop promote refund --action refund")
	b.want(1, "promote", "refund", "--by", "director@acme.example", "--reason", "fine").has(t, "not allowed")
	b.want(0, "promote", "refund", "--by", "anna@acme.example", "--reason", "as people do").has(t, "in stage recommend from now on")
	b.want(1, "promote", "refund", "--by", "anna@acme.example", "--reason", "more").has(t, "do not propose it")
	b.want(0, "demote", "refund", "--by", "anna@acme.example", "--reason", "wait").has(t, "in stage observe")
	out := b.want(0, "autonomy", "refund").out
	if !strings.Contains(out, "observe -> recommend by anna: as people do") || !strings.Contains(out, "recommend -> observe by anna: wait") {
		t.Errorf("the changes are not told:\n%s", out)
	}
}

func jsonText(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

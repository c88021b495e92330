package coordinator_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/gate"
)

// A claim whose source the run does not have is named, and its work is not
// taken: an event that started nothing, a field and an element that are not
// there, a call and an action that were not made (R27, R48).
func TestEvidenceNamesWhatTheRunHas(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		source, trigger string
		taken           bool
	}{
		"input":                {"input", "manual", true},
		"a field":              {"input.text", "manual", true},
		"a fact":               {"facts.state", "manual", true},
		"a fact's field":       {"facts.state.n", "manual", true},
		"beyond a list":        {"facts.state[99]", "manual", false},
		"an invented field":    {"input.signed", "manual", false},
		"an element of a text": {"input.text[0]", "manual", false},
		"an unread fact":       {"facts.plan", "manual", false},
		"no event":             {"event", "manual", false},
		"no event's field":     {"event.body", "manual", false},
		"an event":             {"event", "event", true},
		"a webhook":            {"event", "webhook", true},
		"a schedule":           {"event", "schedule", false},
		"a call not made":      {"calls.lister", "manual", false},
		"an action not made":   {"action:", "manual", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, files(loopHead+`
steps:
  first: {worker: board, input: {n: 1}, writes: {board/state: "${output}"}}
  talk: {worker: writer, after: [first], input: {text: "${input.key}"}, reads: {state: board/state}}
output: {text: "${talk.text}"}
`, map[string]string{
				"functions/workers/writer/charter.yaml": charterFile("writer", anyIn, textOut, "evidence: required", "reads: [board/state]"),
			}))
			usual(w)
			out, err := w.coord.Start(w.ctx, coordinator.StartRequest{Loop: "test", Input: json.RawMessage(`{"key":"a"}`), Trigger: c.trigger, By: "ann"})
			if err != nil {
				t.Fatal(err)
			}
			board := byHand(t, w, out.Run, "board", "first", "fact")
			board.admit()
			board.settle(gate.SettleRequest{Result: &gate.Result{Output: json.RawMessage(`{"n":1}`)}})
			hand := byHand(t, w, out.Run, "writer", "talk", "first")
			if a := hand.admit(); a.Decision != gate.Go {
				t.Fatalf("admit is %+v", a)
			}
			verdict := hand.settle(gate.SettleRequest{Result: &gate.Result{
				Output: json.RawMessage(`{"text":"done"}`), Confidence: outerloop.ConfidenceHigh, Reason: "clear",
				Evidence: []gate.Evidence{{Claim: "They signed.", Source: c.source}},
			}}).Verdict
			if c.taken != (verdict.Error == "") {
				t.Errorf("the verdict is %+v", verdict)
			}
			if !c.taken && (!strings.Contains(verdict.Cause, "They signed.") || !strings.Contains(verdict.Cause, c.source)) {
				t.Errorf("the cause %q names not claim and source", verdict.Cause)
			}
		})
	}
}

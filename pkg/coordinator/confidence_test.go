package coordinator_test

import (
	"strings"
	"testing"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/gate"
)

const modelCharter = "agent: {model: default, prompt: prompts/model.md, max_tokens: 100}"

// A model's work whose confidence does not reach its risk makes one request to
// approve, by defaults.approval where the step declares none; where nothing says
// how to ask, an exception asks (R45, R46).
func TestLowConfidenceIsARequest(t *testing.T) {
	t.Parallel()
	for name, defaults := range map[string]string{
		"as the defaults say": "", "nothing says how": "  approval: {approvers: [leads], within: 4h, expired: skip, rejected: skip}\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := strings.Replace(loopHead, defaults, "", 1) + `
steps:
  draft: {worker: model, input: {text: a}}
  end: {worker: writer, input: {text: "${draft.text}"}}
output: {text: "${end.text}"}
`
			w := newWorld(t, files(text, map[string]string{
				"outerloop.yaml":                           strings.Replace(projectFile, "connections:\n", "connections:\n  brain: {kind: http, url: \"https://model.example\", may: [ask]}\n", 1) + "models:\n  default: {connection: brain, id: a-model, price: {input: 1.00 USD, output: 2.00 USD, as_of: \"2026-11-01\"}}\n",
				"functions/workers/model/charter.yaml":     charterFile("model", anyIn, textOut, "kind: agent", "risk: medium") + modelCharter + "\n",
				"functions/workers/model/prompts/model.md": "Write.",
			}))
			usual(w)
			w.work["model"] = worker{do: func(gate.Task) (any, *gate.Failure) { return map[string]any{"text": "half sure"}, nil },
				result: func(_ gate.Task, r *gate.Result) {
					r.Confidence, r.Reason = outerloop.ConfidenceMedium, "two sources disagree"
				}}
			run := start(t, w, `{"key":"a"}`)
			w.run(10*time.Minute, 500)
			want(t, w, run, outerloop.StatusAwaitingApproval)
			open, err := w.coord.Approvals(w.ctx, coordinator.ApprovalsQuery{Run: run})
			if err != nil {
				t.Fatal(err)
			}
			if defaults != "" {
				exceptionOf(t, w)
				if len(open) != 0 {
					t.Errorf("requests %+v", open)
				}
				return
			}
			if len(open) != 1 || !strings.HasPrefix(open[0].Ask, "confidence medium at risk medium: two sources disagree") {
				t.Fatalf("requests %+v", open)
			}
			if _, err := w.coord.Decide(w.ctx, coordinator.DecideRequest{Approval: open[0].ID, Verdict: coordinator.Approve, By: "bob"}); err != nil {
				t.Fatal(err)
			}
			w.run(10*time.Minute, 500)
			if view := want(t, w, run, outerloop.StatusCompleted); string(view.Output) != `{"text":"writer half sure"}` {
				t.Errorf("output is %s", view.Output)
			}
		})
	}
}

package coordinator_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/gate"
)

// Who approves an action may correct its input, but not whom it is for: the
// step's key and lease hold for that one. What is edited is checked by the
// limits, and is what the action gets (R26, R37, R44, R46).
func TestAnEditKeepsWhomTheActionIsFor(t *testing.T) {
	t.Parallel()
	w := newWorld(t, files(loopHead+`
steps:
  draft: {worker: writer, input: {text: "${input.key}"}}
  send:
    worker: sender
    action: send
    key: ${run.subject}
    resource: contact/${draft.text}
    input: {text: "${draft.text}", n: 1}
    approval: {ask: "Send?"}
output: {id: "${send.id}"}
`, map[string]string{
		"functions/workers/sender/charter.yaml": charterFile("sender", anyIn, "{type: object, properties: {id: {type: string}}, required: [id], additionalProperties: false}",
			"tools: {mail: [send]}", "actions: {send: {effect: none, undo: none, unknown: verify, start: limited}}",
			"limits: [{rule: input.n <= 5, otherwise: refuse, say: At most five.}]"),
	}))
	usual(w)
	var sent []string
	w.work["sender"] = worker{do: func(t gate.Task) (any, *gate.Failure) {
		sent = append(sent, string(t.Input))
		return map[string]any{"id": "sent"}, nil
	}}
	run := start(t, w, `{"key":"a"}`)
	w.run(10*time.Minute, 500)
	want(t, w, run, outerloop.StatusAwaitingApproval)
	ap := asked(t, w)
	for edit, says := range map[string]string{
		`{"text":"somebody else","n":1}`: "text cannot be edited: the action's resource (contact/${draft.text}) holds for writer a",
		`{"text":"writer a","n":6}`:      "At most five.",
	} {
		if err := decide(w, ap, coordinator.Approve, "bob", edit); !errors.Is(err, coordinator.ErrInput) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", edit, err)
		}
	}
	if err := decide(w, ap, coordinator.Approve, "bob", `{"text":"writer a","n":5}`); err != nil {
		t.Fatal(err)
	}
	w.run(10*time.Minute, 500)
	want(t, w, run, outerloop.StatusCompleted)
	if len(sent) != 1 || sent[0] != `{"n":5,"text":"writer a"}` {
		t.Errorf("sent %v", sent)
	}
}

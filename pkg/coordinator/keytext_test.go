package coordinator_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/coordinator"
)

// What data makes of a key that no store can have ends in a failure that names
// it, at once and by the step's own rule: it is not tried for ever.
func TestKeysMadeOfData(t *testing.T) {
	t.Parallel()
	const fact = loopHead + `
steps:
  board: {worker: board, input: {n: 1}, writes: {"board/${input.key}": "${output}"}, on_failure: {then: halt}}
`
	asFact := map[string]string{
		"outerloop.yaml": strings.Replace(projectFile, "board/state:", "board/*:", 1),
		"functions/workers/board/charter.yaml": charterFile("board", anyIn, "{type: object, properties: {n: {type: integer}}, required: [n], additionalProperties: false}",
			"writes: [board/*]", "dispatch: {mode: direct, timeout: 30s}"),
	}
	for name, c := range map[string]struct {
		loop, what string
		files      map[string]string
	}{
		"action":   {strings.Replace(sendLoop, "    resource: contact/x\n", "", 1), "action key", nil},
		"resource": {strings.NewReplacer("contact/x", "contact/${input.key}", "key: ${input.key}", "key: ${run.subject}").Replace(sendLoop), "resource", nil},
		"fact":     {fact, "fact's name", asFact},
	} {
		for text, says := range map[string]string{strings.Repeat("x", 2000): "bytes long, at most 800", "a\u0000b": "has a zero byte", "ä\u2028\"/# ": ""} {
			t.Run(name+" "+says, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, files(strings.Replace(c.loop, "subject: ${input.key}", "subject: n${size(input.key)}", 1), c.files))
				usual(w)
				input, err := json.Marshal(map[string]string{"key": text})
				if err != nil {
					t.Fatal(err)
				}
				run := start(t, w, string(input))
				w.run(10*time.Minute, 500)
				if says == "" {
					want(t, w, run, outerloop.StatusCompleted)
					return
				}
				if v := want(t, w, run, outerloop.StatusBlocked); !strings.Contains(v.Reason, says) || !strings.Contains(v.Reason, c.what) {
					t.Errorf("blocked: %s", v.Reason)
				}
			})
		}
	}
	w := newWorld(t, files(sendLoop, nil))
	var wrong *coordinator.InputError
	_, err := w.coord.Start(w.ctx, coordinator.StartRequest{Loop: "test", Input: json.RawMessage(`{"key":"a\u0000b"}`)})
	if !errors.As(err, &wrong) || !strings.Contains(err.Error(), "subject of test: it has a zero byte") {
		t.Errorf("started: %v", err)
	}
	for _, req := range []coordinator.PublishRequest{{Event: "a\x00b"}, {Event: "a", ID: strings.Repeat("x", 2000)}, {Event: "a", ID: "\xff"}} {
		if _, err := w.coord.Publish(w.ctx, req); err == nil || !strings.Contains(err.Error(), "event: its ") {
			t.Errorf("%.20q %.20q: %v", req.Event, req.ID, err)
		}
	}
}

package coordinator_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/protocol"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/gate"
)

const projectFile = `
project: test
zone: Europe/Berlin
people: {ann: {email: ann@example.com}, bob: {email: bob@example.com}, eve: {email: eve@example.com}}
groups:
  ops: {members: [ann], alert: [email]}
  leads: {members: [ann, bob], alert: [email]}
connections:
  mail: {kind: outbox, may: [send]}
facts:
  board/state: {schema: {type: object, properties: {n: {type: integer}}, required: [n], additionalProperties: false}}
`

// charterFile is a charter with the usual fields; more replaces or adds lines.
func charterFile(name, input, output string, more ...string) string {
	fields := map[string]string{
		"kind": "go", "reads": "[]", "writes": "[]", "tools": "{}", "authority": "execute", "risk": "low",
		"success": "{metric: done, at_least: 90%}", "fails_with": "[timeout, transient, rate_limited, invalid_output, refused, fatal]",
		"dispatch": "{mode: queue, timeout: 30s}",
	}
	for _, line := range more {
		key, value, _ := strings.Cut(line, ": ")
		fields[key] = value
	}
	text := fmt.Sprintf("worker: %s\nversion: 1\nowner: ops\nobjective: Test.\ninput: %s\noutput: %s\n", name, input, output)
	for _, key := range []string{"kind", "reads", "writes", "tools", "actions", "authority", "autonomy", "risk", "limits", "evidence", "success", "fails_with", "dispatch"} {
		if value := fields[key]; value != "" {
			text += key + ": " + value + "\n"
		}
	}
	return text
}

const (
	anyIn   = "{type: object, properties: {n: {type: integer}, text: {type: string}}, additionalProperties: false}"
	listOut = "{type: object, properties: {items: {type: array, items: {type: object, properties: {id: {type: string}, n: {type: integer}}, required: [id, n], additionalProperties: false}}}, required: [items], additionalProperties: false}"
	textOut = "{type: object, properties: {text: {type: string}, n: {type: integer}}, required: [text], additionalProperties: false}"
)

// files is the test's project with one loop.
func files(loopText string, more map[string]string) map[string]string {
	out := map[string]string{
		"outerloop.yaml":                        projectFile,
		"statemachines/test.loop.yaml":          loopText,
		"functions/workers/lister/charter.yaml": charterFile("lister", anyIn, listOut, "dispatch: {mode: direct, timeout: 30s}"),
		"functions/workers/writer/charter.yaml": charterFile("writer", anyIn, textOut),
		"functions/workers/backup/charter.yaml": charterFile("backup", anyIn, textOut),
		"functions/workers/checker/charter.yaml": charterFile("checker", "{type: object, properties: {text: {type: string}}, additionalProperties: false}",
			"{type: object, properties: {faults: {type: array, items: {type: string}}}, required: [faults], additionalProperties: false}"),
		"functions/workers/sender/charter.yaml": charterFile("sender", anyIn, "{type: object, properties: {id: {type: string}}, required: [id], additionalProperties: false}",
			"tools: {mail: [send]}", "actions: {send: {effect: none, undo: none, unknown: verify, start: limited}}"),
		"functions/workers/board/charter.yaml": charterFile("board", anyIn, "{type: object, properties: {n: {type: integer}}, required: [n], additionalProperties: false}",
			"writes: [board/state]", "reads: [board/state]", "dispatch: {mode: direct, timeout: 30s}"),
	}
	for name, text := range more {
		out[name] = text
	}
	return out
}

const loopHead = `
loop: test
version: 1
owner: ops
objective: A test.
subject: ${input.key}
input: {type: object, properties: {key: {type: string}, n: {type: integer}, ask: {type: boolean}}, required: [key], additionalProperties: false}
budget: {cost: 1.00 USD, deadline: 23h, approvals: 20, otherwise: ask}
defaults:
  on_failure: {retry: {timeout: 1, transient: 2, invalid_output: 1}, then: skip}
  approval: {approvers: [leads], within: 4h, expired: skip, rejected: skip}
`

// usual are workers that do what their output schema asks.
func usual(w *world) {
	w.work["lister"] = worker{do: func(t gate.Task) (any, *gate.Failure) {
		var in struct{ N int }
		_ = json.Unmarshal(t.Input, &in)
		items := []any{}
		for i := range in.N {
			items = append(items, map[string]any{"id": fmt.Sprintf("D-%d", i), "n": i})
		}
		return map[string]any{"items": items}, nil
	}}
	echo := worker{do: func(t gate.Task) (any, *gate.Failure) {
		var in struct {
			N    int
			Text string
		}
		_ = json.Unmarshal(t.Input, &in)
		return map[string]any{"text": t.Worker + " " + in.Text, "n": in.N}, nil
	}}
	w.work["writer"], w.work["backup"] = echo, echo
	w.work["checker"] = worker{do: func(gate.Task) (any, *gate.Failure) { return map[string]any{"faults": []string{}}, nil }}
	w.work["sender"] = worker{do: func(t gate.Task) (any, *gate.Failure) { return map[string]any{"id": "sent"}, nil }}
	w.work["board"] = worker{do: func(t gate.Task) (any, *gate.Failure) {
		var in struct{ N int }
		_ = json.Unmarshal(t.Input, &in)
		return map[string]any{"n": in.N}, nil
	}}
}

func start(t testing.TB, w *world, input string) string {
	t.Helper()
	for range 20 { // a trigger comes again until it is answered
		out, err := w.coord.Start(w.ctx, coordinator.StartRequest{Loop: "test", Input: json.RawMessage(input), Trigger: "manual", By: "ann"})
		if err == nil {
			return out.Run
		}
		if w.chaos == nil {
			t.Fatal(err)
		}
	}
	t.Fatal("the start was never answered")
	return ""
}

func show(t testing.TB, w *world, run string) coordinator.ShowView {
	t.Helper()
	out, err := w.coord.Show(w.ctx, run)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// want checks the run's status and prints everything when it is another.
func want(t testing.TB, w *world, run string, status outerloop.Status) coordinator.ShowView {
	t.Helper()
	view := show(t, w, run)
	if view.Status != status {
		raw, _ := json.MarshalIndent(view, "", " ")
		t.Fatalf("run is %s, not %s\n%s\n%s", view.Status, status, raw, w.tail(80))
	}
	return view
}

func steps(view coordinator.ShowView) map[string]coordinator.StepView {
	out := map[string]coordinator.StepView{}
	for _, s := range view.Steps {
		out[s.Path] = s
	}
	return out
}

// settledItem are the records of an item of eachLoop that went well.
func settledItem(run string, i int) []*record.Step {
	at := record.Address("deals").Item(i)
	done := func(name string, output string) *record.Step {
		s := &record.Step{Run: run, Address: at.Join(name), Path: "deals/" + name, Name: name, Visit: 1, Gen: 1, Output: record.Payload(json.RawMessage(output))}
		protocol.Settle(s, outerloop.OutcomeCompleted, time.Unix(0, 0), gate.Note{})
		return s
	}
	return []*record.Step{
		done("draft", `{"text":"a text"}`), done("draft.review", `{"faults":[]}`), done("send", `{"id":"sent"}`),
	}
}

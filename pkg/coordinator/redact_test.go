package coordinator_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/gate"
)

// What a fact marks sensitive is in no list, output, fact, action or alert, under
// whatever fact or step it stands; who decides reads it with Reveal, and an edit
// made of what was shown without it is refused (R25).
func TestSensitiveFieldsAreHidden(t *testing.T) {
	t.Parallel()
	const secret = "anna@customer.example"
	project := strings.Replace(projectFile, "facts:\n", "facts:\n  person/*: {schema: {type: object, properties: {who: {type: object, properties: {text: {type: string}}}}}, sensitive: [who.text]}\n", 1)
	project = strings.Replace(project, "groups:\n", "groups:\n  bosses: {members: [eve], alert: [email]}\n  others: {members: [bob], alert: [email]}\n", 1)
	w := newWorld(t, files(strings.ReplaceAll(remindLoop, "Send ${input.key}?", "Send to ${input.key}?")+"output: {text: \"${input.key}\"}\n", map[string]string{"outerloop.yaml": project}))
	usual(w)
	run := start(t, w, `{"key":"`+secret+`"}`)
	w.run(time.Minute, 200)
	ap := asked(t, w)
	if string(ap.Content) != `{"text":"[redacted]"}` || ap.Ask != "Send to [redacted]?" {
		t.Errorf("listed as %s, asking %q", ap.Content, ap.Ask)
	}
	seen, err := w.coord.Approval(coordinator.Reveal(w.ctx), ap.ID)
	if err != nil || !strings.Contains(string(seen.Content), secret) || !strings.Contains(seen.Ask, secret) {
		t.Errorf("revealed as %s, asking %q: %v", seen.Content, seen.Ask, err)
	}
	w.now = ap.Since.Add(91 * time.Minute)
	if _, err := w.coord.Watch(w.ctx); err != nil {
		t.Fatal(err)
	}
	if len(w.alerts) == 0 {
		t.Error("nobody was reminded")
	}
	for _, a := range w.alerts {
		if strings.Contains(a.Text, secret) {
			t.Errorf("an alert says %q", a.Text)
		}
	}
	var wrong *coordinator.InputError
	if err := decide(w, ap, coordinator.Approve, "ann", string(ap.Content)); !errors.As(err, &wrong) {
		t.Errorf("an edit of what was hidden: %v", err)
	}
	if err := decide(w, ap, coordinator.Approve, "ann", ""); err != nil {
		t.Fatal(err)
	}
	w.run(time.Minute, 200)
	if view, err := w.coord.Run(w.ctx, run); err != nil || string(view.Output) != `{"text":"[redacted]"}` {
		t.Errorf("the run's output is %s: %v", view.Output, err)
	}
}

// What is sensitive stands in no sentence about its run either: causes, reasons,
// decisions, questions, alerts and a worker's breaker; who may see it does (R25).
func TestSentencesHideWhatIsSensitive(t *testing.T) {
	t.Parallel()
	const secret = "anna@customer.example"
	project := strings.Replace(projectFile, "facts:\n", "facts:\n  person/*: {schema: {type: object, properties: {mail: {type: string}}}, sensitive: [mail]}\n", 1)
	loopText := strings.Replace(loopHead, "n: {type: integer},", "n: {type: integer}, mail: {type: string},", 1) + `
steps:
  plan: {worker: lister, input: {n: 2}, on_failure: {then: halt}}
  deals:
    each: plan.items
    as: deal
    key: ${deal.id}
    max_items: 5
    join: {need: 100%, otherwise: halt}
    steps:
      draft: {worker: writer, input: {text: "${input.mail}"}, on_failure: {retry: {transient: 4}, then: ask}}
    output: {id: "${deal.id}"}
`
	w := newWorld(t, files(loopText, map[string]string{"outerloop.yaml": project}))
	usual(w)
	w.work["writer"] = worker{do: func(task gate.Task) (any, *gate.Failure) {
		return nil, &gate.Failure{Class: outerloop.ClassTransient, Message: "cannot reach " + secret}
	}}
	run := start(t, w, `{"key":"a","mail":"`+secret+`"}`)
	w.run(2*time.Hour, 2000)
	list, err := w.coord.Exceptions(w.ctx, coordinator.ExceptionsQuery{Run: run})
	if err != nil || len(list) == 0 || !strings.Contains(list[0].Cause, "cannot reach [redacted]") {
		t.Fatalf("exceptions are %+v, %v", list, err)
	}
	if _, err := w.coord.Cancel(w.ctx, coordinator.PersonRequest{Run: run, By: "ann", Reason: secret + " asked for it"}); err != nil {
		t.Fatal(err)
	}
	w.run(time.Hour, 2000)
	everything := func(ctx context.Context) string {
		view, err := w.coord.Show(ctx, run)
		if err != nil {
			t.Fatal(err)
		}
		runs, err := w.coord.Runs(ctx, coordinator.RunsQuery{})
		if err != nil {
			t.Fatal(err)
		}
		log, err := w.coord.Log(ctx, run)
		if err != nil {
			t.Fatal(err)
		}
		exc, err := w.coord.Exception(ctx, list[0].ID)
		if err != nil {
			t.Fatal(err)
		}
		hide, err := w.coord.Hiding(ctx, run)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := json.Marshal([]any{view, runs, log, exc, hide(`{"cause":"{\"to\":\"` + secret + `\"}"}`)})
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	if text := everything(w.ctx); strings.Contains(text, secret) {
		t.Errorf("it is told: %s", text)
	}
	if text := everything(coordinator.Reveal(w.ctx)); strings.Count(text, secret) < 5 {
		t.Errorf("revealed: %s", text)
	}
	breakers, err := w.coord.Breakers(w.ctx)
	if err != nil || len(breakers) != 1 || strings.Contains(breakers[0].Cause, secret) {
		t.Errorf("breakers are %+v, %v", breakers, err)
	}
	kinds := map[string]bool{}
	for _, a := range w.alerts {
		kinds[a.Kind] = true
		if strings.Contains(a.Text, secret) {
			t.Errorf("an alert says %+v", a)
		}
	}
	if !kinds[coordinator.KindException] || !kinds[coordinator.KindRetries] || !kinds[coordinator.KindBreaker] {
		t.Errorf("alerts were %v", kinds)
	}
}

// What a step has read of a fact is hidden in its failure too, although no value
// of its run has the field.
func TestSentencesHideFacts(t *testing.T) {
	t.Parallel()
	const secret = "anna@customer.example"
	shape := "{type: object, properties: {n: {type: integer}, text: {type: string}}, required: [n], additionalProperties: false}"
	project := strings.Replace(projectFile, "required: [n], additionalProperties: false}}", "required: [n]}, sensitive: [mail]}", 1)
	project = strings.Replace(project, "properties: {n: {type: integer}}", "properties: {n: {type: integer}, mail: {type: string}}", 1)
	w := newWorld(t, files(loopHead+`
steps:
  one: {worker: board, input: {n: 1}, writes: {board/state: {n: "${output.n}", mail: "${output.text}"}}, on_failure: {then: halt}}
  two: {worker: writer, input: {n: "${facts.state.n}"}, reads: {state: board/state}, after: [one], on_failure: {then: halt}}
`, map[string]string{
		"outerloop.yaml": project,
		"functions/workers/board/charter.yaml": charterFile("board", anyIn, shape,
			"writes: [board/state]", "reads: [board/state]", "dispatch: {mode: direct, timeout: 30s}"),
		"functions/workers/writer/charter.yaml": charterFile("writer", anyIn, textOut, "reads: [board/state]"),
	}))
	usual(w)
	w.work["board"] = worker{do: func(gate.Task) (any, *gate.Failure) { return map[string]any{"n": 1, "text": secret}, nil }}
	w.work["writer"] = worker{do: func(gate.Task) (any, *gate.Failure) {
		return nil, &gate.Failure{Class: outerloop.ClassFatal, Message: "cannot write to " + secret}
	}}
	run := start(t, w, `{"key":"a"}`)
	w.run(time.Hour, 500)
	view := want(t, w, run, outerloop.StatusBlocked)
	list, err := w.coord.Exceptions(w.ctx, coordinator.ExceptionsQuery{})
	if err != nil || len(list) != 1 || !strings.Contains(list[0].Cause+view.Reason, "cannot write to [redacted]") || strings.Contains(list[0].Cause+view.Reason, secret) {
		t.Errorf("%q, %+v, %v", view.Reason, list, err)
	}
}

package coordinator_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/gate"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// dying is a store whose process dies after a number of writes.
type dying struct {
	store.Store
	left *int
}

var errDead = errors.New("the process is dead")

func (d dying) Write(ctx context.Context, id string, ops ...store.Op) error {
	if *d.left == 0 {
		return errDead
	}
	*d.left--
	return d.Store.Write(ctx, id, ops...)
}

func startAs(w *world, input string) (coordinator.Started, error) {
	return w.coord.Start(w.ctx, coordinator.StartRequest{Loop: "test", Input: json.RawMessage(input), Trigger: "webhook", By: "x"})
}

// R24, R38: a finished run is never changed by a late duplicate, not even by its own.
func TestLateDuplicateChangesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, files(draftLoop("{then: halt}"), nil))
	usual(w)
	run := start(t, w, `{"key":"a"}`)
	w.run(time.Minute, 300)
	before := want(t, w, run, outerloop.StatusCompleted)
	writes := 0
	w.store = counting{w.store, &writes}
	w.boot()
	for range 3 {
		w.now = w.now.Add(24 * time.Hour)
		out, err := startAs(w, `{"key":"a"}`)
		if err != nil || !out.Duplicate || out.Run != run {
			t.Fatalf("a late duplicate is %+v, %v", out, err)
		}
	}
	w.run(time.Hour, 300)
	after := want(t, w, run, outerloop.StatusCompleted)
	if writes != 0 || *after.EndedAt != *before.EndedAt || len(w.pending) != 0 {
		t.Errorf("%d writes, ended %s and then %s", writes, before.EndedAt, after.EndedAt)
	}
}

// R38: the same key with another payload is an error that shows both hashes, and nothing is executed.
func TestSameKeyOtherPayload(t *testing.T) {
	t.Parallel()
	w := newWorld(t, files(draftLoop("{then: halt}"), nil))
	usual(w)
	start(t, w, `{"key":"a","n":1}`)
	_, err := startAs(w, `{"key":"a","n":2}`)
	var other *coordinator.OtherInputError
	if !errors.As(err, &other) || other.HaveHash == other.WantHash || !strings.Contains(err.Error(), other.HaveHash) || !strings.Contains(err.Error(), other.WantHash) {
		t.Fatalf("got %v", err)
	}
	if runs, err := w.coord.Runs(w.ctx, coordinator.RunsQuery{}); err != nil || len(runs) != 1 {
		t.Errorf("%d runs, %v", len(runs), err)
	}
}

// R37: three parallel branches with one action key do one action; the others get
// its recorded result.
func TestThreeBranchesOneKey(t *testing.T) {
	t.Parallel()
	text := loopHead + `
steps:
  one: {worker: sender, action: send, key: "${input.key}", input: {text: same}, on_failure: {retry: {transient: 5}, then: halt}}
  two: {worker: sender, action: send, key: "${input.key}", input: {text: same}, on_failure: {retry: {transient: 5}, then: halt}}
  six: {worker: sender, action: send, key: "${input.key}", input: {text: same}, on_failure: {retry: {transient: 5}, then: halt}}
`
	w := newWorld(t, files(text, nil))
	usual(w)
	run := start(t, w, `{"key":"a"}`)
	w.run(2*time.Hour, 3000)
	want(t, w, run, outerloop.StatusCompleted)
	list, err := w.coord.Actions(w.ctx, coordinator.ActionsQuery{})
	if err != nil || len(list) != 1 || list[0].Calls != 1 || list[0].State != "done" {
		t.Errorf("the action log is %+v, %v", list, err)
	}
}

// R36: two branches that fail together raise one exception each.
func TestTwoBranchesFailTogether(t *testing.T) {
	t.Parallel()
	text := loopHead + `
steps:
  one: {worker: writer, input: {text: a}, on_failure: {then: ask}}
  two: {worker: backup, input: {text: b}, on_failure: {then: ask}}
`
	w := newWorld(t, files(text, nil))
	usual(w)
	failing(w, "writer", outerloop.ClassFatal, 9)
	failing(w, "backup", outerloop.ClassFatal, 9)
	start(t, w, `{"key":"a"}`)
	w.run(time.Hour, 500)
	list, err := w.coord.Exceptions(w.ctx, coordinator.ExceptionsQuery{})
	if err != nil || len(list) != 2 || list[0].Step == list[1].Step || w.told(coordinator.KindException) != 2 {
		t.Errorf("%d exceptions, %d alerts (one message: TestOneIncidentIsOneAlert), %v", len(list), w.told(coordinator.KindException), err)
	}
}

// R28, R29: every class meets every rule: its own tries, those of `any`, or none,
// and then what the step declares.
func TestEveryClassMeetsEveryRule(t *testing.T) {
	t.Parallel()
	for _, class := range outerloop.Classes() {
		for rule, want := range map[string]struct {
			outcome outerloop.Outcome
			status  outerloop.Status
		}{
			"skip":                             {outerloop.OutcomeSkipped, outerloop.StatusCompleted},
			"{substitute: {text: none, n: 7}}": {outerloop.OutcomeSubstituted, outerloop.StatusCompleted},
			"ask":                              {"", outerloop.StatusAwaitingApproval},
			"halt":                             {"", outerloop.StatusBlocked},
		} {
			for retry, tries := range map[string]int{"": 1, string(class) + ": 2": 3, "any: 1": 2} {
				if (class == outerloop.ClassRefused || class == outerloop.ClassFatal) && retry != "" {
					continue // the machine never retries them: validation says so where they are named
				}
				t.Run(strings.Join([]string{string(class), rule, retry}, " "), func(t *testing.T) {
					t.Parallel()
					meets(t, class, "{retry: {"+retry+"}, then: "+rule+"}", classMeets{want.outcome, want.status, tries})
				})
			}
		}
	}
}

type classMeets struct {
	outcome outerloop.Outcome
	status  outerloop.Status
	tries   int
}

func meets(t *testing.T, class outerloop.Class, rule string, expected classMeets) {
	t.Helper()
	text := strings.Replace(draftLoop(strings.Replace(rule, "retry: {}, ", "", 1)), "  on_failure: {retry: {timeout: 1, transient: 2, invalid_output: 1}, then: skip}\n", "  on_failure: {then: skip}\n", 1)
	w := newWorld(t, files(text, nil))
	usual(w)
	count := failing(w, "writer", class, 99)
	run := start(t, w, `{"key":"a"}`)
	w.run(2*time.Hour, 1000)
	view := want(t, w, run, expected.status)
	if s := steps(view)["draft"]; s.Outcome != expected.outcome || *count != expected.tries {
		t.Errorf("draft is %s after %d tries: %+v", s.Outcome, *count, s)
	}
}

// R30: the backup takes over at an open breaker without a try of the first
// worker, and what both do with low confidence goes to a person.
func TestLowFromBothAsks(t *testing.T) {
	t.Parallel()
	text := strings.Replace(draftLoop("{then: halt}"), "worker: writer", "worker: writer\n    backup: backup", 1)
	w := newWorld(t, files(text, nil))
	usual(w)
	low := func(_ gate.Task, r *gate.Result) { r.Confidence, r.Reason = outerloop.ConfidenceLow, "a guess" }
	w.work["writer"] = worker{do: w.work["writer"].do, result: low}
	w.work["backup"] = worker{do: w.work["backup"].do, result: low}
	run := start(t, w, `{"key":"a"}`)
	w.run(time.Hour, 500)
	view := want(t, w, run, outerloop.StatusAwaitingApproval)
	if s := steps(view)["draft"]; s.Worker != "backup" || len(view.Waiting) != 1 {
		t.Errorf("draft is %+v, waiting %+v", s, view.Waiting)
	}
}

// Clocks that differ by minutes: a claim that another clock calls dead has one
// owner all the same, by its fence; the other can neither settle nor act (R26).
func TestClocksThatDiffer(t *testing.T) {
	t.Parallel()
	for _, ahead := range []time.Duration{-7 * time.Minute, 7 * time.Minute} {
		w := newWorld(t, files(sendLoop, nil))
		run := start(t, w, `{"key":"a"}`)
		first := byHand(t, w, run, "sender", "send", "first")
		if out := first.admit(); out.Decision != gate.Go {
			t.Fatalf("admit is %+v", out)
		}
		w.now = w.now.Add(ahead) // the second's clock
		second := byHand(t, w, run, "sender", "send", "second")
		owns := second.admit().Decision == gate.Go
		if owns != (ahead > 0) {
			t.Fatalf("%s ahead, the second owns it: %v", ahead, owns)
		}
		owner := first
		if owns {
			owner = second
			if out := first.begin(`{"text":"a"}`); out.Claim == gate.ClaimGo {
				t.Errorf("%s ahead: a superseded owner may act", ahead)
			}
			if out := first.settle(gate.SettleRequest{Result: sent}); out.Answered {
				t.Errorf("%s ahead: a superseded owner settles: %+v", ahead, out)
			}
		}
		if out := owner.begin(`{"text":"a"}`); out.Claim != gate.ClaimGo {
			t.Errorf("%s ahead: the owner may not act: %+v", ahead, out)
		}
		if out := owner.settle(gate.SettleRequest{Result: sent, Actions: done("a:send")}); !out.Answered || out.Verdict.Error != "" {
			t.Errorf("%s ahead: the owner settles: %+v", ahead, out)
		}
	}
}

// A result is looked at before it is kept for reuse: one that no record holds, or
// that is no JSON, leaves the outcome recorded, and why it is not there (R37).
func TestResultsAreCheckedBeforeTheyAreKept(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ result, kept, why string }{
		"as large as may be": {`"` + strings.Repeat("a", 64<<10-2) + `"`, `"` + strings.Repeat("a", 64<<10-2) + `"`, ""},
		"one byte more":      {`"` + strings.Repeat("a", 64<<10-1) + `"`, "", "65537 bytes is not kept"},
		"of many megabytes":  {`"` + strings.Repeat("ä", 4<<20) + `"`, "", "is not kept"},
		"no JSON":            {`{"id":`, "", "no JSON"},
	} {
		w := newWorld(t, files(sendLoop, nil))
		run := start(t, w, `{"key":"a"}`)
		a := byHand(t, w, run, "sender", "send", "first")
		a.admit()
		a.begin(`{"text":"a"}`)
		a.settle(gate.SettleRequest{Result: sent, Actions: []gate.ActionReport{{Entry: "a:send", Outcome: gate.ActionDone, Result: json.RawMessage(c.result)}}})
		list, err := w.coord.Actions(w.ctx, coordinator.ActionsQuery{})
		if err != nil || len(list) != 1 || list[0].State != "done" || string(list[0].Result) != c.kept || !strings.Contains(list[0].Reason, c.why) {
			t.Errorf("%s: %v, %.200v", name, err, list)
		}
	}
}

// What is cut is cut between characters: a rule's values and a cause with an
// emoji on the cut are text.
func TestCutsLieBetweenCharacters(t *testing.T) {
	t.Parallel()
	for pad := range 4 {
		w := newWorld(t, files(draftLoop("{then: halt}"), nil))
		usual(w)
		long := strings.Repeat("a", pad) + strings.Repeat("😀", 20_000)
		w.work["writer"] = worker{do: func(gate.Task) (any, *gate.Failure) {
			return nil, &gate.Failure{Class: outerloop.ClassFatal, Message: long}
		}}
		start(t, w, `{"key":"a"}`)
		w.run(time.Hour, 300)
		list, err := w.coord.Exceptions(w.ctx, coordinator.ExceptionsQuery{})
		if err != nil || len(list) != 1 {
			t.Fatalf("%+v, %v", list, err)
		}
		log, err := w.coord.Log(w.ctx, list[0].Run)
		if err != nil {
			t.Fatal(err)
		}
		texts := []string{list[0].Cause}
		for _, e := range log {
			texts = append(texts, e.Rule)
		}
		for _, text := range texts {
			if !utf8.ValidString(text) || strings.ContainsRune(text, utf8.RuneError) || len(text) > 40_000 {
				t.Errorf("padded by %d: %d bytes, ends in %q", pad, len(text), text[max(0, len(text)-12):])
			}
		}
	}
}

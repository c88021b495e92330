package coordinator_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/coordinator"
)

// Only people of the project act on runs, as only they decide.
func TestOnlyPeopleOfTheProjectAct(t *testing.T) {
	t.Parallel()
	w := newWorld(t, files(draftLoop("{then: halt}"), nil))
	usual(w)
	failing(w, "writer", outerloop.ClassFatal, 2)
	run := start(t, w, `{"key":"a"}`)
	w.run(time.Minute, 300)
	exc := exceptionOf(t, w)
	for name, act := range map[string]func(by string) error{
		"cancel": func(by string) error {
			_, err := w.coord.Cancel(w.ctx, coordinator.PersonRequest{Run: run, By: by})
			return err
		},
		"redrive": func(by string) error {
			_, err := w.coord.Redrive(w.ctx, coordinator.PersonRequest{Run: run, By: by})
			return err
		},
		"rollback": func(by string) error {
			_, err := w.coord.Rollback(w.ctx, coordinator.PersonRequest{Run: run, By: by})
			return err
		},
		"resolve": func(by string) error {
			_, err := w.coord.Resolve(w.ctx, coordinator.ResolveRequest{Exception: exc.ID, Way: coordinator.WayRetry, By: by})
			return err
		},
	} {
		for _, by := range []string{"stranger@evil.example", "leads", ""} {
			if err := act(by); err == nil || by != "" && !errors.Is(err, coordinator.ErrNotAllowed) {
				t.Errorf("%s by %q answers %v", name, by, err)
			}
		}
	}
	want(t, w, run, outerloop.StatusBlocked)
	said, err := w.coord.Resolve(w.ctx, coordinator.ResolveRequest{Exception: exc.ID, Way: coordinator.WayRetry, By: "ANN@example.com"})
	if err != nil || said.By != "ANN@example.com" {
		t.Errorf("ann's own word: %+v, %v", said, err)
	}
}

// A cancelled run says by whom and why, and asks nobody any more; a step that
// waited at the door names its worker.
func TestACancelledRunAsksNobody(t *testing.T) {
	t.Parallel()
	w := newWorld(t, files(eachLoop, nil))
	usual(w)
	run := start(t, w, `{"key":"a","ask":true}`)
	w.run(time.Minute, 500)
	view := want(t, w, run, outerloop.StatusAwaitingApproval)
	if s := steps(view)["deals[D-2]/send"]; len(view.Waiting) != 1 || s.Worker != "sender" {
		t.Errorf("waiting are %+v, the parked step is %+v", view.Waiting, s)
	}
	out, err := w.coord.Cancel(w.ctx, coordinator.PersonRequest{Run: run, By: "ann@example.com", Reason: "wrong list"})
	if err != nil || out.Reason != "cancelled by ann@example.com: wrong list" || len(out.Waiting) != 0 {
		t.Errorf("the cancelled run is %+v, %v", out, err)
	}
}

// Whoever does not run for want of another's output is told how that one ended.
func TestReasonsNameTheRealEnd(t *testing.T) {
	t.Parallel()
	const chain = loopHead + `
steps:
  deals:
    each: '[input.key]'
    as: deal
    key: ${deal}
    max_items: 5
    join: {need: 1, otherwise: skip}
    steps:
      qualify:
        worker: writer
        input: {text: "${deal}"}
        approval: {when: "true", ask: "Right?"}
      draft: {worker: writer, input: {text: "${qualify.text}"}}
      send: {worker: board, after: [draft], input: {n: "${draft.n}"}}
    output: {id: "${deal}"}
`
	reviewed := strings.Replace(chain, `        approval: {when: "true", ask: "Right?"}
      draft: {worker: writer, input: {text: "${qualify.text}"}}
`, `      draft:
        worker: writer
        input: {text: "${deal}"}
        review: {worker: checker, input: {text: "${output.text}"}, pass: verdict.faults.size() > 3, revisions: 0, otherwise: approve}
`, 1)
	for text, reason := range map[string]string{
		chain:    "needs deals/qualify, which ended declined",
		reviewed: "needs deals/draft, whose review ended declined",
	} {
		w := newWorld(t, files(text, nil))
		usual(w)
		run := start(t, w, `{"key":"a"}`)
		w.run(time.Minute, 500)
		if err := decide(w, asked(t, w), coordinator.Reject, "ann", ""); err != nil {
			t.Fatal(err)
		}
		w.run(time.Minute, 500)
		if s := steps(show(t, w, run))["deals[a]/send"]; s.Reason != reason {
			t.Errorf("send is %+v, want %s", s, reason)
		}
	}
}

// A wait for a time is open until then, for whoever looks.
func TestAWaitIsOpenWhileItWaits(t *testing.T) {
	t.Parallel()
	w := newWorld(t, files(strings.Replace(waitLoop, "deadline: 23h", "deadline: 5d", 1), map[string]string{"outerloop.yaml": eventsProject}))
	usual(w)
	run := start(t, w, `{"key":"a"}`)
	w.run(time.Hour, 300)
	view := show(t, w, run)
	s := steps(view)["pause"]
	if s.Status != outerloop.StepOpen || s.Outcome != "" || s.EndedAt != nil || !strings.HasPrefix(s.Reason, "waits until ") {
		t.Errorf("the wait is shown as %+v", s)
	}
	if view.Counts["completed"] != 1 {
		t.Errorf("counts are %v", view.Counts)
	}
	w.run(2*time.Hour, 300)
	if s := steps(show(t, w, run))["pause"]; s.Outcome != outerloop.OutcomeCompleted || s.EndedAt == nil {
		t.Errorf("after its time the wait is shown as %+v", s)
	}
}

// A step that is open after a failure shows that failure, not what its worker
// thought of the work.
func TestAnOpenStepShowsItsFailure(t *testing.T) {
	t.Parallel()
	w := newWorld(t, files(strings.Replace(draftLoop("{then: ask}"), `, n: 1}`, `, n: 1}
    accept: [{rule: output.n > 5, say: too few}]`, 1), nil))
	usual(w)
	run := start(t, w, `{"key":"a"}`)
	w.run(time.Minute, 300)
	if s := steps(show(t, w, run))["draft"]; s.Outcome != "" || !strings.Contains(s.Reason, "too few") {
		t.Errorf("draft is %+v", s)
	}
}

// What is decided because another step settled stands after it, and a block's
// end after its parts, although one write gives them one time.
func TestTheLogTellsCauseBeforeEffect(t *testing.T) {
	t.Parallel()
	w := newWorld(t, files(strings.NewReplacer("  plan:", "  scan:", "plan.items", "scan.items").Replace(eachLoop), nil))
	usual(w)
	run := start(t, w, `{"key":"a"}`)
	w.run(time.Hour, 1000)
	want(t, w, run, outerloop.StatusCompleted)
	log, err := w.coord.Log(w.ctx, run)
	if err != nil {
		t.Fatal(err)
	}
	at := func(step, kind string) int {
		return slices.IndexFunc(log, func(e coordinator.LogView) bool { return e.Step == step && e.Kind == kind })
	}
	last := []int{at("", "started"), at("scan", "settled"), at("deals", "decided"), at("deals[D-0]/send", "settled"), at("deals", "joined"), at("board", "settled"), at("", "closed")}
	if slices.Contains(last, -1) || !slices.IsSorted(last) || last[6] != len(log)-1 {
		t.Errorf("the order is %v of %+v", last, log)
	}
	if log[last[1]].At != log[last[2]].At {
		t.Error("the clock moved between what one write says: this test shows nothing")
	}
	if e := log[last[5]]; e.Input == "" || e.Output == "" { // R53
		t.Errorf("board's entry names no input or no output: %+v", e)
	}
}

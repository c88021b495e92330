package coordinator_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/gate"
)

const askLoop = loopHead + `
steps:
  draft:
    worker: writer
    input: {text: "${input.key}"}
    approval: {when: output.n > 0, ask: "Is ${output.text} good?"}
  send:
    worker: sender
    action: send
    input: {text: "${draft.text}"}
    approval: {ask: "Send ${draft.text}?"}
  board:
    worker: board
    after: [send]
    input: {n: 1}
output: {id: '${default(send.id, "")}'}
`

func asked(t testing.TB, w *world) coordinator.ApprovalView {
	t.Helper()
	list, err := w.coord.Approvals(w.ctx, coordinator.ApprovalsQuery{})
	if err != nil || len(list) != 1 {
		t.Fatalf("open approvals are %+v, %v\n%s", list, err, w.tail(30))
	}
	return list[0]
}

func decide(w *world, ap coordinator.ApprovalView, verdict, by, edit string) error {
	req := coordinator.DecideRequest{Approval: ap.ID, Verdict: verdict, By: by, Reason: "because"}
	if edit != "" {
		req.Edit = json.RawMessage(edit)
	}
	_, err := w.coord.Decide(w.ctx, req)
	return err
}

// An approval of work edits the output and does not run the handler again; one
// of an action comes first and edits the input (R46).
func TestApprovalsEditWorkAfterAndActionsBefore(t *testing.T) {
	t.Parallel()
	w := newWorld(t, files(askLoop, nil))
	usual(w)
	runs := map[string]int{}
	var sent string
	w.work["writer"] = worker{do: func(gate.Task) (any, *gate.Failure) {
		runs["writer"]++
		return map[string]any{"text": "hello", "n": 1}, nil
	}}
	w.work["sender"] = worker{do: func(t gate.Task) (any, *gate.Failure) {
		runs["sender"]++
		sent = string(t.Input)
		return map[string]any{"id": "sent"}, nil
	}}
	run := start(t, w, `{"key":"a"}`)
	w.run(time.Minute, 200)
	view := want(t, w, run, outerloop.StatusAwaitingApproval)
	if len(view.Waiting) != 1 || view.Waiting[0].Kind != "approval" || view.Waiting[0].Step != "draft" {
		t.Fatalf("waiting is %+v", view.Waiting)
	}
	ap := asked(t, w)
	if ap.Ask != "Is hello good?" || string(ap.Content) != `{"n":1,"text":"hello"}` || ap.Approvers[0] != "leads" {
		t.Errorf("the request is %+v", ap)
	}
	if err := decide(w, ap, coordinator.Approve, "eve@example.com", ""); !errors.Is(err, coordinator.ErrNotAllowed) {
		t.Errorf("a person who is no approver: %v", err)
	}
	var wrong *coordinator.InputError
	if err := decide(w, ap, coordinator.Approve, "bob", `{"text":7}`); !errors.As(err, &wrong) {
		t.Errorf("an edit that does not fit the schema: %v", err)
	}
	if err := decide(w, ap, coordinator.Approve, "bob@example.com", `{"text":"hello you","n":1}`); err != nil {
		t.Fatal(err)
	}
	var late *coordinator.DecidedError
	if err := decide(w, ap, coordinator.Reject, "ann", ""); !errors.As(err, &late) || late.By != "bob" || late.Decision != "approved" {
		t.Errorf("a late decision: %v", err)
	}
	w.run(time.Minute, 200)
	if runs["sender"] != 0 {
		t.Error("the action's handler ran before its approval")
	}
	ap = asked(t, w)
	if ap.Ask != "Send hello you?" || string(ap.Content) != `{"text":"hello you"}` {
		t.Errorf("the second request is %+v", ap)
	}
	if err := decide(w, ap, coordinator.Approve, "ann", `{"text":"dear you"}`); err != nil {
		t.Fatal(err)
	}
	w.run(time.Minute, 200)
	want(t, w, run, outerloop.StatusCompleted)
	if runs["writer"] != 1 || runs["sender"] != 1 || sent != `{"text":"dear you"}` {
		t.Errorf("handlers ran %v times, sent was %s", runs, sent)
	}
	if len(w.provider().effects) != 1 {
		t.Errorf("effects are %v", w.provider().effects)
	}
}

// Rejection and expiry each have a declared result; steps that need the output
// do not run and name the step (R13, R46).
func TestRejectedAndExpired(t *testing.T) {
	t.Parallel()
	for name, decideIt := range map[string]func(*world, coordinator.ApprovalView) error{
		"declined": func(w *world, ap coordinator.ApprovalView) error {
			return decide(w, ap, coordinator.Reject, "bob", "")
		},
		"skipped": func(w *world, _ coordinator.ApprovalView) error { w.run(5*time.Hour, 500); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, files(askLoop, nil))
			usual(w)
			run := start(t, w, `{"key":"a"}`)
			w.run(time.Minute, 200)
			if err := decideIt(w, asked(t, w)); err != nil {
				t.Fatal(err)
			}
			w.run(time.Minute, 200)
			got := steps(want(t, w, run, outerloop.StatusCompleted))
			if s := got["send"]; string(s.Outcome) != name {
				t.Errorf("send ended %s: %s", s.Outcome, s.Reason)
			}
			if s := got["board"]; s.Outcome != outerloop.OutcomeNotNeeded || s.Reason != "needs send, which ended "+name {
				t.Errorf("board ended %s: %s", s.Outcome, s.Reason)
			}
			if len(w.provider().effects) != 0 {
				t.Error("it was sent all the same")
			}
		})
	}
}

const reviewLoop = loopHead + `
steps:
  draft:
    worker: writer
    input: {text: "${input.key}"}
    limits:
      - {rule: output.n <= 10, otherwise: approve, say: Too much.}
      - {rule: output.n <= 100, otherwise: refuse, say: Never.}
    review: {worker: checker, input: {text: "${output.text}"}, pass: verdict.faults.size() == 0, revisions: 2, otherwise: approve}
  board:
    worker: board
    input: {n: "${draft.n}"}
output: {n: "${draft.n}"}
`

// A review sends the work back with its verdict; the same verdict twice ends
// it; all reasons make one request; the approved edit is what later steps read,
// and only `refuse` binds a person (R7, R44, R46).
func TestReviewRevisesThenAsksOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, files(reviewLoop, nil))
	usual(w)
	var feedback [][]gate.Feedback
	w.work["writer"] = worker{do: func(t gate.Task) (any, *gate.Failure) {
		feedback = append(feedback, t.Feedback)
		return map[string]any{"text": "draft", "n": 50}, nil
	}}
	verdicts := []string{"no greeting", "no name", "no name"}
	w.work["checker"] = worker{do: func(gate.Task) (any, *gate.Failure) {
		next := verdicts[0]
		verdicts = verdicts[1:]
		return map[string]any{"faults": []string{next}}, nil
	}}
	run := start(t, w, `{"key":"a"}`)
	w.run(time.Minute, 300)
	want(t, w, run, outerloop.StatusAwaitingApproval)
	if len(feedback) != 3 || len(feedback[1]) != 1 || string(feedback[1][0].Detail) != `{"faults":["no greeting"]}` {
		t.Errorf("the author was told %+v", feedback)
	}
	ap := asked(t, w)
	if ap.Step != "draft.review" || len(ap.Reasons) != 2 || ap.Reasons[0] != "Too much." {
		t.Errorf("the request is %+v", ap)
	}
	if err := decide(w, ap, coordinator.Approve, "bob", `{"text":"x","n":500}`); !errors.Is(err, coordinator.ErrInput) {
		t.Errorf("an edit beyond what is refused: %v", err)
	}
	if err := decide(w, ap, coordinator.Approve, "bob", `{"text":"x","n":70}`); err != nil {
		t.Fatal(err)
	}
	w.run(time.Minute, 300)
	view := want(t, w, run, outerloop.StatusCompleted)
	if string(view.Output) != `{"n":70}` {
		t.Errorf("output is %s", view.Output)
	}
	log, err := w.coord.Log(w.ctx, run)
	if err != nil || len(log) < 10 {
		t.Errorf("log is %+v, %v", log, err)
	}
}

// A refused limit is final, whatever the confidence (R44).
func TestRefusedLimit(t *testing.T) {
	t.Parallel()
	w := newWorld(t, files(reviewLoop, nil))
	usual(w)
	w.work["writer"] = worker{do: func(gate.Task) (any, *gate.Failure) { return map[string]any{"text": "draft", "n": 101}, nil }}
	run := start(t, w, `{"key":"a"}`)
	w.run(time.Minute, 300)
	view := show(t, w, run)
	if s := steps(view)["draft"]; s.Outcome != outerloop.OutcomeSkipped || s.Reason != "Worker.Refused: Never." || s.Attempts != 1 {
		t.Errorf("draft is %+v", s)
	}
}

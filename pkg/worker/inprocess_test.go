package worker_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/outerloop-dev/outerloop/pkg/gate"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// keeping is a gate that keeps what it was sent and answers what it holds.
type keeping struct {
	gate.Gate
	settled gate.SettleRequest
	task    gate.Task
}

func (k *keeping) Admit(context.Context, gate.AdmitRequest) (gate.AdmitAnswer, error) {
	return gate.AdmitAnswer{Decision: gate.Go, Task: &k.task}, nil
}

func (k *keeping) Settle(_ context.Context, req gate.SettleRequest) (gate.SettleAnswer, error) {
	k.settled = req
	return gate.SettleAnswer{Answered: true}, nil
}

// TestInProcessSharesNothing: neither side sees what the other does to its copy
// afterwards, and what arrives is what JSON would have brought.
func TestInProcessSharesNothing(t *testing.T) {
	t.Parallel()
	k := &keeping{task: gate.Task{
		Step: "s", Input: json.RawMessage(`{"a":1}`), Facts: map[string]json.RawMessage{"f": json.RawMessage(`"x"`)},
		Lease: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Feedback: []gate.Feedback{{From: "r", Faults: []string{"one"}}},
	}}
	g := worker.InProcess(k)
	answer, err := g.Admit(t.Context(), gate.AdmitRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&k.task, answer.Task); diff != "" {
		t.Errorf("the task that arrives:\n%s", diff)
	}
	answer.Task.Input[1], answer.Task.Facts["f"][1], answer.Task.Feedback[0].Faults[0] = '!', '!', "!"
	answer.Task.Facts["g"] = nil
	if string(k.task.Input) != `{"a":1}` || string(k.task.Facts["f"]) != `"x"` || len(k.task.Facts) != 1 || k.task.Feedback[0].Faults[0] != "one" {
		t.Errorf("the worker changed what the gate holds: %+v", k.task)
	}
	result := &gate.Result{Output: json.RawMessage(`[1]`), Reason: "bad \xff byte", Decisions: []string{"one"}}
	if _, err := g.Settle(t.Context(), gate.SettleRequest{Result: result}); err != nil {
		t.Fatal(err)
	}
	result.Output[1], result.Decisions[0] = '2', "two"
	if got := k.settled.Result; string(got.Output) != `[1]` || got.Decisions[0] != "one" || got.Reason != "bad \uFFFD byte" {
		t.Errorf("the gate holds what the worker changed, or text that is none: %+v", got)
	}
}

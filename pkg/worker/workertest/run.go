package workertest

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/gate"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// AsOf is the as-of time of a task that sets none.
var AsOf = time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)

// requests makes each invocation's request id unique.
var requests atomic.Int64

// Setup is what a worker is given; every field has a default.
type Setup struct {
	// Files are the file inputs by property.
	Files map[string][]byte
	// Connections by name.
	Connections map[string]worker.Connection
	Feedback    []gate.Feedback
	// Action is the step's business action.
	Action string
	AsOf   time.Time
	Visit  int
	// Gate is used instead of a new one, to look at its log or to lose answers.
	// Its Task is filled in.
	Gate *Gate
}

// Outcome is what the worker handed over: a result or a failure.
type Outcome struct {
	Result  *gate.Result
	Failure *gate.Failure
	Actions []gate.ActionReport
	Handled worker.Handled
	Gate    *Gate
}

// Run takes one task through a worker: admit, function, settle. It fails the
// test when nothing was settled.
func Run(t testing.TB, w worker.Worker, input any, s Setup) Outcome {
	t.Helper()
	raw, err := json.Marshal(input)
	if err != nil {
		t.Fatalf("encoding the input: %v", err)
	}
	g := s.Gate
	if g == nil {
		g = &Gate{}
	}
	g.Task = s.task(w, raw)
	handled, err := worker.Handle(context.Background(), worker.Invocation{
		Worker: w, Gate: worker.InProcess(g), Request: fmt.Sprintf("request-%d", requests.Add(1)),
		Delivery: gate.Delivery{Run: g.Task.Run, Gen: 1, Step: g.Task.Step},
		Env:      worker.Env{Connections: s.Connections, Files: s.files()},
	})
	if err != nil {
		t.Fatalf("handling the task: %v", err)
	}
	if len(g.Settled) == 0 {
		t.Fatalf("nothing was settled: %+v", handled)
	}
	last := g.Settled[len(g.Settled)-1]
	return Outcome{Result: last.Result, Failure: last.Failure, Actions: last.Actions, Handled: handled, Gate: g}
}

// Output decodes the result's output into a value of type Out; a failure of
// the worker fails the test.
func Output[Out any](t testing.TB, o Outcome) Out {
	t.Helper()
	var out Out
	if o.Failure != nil {
		t.Fatalf("the worker failed with %s: %s", o.Failure.Class, o.Failure.Message)
	}
	if err := json.Unmarshal(o.Result.Output, &out); err != nil {
		t.Fatalf("decoding the output: %v", err)
	}
	return out
}

func (s Setup) task(w worker.Worker, input json.RawMessage) *gate.Task {
	task := &gate.Task{
		Run: "run", Loop: "loop", Subject: "subject", Step: "step", Visit: max(s.Visit, 1), Attempt: 1, Fence: 1,
		Worker: w.Name(), AsOf: s.AsOf, Input: input, Feedback: s.Feedback, Action: s.Action, Files: map[string]string{},
	}
	if task.AsOf.IsZero() {
		task.AsOf = AsOf
	}
	for property := range s.Files {
		task.Files[property] = property
	}
	return task
}

func (s Setup) files() worker.Files {
	return &worker.BlobFiles{Get: func(_ context.Context, ref string) ([]byte, error) { return s.Files[ref], nil }}
}

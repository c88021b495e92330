package worker_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/outerloop-dev/outerloop/pkg/gate"
	"github.com/outerloop-dev/outerloop/pkg/worker"
	"github.com/outerloop-dev/outerloop/pkg/worker/workertest"
)

type ticket struct {
	Text string `json:"text"`
}

type answer struct {
	Length int `json:"length"`
}

// A worker is a function with a name and the contract that it speaks.
func ExampleNew() {
	count := worker.New("count", 1, func(_ context.Context, t worker.Task[ticket]) (worker.Result[answer], error) {
		if t.Input.Text == "" {
			return worker.Result[answer]{}, worker.MissingInput("the ticket has no text")
		}
		return worker.Result[answer]{Output: answer{len(t.Input.Text)}, Confidence: worker.High, Reason: "counted"}, nil
	})
	for _, input := range []string{`{"text":"Hello"}`, `{}`} {
		g := &workertest.Gate{Task: &gate.Task{Run: "run", Step: "count", Input: json.RawMessage(input)}}
		handled, err := worker.Handle(context.Background(), worker.Invocation{
			Worker: count, Gate: g, Request: "request-1", Delivery: gate.Delivery{Run: "run", Gen: 1, Step: "count"},
		})
		if err != nil {
			fmt.Println(err)
			return
		}
		if handled.Verdict.Error != "" {
			fmt.Println(handled.Verdict.Error, handled.Verdict.Cause)
			continue
		}
		fmt.Println(*handled.Verdict.Note.Outcome, string(g.Settled[0].Result.Output))
	}
	// Output:
	// completed {"length":5}
	// Worker.MissingInput the ticket has no text
}

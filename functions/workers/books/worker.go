// Package books is the worker books: it says of a month that its books are open
// or closed. The loop keeps that as the fact books/MONTH.
package books

import (
	"context"

	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// Input is the worker's input (schemas/input.json).
type Input struct {
	Month string `json:"month"`
	Open  bool   `json:"open"`
}

// Output is the fact (schemas/output.json).
type Output Input

// Worker is books.
var Worker = worker.New("books", 1, state)

func state(_ context.Context, t worker.Task[Input]) (worker.Result[Output], error) {
	res := worker.Result[Output]{Output: Output(t.Input), Confidence: worker.High, Reason: "As asked for."}
	word := "closed"
	if t.Input.Open {
		word = "open"
	}
	res.Evidence = []worker.Evidence{{Claim: "The books of " + t.Input.Month + " are to be " + word, Source: "input.open"}}
	return res, nil
}

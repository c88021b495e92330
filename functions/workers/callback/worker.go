// Package callback is the worker callback: it puts a call to a customer on the
// support team's list.
package callback

import (
	"context"

	"github.com/outerloop-dev/outerloop/functions/workers/internal/outside"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// Input is the worker's input (schemas/input.json).
type Input struct {
	Ticket string `json:"ticket"`
	Phone  string `json:"phone"`
	Topic  string `json:"topic"`
}

// Output is the entry of the list (schemas/output.json), and the action's result.
type Output struct {
	ID string `json:"id"`
	Input
}

// Connection is where the list is kept, one record each.
const Connection = "callbacks"

// Worker is callback.
var Worker = worker.New("callback", 1, list, worker.WithVerify(outside.Verify[Output](Connection)))

func list(ctx context.Context, t worker.Task[Input]) (worker.Result[Output], error) {
	var res worker.Result[Output]
	made, evidence, err := outside.Do(ctx, t, Connection, func(a worker.Action) (Output, error) {
		return Output{"CB-" + outside.Key(a.ProviderKey)[:10], t.Input}, nil
	})
	if err != nil {
		return res, err
	}
	res.Output, res.Evidence = made, evidence
	res.Confidence, res.Reason = worker.High, "The call is on the list."
	return res, nil
}

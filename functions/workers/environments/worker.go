// Package environments is the worker environments: it prepares the room that a
// booking's access code opens.
package environments

import (
	"context"
	"strings"

	"github.com/outerloop-dev/outerloop/functions/workers/internal/outside"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// Input is the worker's input (schemas/input.json).
type Input struct {
	Booking string `json:"booking"`
	Code    string `json:"code"`
}

// Output is the prepared room (schemas/output.json), and the action's result.
type Output struct {
	Booking string `json:"booking"`
	URL     string `json:"url"`
}

// Connection is where rooms are prepared, one record each.
const Connection = "rooms"

// Worker is environments.
var Worker = worker.New("environments", 1, prepare, worker.WithVerify(outside.Verify[Output](Connection)))

func prepare(ctx context.Context, t worker.Task[Input]) (worker.Result[Output], error) {
	var res worker.Result[Output]
	made, evidence, err := outside.Do(ctx, t, Connection, func(worker.Action) (Output, error) {
		room := strings.ToLower(t.Input.Booking)
		return Output{t.Input.Booking, "https://rooms.acme.example/" + room}, nil
	})
	if err != nil {
		return res, err
	}
	res.Output, res.Evidence = made, evidence
	res.Confidence, res.Reason = worker.High, "The room is prepared."
	return res, nil
}

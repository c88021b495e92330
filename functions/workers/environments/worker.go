// Package environments is the worker environments: it prepares the room that a
// booking's access code opens, and closes it.
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
	// Code is not needed to close.
	Code string `json:"code,omitempty"`
}

// Output is the room (schemas/output.json), and the action's result.
type Output struct {
	Booking string `json:"booking"`
	URL     string `json:"url"`
	State   string `json:"state"`
}

// The actions; each undoes the other's effect.
const (
	Prepare = "prepare-environment"
	Close   = "close-environment"
)

// Connection is where rooms are prepared, one record each.
const Connection = "rooms"

// Worker is environments.
var Worker = worker.New("environments", 1, change, worker.WithVerify(outside.Verify[Output](Connection)))

func change(ctx context.Context, t worker.Task[Input]) (worker.Result[Output], error) {
	var res worker.Result[Output]
	state, known := map[string]string{Prepare: "open", Close: "closed"}[t.Action]
	switch {
	case !known:
		return res, worker.Fatal("the action %q is none of a room's", t.Action)
	case t.Action == Prepare && t.Input.Code == "":
		return res, worker.MissingInput("a room is prepared for an access code")
	}
	made, evidence, err := outside.Do(ctx, t, Connection, func(worker.Action) (Output, error) {
		return Output{t.Input.Booking, "https://rooms.acme.example/" + strings.ToLower(t.Input.Booking), state}, nil
	})
	if err != nil {
		return res, err
	}
	res.Output, res.Evidence = made, evidence
	res.Confidence, res.Reason = worker.High, "The room is "+state+"."
	return res, nil
}

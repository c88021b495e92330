// Package accesscodes is the worker access-codes: it creates one access code
// for a booking. The code comes from the action's provider key, so that every
// try of one action gives the same code, and nobody can guess another's.
package accesscodes

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"fmt"

	"github.com/outerloop-dev/outerloop/functions/workers/internal/outside"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// Input is the worker's input (schemas/input.json).
type Input struct {
	Booking    string `json:"booking"`
	ValidUntil string `json:"valid_until"`
}

// Output is the code (schemas/output.json), and the action's result.
type Output struct {
	Booking    string `json:"booking"`
	Code       string `json:"code"`
	ValidUntil string `json:"valid_until"`
}

// Connection is where codes are kept, one record each.
const Connection = "access"

// Worker is access-codes.
var Worker = worker.New("access-codes", 1, create, worker.WithVerify(outside.Verify[Output](Connection)))

func create(ctx context.Context, t worker.Task[Input]) (worker.Result[Output], error) {
	var res worker.Result[Output]
	made, evidence, err := outside.Do(ctx, t, Connection, func(a worker.Action) (Output, error) {
		return Output{t.Input.Booking, code(a.ProviderKey), t.Input.ValidUntil}, nil
	})
	if err != nil {
		return res, err
	}
	res.Output, res.Evidence = made, evidence
	res.Confidence, res.Reason = worker.High, fmt.Sprintf("The code of %s is kept.", made.Booking)
	return res, nil
}

// code is eight letters and digits in two groups, without those that look alike.
func code(providerKey string) string {
	sum := sha256.Sum256([]byte("access code " + providerKey))
	text := base32.StdEncoding.EncodeToString(sum[:5])
	return text[:4] + "-" + text[4:]
}

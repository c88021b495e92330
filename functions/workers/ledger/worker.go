// Package ledger is the worker ledger: it releases an invoice and posts it, one
// entry each. Entries are never changed.
package ledger

import (
	"context"
	"strings"

	"github.com/outerloop-dev/outerloop/functions/workers/internal/outside"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// Input is the worker's input (schemas/input.json).
type Input struct {
	Supplier string  `json:"supplier"`
	Number   string  `json:"number"`
	Net      float64 `json:"net"`
	Tax      float64 `json:"tax"`
	Gross    float64 `json:"gross"`
	Currency string  `json:"currency"`
	// Month and Release are given to post.
	Month   string `json:"month,omitempty"`
	Release string `json:"release,omitempty"`
}

// Output is the entry (schemas/output.json), and the action's result.
type Output struct {
	ID       string  `json:"id"`
	Entry    string  `json:"entry"`
	Supplier string  `json:"supplier"`
	Number   string  `json:"number"`
	Gross    float64 `json:"gross"`
	Currency string  `json:"currency"`
	Month    string  `json:"month"`
}

// The actions.
const (
	Release = "release"
	Post    = "post"
)

// Connection is where entries are kept, one record each.
const Connection = "ledger"

// Worker is ledger.
var Worker = worker.New("ledger", 1, enter, worker.WithVerify(outside.Verify[Output](Connection)))

func enter(ctx context.Context, t worker.Task[Input]) (worker.Result[Output], error) {
	var res worker.Result[Output]
	if t.Action == Post && (t.Input.Month == "" || t.Input.Release == "") {
		return res, worker.MissingInput("to post takes the month and the release")
	}
	made, evidence, err := outside.Do(ctx, t, Connection, func(a worker.Action) (Output, error) {
		return Output{
			ID: strings.ToUpper(t.Action[:1]) + "-" + outside.Key(a.ProviderKey)[:8], Entry: t.Action,
			Supplier: t.Input.Supplier, Number: t.Input.Number, Gross: t.Input.Gross, Currency: t.Input.Currency, Month: t.Input.Month,
		}, nil
	})
	if err != nil {
		return res, err
	}
	res.Output, res.Evidence = made, evidence
	res.Confidence, res.Reason = worker.High, "The entry "+made.ID+" stands in the ledger."
	return res, nil
}

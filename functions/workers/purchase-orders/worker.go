// Package purchaseorders is the worker purchase-orders: it places an order with
// a supplier, once.
package purchaseorders

import (
	"context"

	"github.com/outerloop-dev/outerloop/functions/workers/internal/outside"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// Input is the worker's input (schemas/input.json).
type Input struct {
	Supplier string  `json:"supplier"`
	SKU      string  `json:"sku"`
	Qty      int     `json:"qty"`
	Total    float64 `json:"total"`
}

// Output is the order (schemas/output.json), and the action's result.
type Output struct {
	Order string `json:"order"`
	Input
}

// Connection is where orders are placed, one record each.
const Connection = "purchasing"

// Worker is purchase-orders.
var Worker = worker.New("purchase-orders", 1, place, worker.WithVerify(outside.Verify[Output](Connection)))

func place(ctx context.Context, t worker.Task[Input]) (worker.Result[Output], error) {
	var res worker.Result[Output]
	made, evidence, err := outside.Do(ctx, t, Connection, func(a worker.Action) (Output, error) {
		return Output{"PO-" + outside.Key(a.ProviderKey)[:8], t.Input}, nil
	})
	if err != nil {
		return res, err
	}
	res.Output, res.Evidence = made, evidence
	res.Confidence, res.Reason = worker.High, "The order "+made.Order+" is placed."
	return res, nil
}

// Package shoporder is the worker shop-order: it looks an order up in the shop.
package shoporder

import (
	"context"

	"github.com/outerloop-dev/outerloop/functions/workers/internal/shop"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// Input is the worker's input (schemas/input.json).
type Input struct {
	Order string `json:"order"`
}

// Worker is shop-order. Its output is the order (schemas/output.json).
var Worker = worker.New("shop-order", 1, look)

func look(_ context.Context, t worker.Task[Input]) (worker.Result[shop.Order], error) {
	var res worker.Result[shop.Order]
	c, err := t.Connection(shop.Connection)
	if res.Output, err = shop.Find(c, err, t.Input.Order); err != nil {
		return res, err
	}
	res.Confidence, res.Reason = worker.High, "The order as the shop has it."
	res.Evidence = []worker.Evidence{{Claim: "order " + res.Output.Order, Source: "input.order"}}
	return res, nil
}

// Package refund is the worker refund: it refunds an order once, never more
// than was paid, and only to whom it was sold.
package refund

import (
	"context"
	"strings"

	"github.com/outerloop-dev/outerloop/functions/workers/internal/outside"
	"github.com/outerloop-dev/outerloop/functions/workers/internal/shop"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// Input is the worker's input (schemas/input.json).
type Input struct {
	Order    string  `json:"order"`
	Customer string  `json:"customer"`
	Amount   float64 `json:"amount"`
	Reason   string  `json:"reason"`
}

// Output is the refund (schemas/output.json), and the action's result.
type Output struct {
	ID       string  `json:"id"`
	Order    string  `json:"order"`
	Amount   float64 `json:"amount"`
	Currency string  `json:"currency"`
}

// Connection is where refunds are made, one record each.
const Connection = "refunds"

// Worker is refund.
var Worker = worker.New("refund", 1, pay, worker.WithVerify(outside.Verify[Output](Connection)))

func pay(ctx context.Context, t worker.Task[Input]) (worker.Result[Output], error) {
	var res worker.Result[Output]
	in := t.Input
	c, err := t.Connection(shop.Connection)
	order, err := shop.Find(c, err, in.Order)
	if err != nil {
		return res, err
	}
	switch {
	case !strings.EqualFold(order.Customer, strings.TrimSpace(in.Customer)):
		return res, worker.Refused("order %s was not sold to %s", order.Order, in.Customer)
	case in.Amount > order.Paid:
		return res, worker.Refused("%s was paid for order %s, %s cannot be refunded",
			shop.Money(order.Paid, order.Currency), order.Order, shop.Money(in.Amount, order.Currency))
	}
	made, evidence, err := outside.Do(ctx, t, Connection, func(a worker.Action) (Output, error) {
		return Output{"R-" + outside.Key(a.ProviderKey)[:10], order.Order, in.Amount, order.Currency}, nil
	})
	if err != nil {
		return res, err
	}
	res.Output, res.Evidence = made, evidence
	res.Confidence, res.Reason = worker.High, shop.Money(made.Amount, made.Currency)+" were refunded for "+made.Order+"."
	return res, nil
}

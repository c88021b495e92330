// Package suppliera is the worker supplier-a: what the first supplier asks for
// an article, by its price list, which has prices by quantity.
package suppliera

import (
	"context"
	"encoding/json"
	"fmt"
	"math"

	"github.com/outerloop-dev/outerloop/functions/workers/internal/folder"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// Input is the worker's input (schemas/input.json).
type Input struct {
	SKU string `json:"sku"`
	Qty int    `json:"qty"`
}

// Offer is the worker's output (schemas/output.json).
type Offer struct {
	Qty   int     `json:"qty"`
	Total float64 `json:"total"`
	Days  int     `json:"days"`
}

// Connection is the supplier, List its price list there.
const (
	Connection = "supplier-a"
	List       = "prices.json"
)

// Worker is supplier-a.
var Worker = worker.New("supplier-a", 1, quote)

// article is an entry of the price list: tiers hold from a quantity upwards.
type article struct {
	Available bool `json:"available"`
	Days      int  `json:"days"`
	Tiers     []struct {
		From  int     `json:"from"`
		Price float64 `json:"price"`
	} `json:"tiers"`
}

func quote(_ context.Context, t worker.Task[Input]) (worker.Result[Offer], error) {
	var res worker.Result[Offer]
	supplier, err := folder.Of(t.Connection(Connection))
	if err != nil {
		return res, err
	}
	content, err := supplier.Read(List)
	if err != nil {
		return res, worker.Transient("%w", err)
	}
	var list map[string]article
	if err := json.Unmarshal(content, &list); err != nil {
		return res, worker.Transient("reading the price list: %w", err)
	}
	a, listed := list[t.Input.SKU]
	if !listed || !a.Available {
		return res, worker.Refused("supplier-a does not deliver %s", t.Input.SKU)
	}
	price := -1.0
	for _, tier := range a.Tiers {
		if t.Input.Qty >= tier.From {
			price = tier.Price
		}
	}
	if price < 0 {
		return res, worker.Refused("supplier-a delivers no %d of %s", t.Input.Qty, t.Input.SKU)
	}
	res.Output = Offer{t.Input.Qty, math.Round(price*float64(t.Input.Qty)*100) / 100, a.Days}
	res.Confidence, res.Reason = worker.High, "The price list says so."
	res.Evidence = []worker.Evidence{{Claim: fmt.Sprintf("%.2f EUR each", price), Source: "input.sku", At: List}}
	return res, nil
}

// Package shop reads the orders of the web shop.
package shop

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"strings"

	"github.com/outerloop-dev/outerloop/functions/workers/internal/folder"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// Order is an order of the shop.
type Order struct {
	Order    string  `json:"order"`
	Customer string  `json:"customer"`
	Item     string  `json:"item"`
	Paid     float64 `json:"paid"`
	Currency string  `json:"currency"`
	Status   string  `json:"status"`
	Ordered  string  `json:"ordered"`
}

// Connection is where the orders are.
const Connection = "shop"

const file = "orders.jsonl"

// Find reads an order by its number. Errors: missing_input when there is none,
// or none that can be used; transient when the shop does not answer.
func Find(c worker.Connection, err error, number string) (Order, error) {
	orders, err := folder.Of(c, err)
	if err != nil {
		return Order{}, err
	}
	var found *Order
	err = folder.Lines(orders, file, func(_ int, o Order) {
		o.Order, o.Customer, o.Status = strings.ToUpper(strings.TrimSpace(o.Order)), strings.ToLower(o.Customer), strings.ToLower(o.Status)
		usable := o.Order != "" && o.Customer != "" && o.Paid >= 0 && o.Currency != ""
		if usable && o.Order == strings.ToUpper(strings.TrimSpace(number)) {
			found = &o
		}
	}, func(int, string) {})
	if errors.Is(err, fs.ErrNotExist) {
		return Order{}, worker.Transient("the shop does not answer: %w", err)
	}
	if err != nil {
		return Order{}, err
	}
	if found == nil {
		return Order{}, worker.MissingInput("the shop has no order %q", number)
	}
	return *found, nil
}

// Money is an amount as people read it.
func Money(amount float64, currency string) string {
	return fmt.Sprintf("%.2f %s", math.Round(amount*100)/100, currency)
}

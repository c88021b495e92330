// Package invoicematcher is the worker invoice-matcher: it compares an invoice
// with the recorded purchase order and names every difference. It did not read
// the invoice and does not release it.
package invoicematcher

import (
	"context"
	"fmt"
	"math"
	"strings"
	"unicode"

	"github.com/outerloop-dev/outerloop/functions/workers/internal/invoice"
	orderlookup "github.com/outerloop-dev/outerloop/functions/workers/order-lookup"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// Input is the worker's input (schemas/input.json).
type Input struct {
	Supplier string             `json:"supplier"`
	Invoice  invoice.Invoice    `json:"invoice"`
	Order    orderlookup.Output `json:"order"`
	EUR      map[string]float64 `json:"eur"`
}

// Output is what was compared (schemas/output.json).
type Output struct {
	Matches     bool     `json:"matches"`
	GrossEUR    float64  `json:"gross_eur"`
	Differences []string `json:"differences"`
}

// Worker is invoice-matcher.
var Worker = worker.New("invoice-matcher", 1, match)

func match(_ context.Context, t worker.Task[Input]) (worker.Result[Output], error) {
	var res worker.Result[Output]
	rate, ok := t.Input.EUR[t.Input.Invoice.Currency]
	if !ok {
		return res, worker.MissingInput("there is no rate for %s", t.Input.Invoice.Currency)
	}
	out := &res.Output
	out.GrossEUR = math.Round(t.Input.Invoice.Gross*rate*100) / 100
	out.Differences = differences(t.Input)
	out.Matches = len(out.Differences) == 0
	res.Confidence, res.Reason = worker.High, "Number, supplier, currency and net amount were compared."
	res.Evidence = []worker.Evidence{
		{Claim: fmt.Sprintf("net %.2f %s", t.Input.Invoice.Net, t.Input.Invoice.Currency), Source: "input.invoice"},
		{Claim: fmt.Sprintf("ordered %.2f %s", t.Input.Order.Net, t.Input.Order.Currency), Source: "input.order"},
	}
	return res, nil
}

// cent is the least difference that counts.
const cent = 0.005

func differences(in Input) []string {
	if !in.Order.Found {
		if in.Invoice.OrderNumber == "" {
			return []string{"the invoice names no order"}
		}
		return []string{"there is no order " + in.Invoice.OrderNumber}
	}
	all := []string{}
	if plain(in.Supplier) != plain(in.Order.Supplier) {
		all = append(all, fmt.Sprintf("the order went to %s, the invoice comes from %s", in.Order.Supplier, in.Supplier))
	}
	switch {
	case in.Invoice.Currency != in.Order.Currency:
		all = append(all, fmt.Sprintf("ordered in %s, invoiced in %s", in.Order.Currency, in.Invoice.Currency))
	case in.Invoice.Net > in.Order.Net+cent:
		all = append(all, fmt.Sprintf("%.2f more than ordered (%.2f)", in.Invoice.Net-in.Order.Net, in.Order.Net))
	case in.Invoice.Net < in.Order.Net-cent:
		all = append(all, fmt.Sprintf("%.2f less than ordered (%.2f): a part delivery?", in.Order.Net-in.Invoice.Net, in.Order.Net))
	}
	return all
}

// plain is a company's name without case, spaces and punctuation.
func plain(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, name)
}

// Package paymentlookup is the worker payment-lookup: it asks the payment
// provider what became of a booking's payment. A webhook can be forged, late or
// about something that was taken back since; the provider's journal decides.
package paymentlookup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/outerloop-dev/outerloop/functions/workers/internal/folder"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// Input is the worker's input (schemas/input.json).
type Input struct {
	Booking string `json:"booking"`
}

// Output is what the provider knows (schemas/output.json).
type Output struct {
	Booking  string  `json:"booking"`
	Status   string  `json:"status"`
	Amount   float64 `json:"amount"`
	Currency string  `json:"currency"`
	PaidAt   string  `json:"paid_at"`
}

// None is the status of a booking that the provider's journal does not hold.
const None = "none"

// Connection is the connection to the provider; Journal is its file there, one
// entry a line.
const (
	Connection = "payments"
	Journal    = "journal.jsonl"
)

// Worker is payment-lookup.
var Worker = worker.New("payment-lookup", 1, lookUp)

// entry is a line of the journal. Amounts are in cents.
type entry struct {
	ID       string    `json:"id"`
	Booking  string    `json:"booking"`
	Status   string    `json:"status"`
	Cents    int64     `json:"amount"`
	Currency string    `json:"currency"`
	At       time.Time `json:"at"`
}

func lookUp(_ context.Context, t worker.Task[Input]) (worker.Result[Output], error) {
	var res worker.Result[Output]
	journal, err := folder.Of(t.Connection(Connection))
	if err != nil {
		return res, err
	}
	want := normal(t.Input.Booking)
	res.Output = Output{Booking: t.Input.Booking, Status: None}
	var last entry
	var at, unread int
	err = folder.Lines(journal, Journal, func(line int, e entry) {
		// Lines are in the order of arrival; what happened last holds.
		if normal(e.Booking) == want && (at == 0 || !e.At.Before(last.At)) {
			last, at = e, line
		}
	}, func(int, string) { unread++ })
	if errors.Is(err, fs.ErrNotExist) {
		return res, worker.Transient("%w", err) // the provider is down
	}
	if err != nil {
		return res, err
	}
	res.Confidence, res.Reason = worker.High, "The provider's journal says so."
	res.Evidence = []worker.Evidence{{Claim: "The journal holds nothing for this booking", Source: "input.booking"}}
	if at > 0 {
		res.Output.fill(last)
		res.Evidence = []worker.Evidence{{Claim: "The payment is " + res.Output.Status, Source: "input.booking", At: fmt.Sprintf("journal line %d, %s", at, last.ID)}}
	}
	if unread > 0 {
		res.Decisions = []string{fmt.Sprintf("%d lines of the journal cannot be read and were passed over.", unread)}
	}
	return res, nil
}

func (o *Output) fill(e entry) {
	o.Status, o.Amount, o.Currency = strings.ToLower(e.Status), float64(e.Cents)/100, strings.ToUpper(e.Currency)
	if o.Status == "confirmed" {
		o.PaidAt = e.At.Format(time.RFC3339)
	}
}

// normal is a booking's number as everybody means it: people type it in.
func normal(booking string) string { return strings.ToUpper(strings.TrimSpace(booking)) }

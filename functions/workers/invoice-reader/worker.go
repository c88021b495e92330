// Package invoicereader is the worker invoice-reader: it reads the text of a
// clean invoice. What it cannot read without guessing it does not hand over; a
// backup reads damaged scans.
package invoicereader

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/outerloop-dev/outerloop/functions/workers/internal/invoice"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// Input is the worker's input (schemas/input.json).
type Input struct {
	File string `json:"file"`
}

// Worker is invoice-reader.
var Worker = worker.New("invoice-reader", 1, read, worker.WithCheck(Check))

// largest bounds an invoice's text, in bytes.
const largest = 1 << 20

// Check refuses what cannot be the text of an invoice, before a run exists.
func Check(_ context.Context, in worker.CheckInput) error {
	if in.File.Size() == 0 || in.File.Size() > largest {
		return fmt.Errorf("%s has %d bytes; an invoice's text has 1 to %d", in.Name, in.File.Size(), largest)
	}
	return nil
}

func read(ctx context.Context, t worker.Task[Input]) (worker.Result[invoice.Invoice], error) {
	var res worker.Result[invoice.Invoice]
	text, err := Text(ctx, t)
	if err != nil {
		return res, err
	}
	reading, err := invoice.Parse(text)
	if err != nil {
		return res, Unusable(err)
	}
	res.Output, res.Evidence = reading.Invoice, Evidence(reading)
	res.Confidence, res.Reason = worker.High, "Every amount was read as it stands, and the sums agree."
	return res, nil
}

// Text is the invoice of a task.
func Text(ctx context.Context, t worker.Task[Input]) (string, error) {
	file, err := t.File(ctx, "file")
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }()
	content, err := io.ReadAll(io.LimitReader(worker.Reader(file), largest))
	if err != nil {
		return "", worker.Transient("reading the invoice: %w", err)
	}
	return string(content), nil
}

// Unusable is the failure of an invoice that cannot be read.
func Unusable(err error) error {
	var fault *invoice.Fault
	if errors.As(err, &fault) {
		return worker.InvalidOutput("%s", fault.Reason)
	}
	return err
}

// Evidence names the line of every value.
func Evidence(r invoice.Reading) []worker.Evidence {
	var all []worker.Evidence
	for _, place := range r.Places {
		all = append(all, worker.Evidence{Claim: place.What, Source: "input.file", At: fmt.Sprintf("line %d", place.Line)})
	}
	return all
}

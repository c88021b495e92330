// Package invoiceocr is the worker invoice-ocr, the backup of invoice-reader for
// damaged scans: where a letter stands in an amount, it reads the digit that
// looks like it. The sums must prove the reading, and a person looks at it.
package invoiceocr

import (
	"context"
	"fmt"

	"github.com/outerloop-dev/outerloop/functions/workers/internal/invoice"
	invoicereader "github.com/outerloop-dev/outerloop/functions/workers/invoice-reader"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// Worker is invoice-ocr.
var Worker = worker.New("invoice-ocr", 1, read)

func read(ctx context.Context, t worker.Task[invoicereader.Input]) (worker.Result[invoice.Invoice], error) {
	var res worker.Result[invoice.Invoice]
	text, err := invoicereader.Text(ctx, t)
	if err != nil {
		return res, err
	}
	reading, err := invoice.Lenient(text)
	if err != nil {
		return res, invoicereader.Unusable(err)
	}
	res.Output, res.Evidence = reading.Invoice, invoicereader.Evidence(reading)
	res.Confidence = worker.Medium
	res.Reason = fmt.Sprintf("%d characters were read as the digits they look like; the sums agree.", reading.Corrected)
	res.Decisions = []string{res.Reason}
	return res, nil
}

package invoicereader_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/outerloop-dev/outerloop/functions/workers/internal/invoice"
	invoiceocr "github.com/outerloop-dev/outerloop/functions/workers/invoice-ocr"
	invoicereader "github.com/outerloop-dev/outerloop/functions/workers/invoice-reader"
	"github.com/outerloop-dev/outerloop/pkg/worker"
	"github.com/outerloop-dev/outerloop/pkg/worker/workertest"
)

// The whole inbox: clean invoices are read as they stand, damaged scans only by
// the backup, and what does not add up or is no invoice by neither.
func TestInbox(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../../samples/invoice/inbox/*.txt")
	if err != nil || len(files) < 30 {
		t.Fatalf("%d invoices, %v", len(files), err)
	}
	damaged := map[string]bool{"08": true, "16": true, "27": true, "34": true}
	unusable := map[string]bool{"23": true, "31": true}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(file)
		clean, backup := read(t, invoicereader.Worker, content), read(t, invoiceocr.Worker, content)
		if failed := clean.Failure != nil; failed != (damaged[name[:2]] || unusable[name[:2]]) {
			t.Errorf("%s: reader %+v\n%s", name, clean.Failure, content)
		}
		if failed := backup.Failure != nil; failed != unusable[name[:2]] {
			t.Errorf("%s: backup %+v\n%s", name, backup.Failure, content)
		}
		if o := clean; o.Failure == nil && (o.Result.Confidence != worker.High || len(o.Result.Evidence) < 5) {
			t.Errorf("%s: %+v", name, o.Result)
		}
		if o := backup; o.Failure == nil && o.Result.Confidence != worker.Medium {
			t.Errorf("%s: %+v", name, o.Result)
		}
	}
}

func read(t *testing.T, w worker.Worker, content []byte) workertest.Outcome {
	t.Helper()
	return workertest.Run(t, w, map[string]string{"file": "f"}, workertest.Setup{Files: map[string][]byte{"file": content}})
}

func TestAmounts(t *testing.T) {
	t.Parallel()
	const head = "Rechnung Nr. R-7\n1 Stuhl 2 x\u00a0"
	for text, want := range map[string]float64{
		"1.250,00": 1250, "1,250.00": 1250, "1\u00a0250,00": 1250, "1'250.00": 1250, "1250,00": 1250, "0.99": 0.99, "12.345.678,90": 12345678.90,
	} {
		r, err := invoice.Parse(head + text + "\nNetto " + text + " EUR\nUSt 0,00\nBrutto " + text + "\n")
		if err != nil || r.Gross != want || r.Lines[0].Net != want {
			t.Errorf("%s: %+v, %v", text, r.Invoice, err)
		}
	}
	if _, err := invoice.Parse(head + "1.250,00\nNetto 1.250,0O EUR\nUSt 0,00\nBrutto 1.250,00\n"); err == nil {
		t.Error("a letter was read as a digit")
	}
}

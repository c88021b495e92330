package quotepicker_test

import (
	"os"
	"path/filepath"
	"testing"

	quotepicker "github.com/outerloop-dev/outerloop/functions/workers/quote-picker"
	suppliera "github.com/outerloop-dev/outerloop/functions/workers/supplier-a"
	supplierb "github.com/outerloop-dev/outerloop/functions/workers/supplier-b"
	"github.com/outerloop-dev/outerloop/pkg/worker"
	"github.com/outerloop-dev/outerloop/pkg/worker/workertest"
)

func TestPick(t *testing.T) {
	t.Parallel()
	none := quotepicker.Offer{Total: -1}
	for name, c := range map[string]struct {
		first, second quotepicker.Offer
		supplier      string
		confidence    worker.Confidence
	}{
		"cheaper":                {quotepicker.Offer{Qty: 20, Total: 100, Days: 9}, quotepicker.Offer{Qty: 20, Total: 120, Days: 1}, "supplier-a", worker.High},
		"cheaper each":           {quotepicker.Offer{Qty: 20, Total: 100, Days: 1}, quotepicker.Offer{Qty: 25, Total: 115, Days: 9}, "supplier-b", worker.High},
		"as dear, faster":        {quotepicker.Offer{Qty: 20, Total: 100, Days: 9}, quotepicker.Offer{Qty: 20, Total: 101, Days: 2}, "supplier-b", worker.High},
		"the same":               {quotepicker.Offer{Qty: 20, Total: 100, Days: 3}, quotepicker.Offer{Qty: 20, Total: 100, Days: 3}, "supplier-a", worker.High},
		"only the second":        {none, quotepicker.Offer{Qty: 20, Total: 100, Days: 3}, "supplier-b", worker.Low},
		"only the first":         {quotepicker.Offer{Qty: 20, Total: 100, Days: 3}, none, "supplier-a", worker.Low},
		"too good to be true":    {quotepicker.Offer{Qty: 20, Total: 10, Days: 3}, quotepicker.Offer{Qty: 20, Total: 100, Days: 3}, "supplier-a", worker.Low},
		"half as dear once more": {quotepicker.Offer{Qty: 20, Total: 151, Days: 3}, quotepicker.Offer{Qty: 20, Total: 100, Days: 3}, "supplier-b", worker.Low},
	} {
		o := workertest.Run(t, quotepicker.Worker, quotepicker.Input{First: c.first, Second: c.second}, workertest.Setup{})
		out := workertest.Output[quotepicker.Output](t, o)
		if out.Supplier != c.supplier || o.Result.Confidence != c.confidence || out.Because == "" {
			t.Errorf("%s: %+v, %s", name, out, o.Result.Confidence)
		}
	}
	if o := workertest.Run(t, quotepicker.Worker, quotepicker.Input{First: none, Second: none}, workertest.Setup{}); o.Failure == nil {
		t.Error("picked from nothing")
	}
}

func TestSuppliers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, content := range map[string]string{
		suppliera.List: `{"A-1":{"available":true,"days":3,"tiers":[{"from":10,"price":2.5},{"from":100,"price":2}]},"A-2":{"available":false,"tiers":[{"from":1,"price":1}]}}`,
		supplierb.List: "Artikel;VPE;Preis;Tage\n# ab November\n a-1;25;1.050,50;4\nA-2;10;auf Anfrage;2\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		w    worker.Worker
		sku  string
		qty  int
		want suppliera.Offer
	}{
		{suppliera.Worker, "A-1", 99, suppliera.Offer{Qty: 99, Total: 247.5, Days: 3}},
		{suppliera.Worker, "A-1", 100, suppliera.Offer{Qty: 100, Total: 200, Days: 3}},
		{suppliera.Worker, "A-1", 9, suppliera.Offer{}},
		{suppliera.Worker, "A-2", 9, suppliera.Offer{}},
		{suppliera.Worker, "A-3", 9, suppliera.Offer{}},
		{supplierb.Worker, "A-1", 26, suppliera.Offer{Qty: 50, Total: 2101, Days: 4}},
		{supplierb.Worker, "A-2", 1, suppliera.Offer{}},
		{supplierb.Worker, "A-3", 1, suppliera.Offer{}},
	} {
		conn := worker.Connection{Name: c.w.Name(), Kind: "files", Settings: map[string]string{"dir": dir}}
		o := workertest.Run(t, c.w, suppliera.Input{SKU: c.sku, Qty: c.qty}, workertest.Setup{Connections: map[string]worker.Connection{c.w.Name(): conn}})
		if refused := o.Failure != nil && string(o.Failure.Class) == "refused"; refused != (c.want.Qty == 0) {
			t.Errorf("%s, %d of %s: %+v", c.w.Name(), c.qty, c.sku, o.Failure)
		} else if !refused {
			if out := workertest.Output[suppliera.Offer](t, o); out != c.want {
				t.Errorf("%s, %d of %s: %+v, want %+v", c.w.Name(), c.qty, c.sku, out, c.want)
			}
		}
	}
}

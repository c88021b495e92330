package invoicematcher_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/outerloop-dev/outerloop/functions/workers/internal/invoice"
	invoicematcher "github.com/outerloop-dev/outerloop/functions/workers/invoice-matcher"
	orderlookup "github.com/outerloop-dev/outerloop/functions/workers/order-lookup"
	"github.com/outerloop-dev/outerloop/pkg/worker"
	"github.com/outerloop-dev/outerloop/pkg/worker/workertest"
)

// orders finds an order in a list that people have kept for a while.
func orders(t *testing.T, number string) orderlookup.Output {
	t.Helper()
	dir := t.TempDir()
	list := "\ufeffBestellung;Lieferant;Besteller;Währung;Netto\r\n" +
		"PO-7701;Müller Bürobedarf GmbH;Anna@Acme.Example;eur;1.250,00\r\n" +
		"kaputt;zu kurz\r\n\r\n" +
		"po 7702; Northgate  Supplies ;boris@acme.example;GBP;900,00\r\n" +
		"7702;Northgate Supplies;boris@acme.example;GBP;950,00\r\n" +
		"PO-7703;Storno AG;x@acme.example;EUR;n/a\r\n"
	if err := os.WriteFile(filepath.Join(dir, orderlookup.List), []byte(list), 0o600); err != nil {
		t.Fatal(err)
	}
	return workertest.Output[orderlookup.Output](t, workertest.Run(t, orderlookup.Worker, orderlookup.Input{Number: number}, workertest.Setup{
		Connections: map[string]worker.Connection{"orders": {Name: "orders", Kind: "files", Settings: map[string]string{"dir": dir}}},
	}))
}

func TestOrders(t *testing.T) {
	t.Parallel()
	for number, want := range map[string]orderlookup.Output{
		"PO-7701": {Number: "PO-7701", Found: true, Supplier: "Müller Bürobedarf GmbH", OrderedBy: "anna@acme.example", Currency: "EUR", Net: 1250},
		"PO-7702": {Number: "PO-7702", Found: true, Supplier: "Northgate Supplies", OrderedBy: "boris@acme.example", Currency: "GBP", Net: 950},
		"PO-7703": {Number: "PO-7703"},
		"PO-9999": {Number: "PO-9999"},
		"":        {},
	} {
		if got := orders(t, number); got != want {
			t.Errorf("%s: %+v", number, got)
		}
	}
}

func TestDifferences(t *testing.T) {
	t.Parallel()
	order := orders(t, "PO-7701")
	for name, c := range map[string]struct {
		change func(*invoicematcher.Input)
		says   string
	}{
		"the same":          {func(*invoicematcher.Input) {}, ""},
		"spelled apart":     {func(in *invoicematcher.Input) { in.Supplier = "MÜLLER-BÜROBEDARF, GmbH" }, ""},
		"a cent":            {func(in *invoicematcher.Input) { in.Invoice.Net += 0.01 }, "0.01 more than ordered"},
		"part delivery":     {func(in *invoicematcher.Input) { in.Invoice.Net -= 250 }, "a part delivery?"},
		"other supplier":    {func(in *invoicematcher.Input) { in.Supplier = "Müller KG" }, "the order went to"},
		"other currency":    {func(in *invoicematcher.Input) { in.Invoice.Currency = "CHF" }, "ordered in EUR, invoiced in CHF"},
		"unknown order":     {func(in *invoicematcher.Input) { in.Order = orderlookup.Output{} }, "there is no order PO-7701"},
		"no order at all":   {func(in *invoicematcher.Input) { in.Order = orderlookup.Output{}; in.Invoice.OrderNumber = "" }, "names no order"},
		"several at a time": {func(in *invoicematcher.Input) { in.Supplier = "X"; in.Invoice.Net = 1 }, "X; 1249.00 less"},
	} {
		in := invoicematcher.Input{
			Supplier: "Müller Bürobedarf GmbH", Order: order, EUR: map[string]float64{"EUR": 1, "CHF": 1.05},
			Invoice: invoice.Invoice{Number: "R-1", OrderNumber: "PO-7701", Currency: "EUR", Net: 1250, Tax: 237.5, Gross: 1487.5},
		}
		c.change(&in)
		out := workertest.Output[invoicematcher.Output](t, workertest.Run(t, invoicematcher.Worker, in, workertest.Setup{}))
		said := strings.Join(out.Differences, "; ")
		if out.Matches != (c.says == "") || !strings.Contains(said, c.says) {
			t.Errorf("%s: %+v", name, out)
		}
	}
	in := invoicematcher.Input{Supplier: "X", Invoice: invoice.Invoice{Currency: "USD"}, EUR: map[string]float64{"EUR": 1}}
	if o := workertest.Run(t, invoicematcher.Worker, in, workertest.Setup{}); o.Failure == nil || string(o.Failure.Class) != "missing_input" {
		t.Errorf("without a rate: %+v", o.Failure)
	}
}

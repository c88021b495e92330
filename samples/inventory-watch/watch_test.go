package inventorywatch_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/outerloop-dev/outerloop"
	purchaseorders "github.com/outerloop-dev/outerloop/functions/workers/purchase-orders"
	quotepicker "github.com/outerloop-dev/outerloop/functions/workers/quote-picker"
	stocklevel "github.com/outerloop-dev/outerloop/functions/workers/stock-level"
	suppliera "github.com/outerloop-dev/outerloop/functions/workers/supplier-a"
	supplierb "github.com/outerloop-dev/outerloop/functions/workers/supplier-b"
	"github.com/outerloop-dev/outerloop/internal/sampletest"
	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/worker"
	"github.com/outerloop-dev/outerloop/pkg/worker/workertest"
)

func world(t *testing.T) *sampletest.World {
	t.Helper()
	return sampletest.New(t, sampletest.Setup{
		Root: "../..", Now: time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC), Loops: []string{"inventory-watch"},
		Workers: []worker.Worker{stocklevel.Worker, suppliera.Worker, supplierb.Worker, quotepicker.Worker, purchaseorders.Worker},
	})
}

// low is what the probe finds in the shipped list.
func low(t *testing.T) []stocklevel.Item {
	t.Helper()
	o := workertest.Run(t, stocklevel.Worker, map[string]any{}, workertest.Setup{
		Connections: map[string]worker.Connection{"stock": {Name: "stock", Kind: "files", Settings: map[string]string{"dir": "stock"}}},
	})
	return workertest.Output[stocklevel.Output](t, o).Low
}

// S6: one run for each low article; an offer is enough, a large order and a
// doubtful offer ask a person, and without any offer the run asks (R4, R6).
func TestLowArticles(t *testing.T) {
	t.Parallel()
	w := world(t)
	runs := map[string]string{}
	for _, item := range low(t) {
		runs[item.SKU] = w.Start("inventory-watch", map[string]any{"item": item})
	}
	w.For(10 * time.Minute)
	waits := map[string]string{}
	for sku, run := range runs {
		view := w.Show(run)
		for _, wait := range view.Waiting {
			waits[sku] = wait.Kind + " " + wait.Step
		}
		if len(view.Waiting) == 0 && view.Status != outerloop.StatusCompleted {
			t.Errorf("%s is %s: %s", sku, view.Status, view.Reason)
		}
	}
	want := map[string]string{
		"AX-1004": "approval choose", // one of the prices cannot be right
		"AX-1015": "approval order",  // more than 1000 EUR
		"AX-1022": "approval choose", // supplier-b has no price
		"AX-1028": "approval choose", // supplier-a cannot deliver
		"AX-1034": "exception quote", // nobody lists it
		"AX-1041": "approval order",
	}
	if !maps.Equal(waits, want) {
		t.Errorf("waiting: %v, want %v", waits, want)
	}
	if made := w.Made("purchasing"); len(made) != 1 {
		t.Errorf("ordered without a question: %v", slices.Collect(maps.Keys(made)))
	}
	for _, sku := range []string{"AX-1015", "AX-1028"} {
		for len(w.Approvals(runs[sku])) > 0 {
			if err := w.Decide(w.Approvals(runs[sku])[0].ID, coordinator.Approve, "buyer"); err != nil {
				t.Fatal(err)
			}
		}
		if view := w.Show(runs[sku]); view.Status != outerloop.StatusCompleted {
			t.Errorf("%s after the approval is %s: %s", sku, view.Status, view.Reason)
		}
	}
	again := w.Start("inventory-watch", map[string]any{"item": low(t)[1]}) // AX-1015, seen again the same day
	w.For(time.Minute)
	for len(w.Approvals(again)) > 0 {
		if err := w.Decide(w.Approvals(again)[0].ID, coordinator.Approve, "buyer"); err != nil {
			t.Fatal(err)
		}
	}
	ordered := map[string]int{}
	for name := range w.Made("purchasing") {
		sku, _, _ := strings.Cut(name, "_")
		if ordered[sku]++; ordered[sku] > 1 {
			t.Errorf("%s was ordered twice", sku)
		}
	}
	if len(ordered) != 3 {
		t.Errorf("ordered: %v", ordered)
	}
}

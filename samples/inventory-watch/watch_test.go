package inventorywatch_test

import (
	"maps"
	"os"
	"path/filepath"
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

// world has the shipped list, or another directory instead of it.
func world(t *testing.T, stock string) *sampletest.World {
	t.Helper()
	return sampletest.New(t, sampletest.Setup{
		Root: "../..", Now: time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC), Loops: []string{"inventory-watch"},
		Workers: []worker.Worker{stocklevel.Worker, suppliera.Worker, supplierb.Worker, quotepicker.Worker, purchaseorders.Worker},
		Instead: map[string]string{"stock": stock},
	})
}

const header = "Artikel,Bezeichnung,Lager,Bestand,Minimum,Bestellmenge\n"

// While the stock is fine nothing starts. An article that becomes low starts one
// run, however often the probe sees it; restocked and low again it starts
// another, but not within the cool-down. A list that is not there starts nothing (R6).
func TestMonitor(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := world(t, dir)
	look := func(rows string) int {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, stocklevel.List), []byte(header+rows), 0o600); err != nil {
			t.Fatal(err)
		}
		w.Look("inventory-watch")
		w.For(29 * time.Minute)
		return len(w.Runs("inventory-watch"))
	}
	if err := w.Engine.Look(w.Context(), "inventory-watch", 0); err == nil || len(w.Runs("inventory-watch")) != 0 {
		t.Errorf("without a list: %v, %d runs", err, len(w.Runs("inventory-watch")))
	}
	const fine, low, both = "AX-1002,Dichtring,H1,9,5,20\n", "AX-1002,Dichtring,H1,4,5,20\n", "AX-1002,Dichtring,H1,4,5,20\nAX-1003,Schraube,H1,1,5,20\n"
	for i, c := range []struct {
		rows string
		runs int
	}{
		{fine, 0}, {fine, 0}, {low, 1}, {low, 1}, {both, 2}, {fine, 2}, {low, 2},
	} {
		if n := look(c.rows); n != c.runs {
			t.Errorf("look %d: %d runs, want %d", i+1, n, c.runs)
		}
	}
	w.For(6 * time.Hour)
	if n := look(low); n != 3 {
		t.Errorf("after the cool-down: %d runs", n)
	}
	if n := len(w.Made("purchasing")); n != 2 { // the third run finds the day's order
		t.Errorf("%d orders", n)
	}
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
	w := world(t, "stock")
	runs := map[string]string{}
	w.Look("inventory-watch")
	for subject, run := range w.Runs("inventory-watch") {
		sku, _, _ := strings.Cut(subject, "/")
		runs[sku] = run.ID
	}
	if len(runs) != len(low(t)) {
		t.Fatalf("%d runs for %d low articles", len(runs), len(low(t)))
	}
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

package crmscan_test

import (
	"os"
	"testing"

	crmscan "github.com/outerloop-dev/outerloop/functions/workers/crm-scan"
	"github.com/outerloop-dev/outerloop/pkg/worker/workertest"
)

func TestTry(t *testing.T) {
	content, _ := os.ReadFile("../../../exports/crm.csv")
	o := workertest.Run(t, crmscan.Worker, map[string]any{"file": "f", "as_of": "2026-11-30", "stale_after": "14d", "eur": map[string]float64{"USD": 0.92, "GBP": 1.17, "CHF": 1.05}},
		workertest.Setup{Files: map[string][]byte{"file": content}})
	out := workertest.Output[crmscan.Output](t, o)
	t.Logf("%+v", out.Totals)
	for _, r := range out.Rejected {
		t.Logf("%+v", r)
	}
}

package paymentlookup_test

import (
	"os"
	"path/filepath"
	"testing"

	paymentlookup "github.com/outerloop-dev/outerloop/functions/workers/payment-lookup"
	"github.com/outerloop-dev/outerloop/pkg/worker"
	"github.com/outerloop-dev/outerloop/pkg/worker/workertest"
)

func lookUp(t *testing.T, dir, booking string) workertest.Outcome {
	t.Helper()
	return workertest.Run(t, paymentlookup.Worker, paymentlookup.Input{Booking: booking}, workertest.Setup{
		Connections: map[string]worker.Connection{"payments": {Name: "payments", Kind: "files", Settings: map[string]string{"dir": dir}}},
	})
}

// What happened last holds, whatever the order of the lines and however the
// booking's number is written; a line that cannot be read is passed over.
func TestJournal(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	journal := `{"id":"p1","booking":"BK-1","status":"pending","amount":1250,"currency":"eur","at":"2026-11-30T08:00:00Z"}
{"id":"p2","booking":" bk-1","status":"CONFIRMED","amount":1250,"currency":"eur","at":"2026-11-30T10:00:00+01:00"}
{"id":"p0","booking":"BK-1","status":"failed","amount":1250,"currency":"eur","at":"2026-11-29T08:00:00Z"}
{"id":"p3","booking":"BK-2","stat
{"id":"p4","booking":"BK-12","status":"refunded","amount":900,"currency":"GBP","at":"2026-11-30T08:00:00Z"}
`
	if err := os.WriteFile(filepath.Join(dir, paymentlookup.Journal), []byte(journal), 0o600); err != nil {
		t.Fatal(err)
	}
	for booking, want := range map[string]paymentlookup.Output{
		"BK-1":  {Booking: "BK-1", Status: "confirmed", Amount: 12.50, Currency: "EUR", PaidAt: "2026-11-30T10:00:00+01:00"},
		"BK-12": {Booking: "BK-12", Status: "refunded", Amount: 9, Currency: "GBP"},
		"BK-2":  {Booking: "BK-2", Status: paymentlookup.None},
	} {
		o := lookUp(t, dir, booking)
		if out := workertest.Output[paymentlookup.Output](t, o); out != want || len(o.Result.Evidence) != 1 || len(o.Result.Decisions) != 1 {
			t.Errorf("%+v, want %+v; %+v", out, want, o.Result)
		}
	}
}

func TestProviderIsDown(t *testing.T) {
	t.Parallel()
	if o := lookUp(t, t.TempDir(), "BK-1"); o.Failure == nil || string(o.Failure.Class) != "transient" {
		t.Errorf("%+v", o.Failure)
	}
}

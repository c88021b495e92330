package refund_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/outerloop-dev/outerloop/functions/workers/refund"
	"github.com/outerloop-dev/outerloop/pkg/worker"
	"github.com/outerloop-dev/outerloop/pkg/worker/workertest"
)

func setup(dir string) workertest.Setup {
	return workertest.Setup{Action: "refund", Gate: &workertest.Gate{}, Connections: map[string]worker.Connection{
		"shop":    {Name: "shop", Kind: "files", Settings: map[string]string{"dir": "../../../samples/support-agent/shop"}},
		"refunds": {Name: "refunds", Kind: "files", Settings: map[string]string{"dir": dir}},
	}}
}

func made(t *testing.T, dir string) int {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	return len(files)
}

// An order is refunded once, also when the answer was lost (R37).
func TestRefundedOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := setup(dir)
	in := refund.Input{Order: "A-1012", Customer: "Bert.Olsen@mail.example", Amount: 225, Reason: "cracked"}
	first := workertest.Output[refund.Output](t, workertest.Run(t, refund.Worker, in, s))
	entry := s.Gate.Log["run:refund"]
	entry.State, entry.Result = "unknown", nil
	again := workertest.Output[refund.Output](t, workertest.Run(t, refund.Worker, in, s))
	if first != again || made(t, dir) != 1 || first.Currency != "EUR" {
		t.Errorf("%+v and %+v, %d refunds", first, again, made(t, dir))
	}
}

func TestRefundsWithinTheOrderOnly(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		in    refund.Input
		class string
	}{
		"more than paid":   {refund.Input{Order: "A-1012", Customer: "bert.olsen@mail.example", Amount: 225.01}, "refused"},
		"another customer": {refund.Input{Order: "A-1012", Customer: "gus.hale@mail.example", Amount: 10}, "refused"},
		"no such order":    {refund.Input{Order: "A-9999", Customer: "gus.hale@mail.example", Amount: 10}, "missing_input"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "refunds")
			o := workertest.Run(t, refund.Worker, c.in, setup(dir))
			if o.Failure == nil || string(o.Failure.Class) != c.class || made(t, dir) != 0 {
				t.Errorf("%+v, %d refunds", o.Failure, made(t, dir))
			}
			if _, err := os.Stat(dir); !os.IsNotExist(err) {
				t.Errorf("the refunds were touched: %v", err)
			}
		})
	}
}

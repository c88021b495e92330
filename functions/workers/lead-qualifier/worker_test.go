package leadqualifier_test

import (
	"strings"
	"testing"

	leadqualifier "github.com/outerloop-dev/outerloop/functions/workers/lead-qualifier"
	"github.com/outerloop-dev/outerloop/pkg/worker"
	"github.com/outerloop-dev/outerloop/pkg/worker/workertest"
)

func deal(change func(*leadqualifier.Deal)) leadqualifier.Input {
	d := leadqualifier.Deal{
		ID: "D-1", Contact: "Ana Gómez", ContactStatus: "approved", Stage: "proposal", AmountEUR: 3000, IdleDays: 40,
	}
	d.Source.Row = 17
	change(&d)
	return leadqualifier.Input{Deal: d}
}

func TestScorecard(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name   string
		change func(*leadqualifier.Deal)
		result string
		score  int
		reason string
	}{
		{"a good deal", func(*leadqualifier.Deal) {}, "qualified", 9, "9 of 10 points"},
		{"just enough", func(d *leadqualifier.Deal) { d.AmountEUR, d.Stage, d.IdleDays = 2500, "lead", 120; d.Contact = "A" }, "qualified", 6, "6 are enough"},
		{"between the limits", func(d *leadqualifier.Deal) { d.AmountEUR, d.Stage, d.IdleDays = 2499.99, "lead", 120 }, "needs_review", 5, "a person decides"},
		{"too little", func(d *leadqualifier.Deal) { d.AmountEUR, d.Stage, d.IdleDays = 900, "lead", 121 }, "unqualified", 4, "it takes 5"},
		{"too small", func(d *leadqualifier.Deal) { d.AmountEUR = 499.99 }, "unqualified", 7, "below EUR 500.00"},
		{"not approved", func(d *leadqualifier.Deal) { d.ContactStatus = "pending" }, "unqualified", 9, "pending, not approved"},
		{"opted out", func(d *leadqualifier.Deal) { d.ContactStatus = "opted_out" }, "unqualified", 9, "opted_out, not approved"},
		{"no name, old", func(d *leadqualifier.Deal) { d.Contact, d.IdleDays = "", 241 }, "needs_review", 5, "5 of 10"},
		{"large", func(d *leadqualifier.Deal) { d.AmountEUR = 10000 }, "qualified", 10, "10 of 10"},
	}
	for _, c := range cases {
		o := workertest.Run(t, leadqualifier.Worker, deal(c.change), workertest.Setup{})
		out := workertest.Output[leadqualifier.Output](t, o)
		if out.Result != c.result || out.Score != c.score || out.Of != 10 || !strings.Contains(out.Reason, c.reason) {
			t.Errorf("%s: %s with %d of %d: %s", c.name, out.Result, out.Score, out.Of, out.Reason)
		}
		sum := 0
		for _, line := range out.Criteria {
			sum += line.Points
		}
		if sum != out.Score || len(o.Result.Evidence) != len(out.Criteria) || !strings.HasPrefix(o.Result.Evidence[0].At, "row 17, ") {
			t.Errorf("%s: criteria %+v, evidence %+v", c.name, out.Criteria, o.Result.Evidence)
		}
		if high := o.Result.Confidence == worker.High; high == (c.result == "needs_review") || o.Result.Reason == "" {
			t.Errorf("%s: confidence %s, %q", c.name, o.Result.Confidence, o.Result.Reason)
		}
	}
}

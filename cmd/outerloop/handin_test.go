package main

import (
	"os"
	"strings"
	"testing"

	"github.com/outerloop-dev/outerloop/cmd/outerloop/cli"
)

const payment = `{"id": "evt_9000", "type": "payment.confirmed", "created": "2026-11-30T08:29:09+01:00", "booking": "BK-1042",
 "name": "Ana Gómez", "email": "ana.gomez@firma.example", "session_end": "2026-12-06T10:30:00+01:00"}`

// A webhook's delivery that is handed in starts the loops that listen, once; an
// event that is handed in ends waits, and is one event under its id (R11, R62).
func TestHandingIn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first := object(t, b.want(0, "webhook", "payments", "--body", payment, "--header", "X-Request-Id: 1", "-o", "json").out)
	if runs := first["runs"].([]any); len(runs) != 1 || first["duplicate"] != false {
		t.Errorf("the first delivery: %v", first)
	}
	again := object(t, b.want(0, "webhook", "payments", "--body", payment, "-o", "json").out)
	if runs := again["runs"].([]any); len(runs) != 0 || again["duplicate"] != true {
		t.Errorf("the same delivery again: %v", again)
	}
	b.want(0, "webhook", "payments", "--body", strings.Replace(payment, "payment.confirmed", "payment.refunded", 1)).has(t, "no run:")
	b.want(cli.ExitUsage, "webhook", "payments", "--body", `{"type": "payment.confirmed"}`).has(t, "/booking is required")

	closed := []string{"emit", "session.closed", "--data", `{"booking": "BK-1042", "closed_at": "2026-12-06T10:45:00+01:00"}`, "--id", "s-1"}
	b.want(0, closed...).has(t, "handed in")
	b.want(0, closed...).has(t, "handed in before")

	b.want(cli.ExitUsage, "webhook", "payment", "--body", payment).has(t, "did you mean payments?")
	b.want(cli.ExitUsage, "webhook", "payments", "--body", payment, "--header", "oops").has(t, "is no header")
	b.want(cli.ExitUsage, "emit", "session.close", "--data", "{}").has(t, "did you mean session.closed?")
	b.want(cli.ExitUsage, "emit", "session.closed", "--data", "{}").has(t, "/booking is required", "its schema is")
	b.want(cli.ExitUsage, "emit", "session.closed", "--data", "{").has(t, "is not JSON")
	b.want(cli.ExitUsage, "emit", "session.closed", "--data", "nothing.json").has(t, "there is no such file")
	b.want(cli.ExitUsage, "emit", "session.closed").has(t, "--data is missing")
}

// What starts runs by itself refuses a changed meaning under an unchanged
// version, as run does, with the remedy.
func TestWhatStartsRunsRefusesAChangedMeaning(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.edit("statemachines/booking.loop.yaml", "version: 1", "version: 1 # changed below")
	b.edit("statemachines/booking.loop.yaml", "overlap: allow", "overlap: queue")
	for _, command := range [][]string{{"dev"}, {"webhook", "payments", "--body", payment}, {"emit", "session.closed", "--data", `{"booking": "BK-1042", "closed_at": "2026-12-06T10:45:00+01:00"}`}} {
		b.want(cli.ExitUsage, command...).has(t, "E260", "Write version 2", "nothing was started", "outerloop compile")
	}
	if runs := list(t, b.want(0, "runs", "-o", "json").out); len(runs) != 0 {
		t.Errorf("%d runs were started", len(runs))
	}
}

// A run whose sub-loop is blocked did not do its work: it exits as that run
// would, and names it.
func TestRunExitsAsItsSubLoopStands(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.edit("statemachines/quarterly-analysis.loop.yaml", "version: 1", "version: 2")
	b.edit("statemachines/quarterly-analysis.loop.yaml", "output.gaps.size() == input.missing.size()", "output.gaps.size() < 0")
	b.want(0, "compile", "quarterly-analysis")
	run := []string{"run", "quarterly-report", "--input", "samples/quarterly-report/quarter.json", "--as-of", "2026-10-01"}
	b.want(cli.ExitFailed, run...).has(t, "Waits for sub-loops", "quarterly-analysis-", "blocked", "show quarterly-analysis-")
	b.want(cli.ExitFailed, run...).has(t, "duplicate of", "Waits for sub-loops")
}

// A file that an event names is the project's: the run gets its content. One that
// is not there, or lies outside, starts nothing.
func TestAnEventBringsAFile(t *testing.T) {
	t.Parallel()
	b := setup(t)
	emit := func(number, file string) answer {
		return b.want(0, "emit", "invoice.uploaded", "--id", number, "--data",
			`{"supplier": "S-9", "number": "`+number+`", "file": "`+file+`", "by": "scan@acme.example"}`)
	}
	inbox, err := os.ReadDir("../../samples/invoice/inbox")
	if err != nil || len(inbox) == 0 {
		t.Fatal(err)
	}
	emit("N-1", "samples/invoice/inbox/none.txt")
	emit("N-2", "../outside.txt")
	if runs := list(t, b.want(0, "runs", "-o", "json").out); len(runs) != 0 {
		t.Errorf("without its file: %v", runs)
	}
	emit("N-3", "samples/invoice/inbox/"+inbox[0].Name())
	runs := list(t, b.want(0, "runs", "-o", "json").out)
	if len(runs) != 1 || runs[0]["subject"] != "S-9/N-3" {
		t.Fatalf("with its file: %v", runs)
	}
}

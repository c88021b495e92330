package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/outerloop-dev/outerloop/cmd/outerloop/cli"
)

// made counts the records that workers made over a connection.
func (b *bundle) made(connection string) int {
	b.t.Helper()
	entries, err := os.ReadDir(filepath.Join(b.dir, ".outerloop", connection))
	if err != nil && !os.IsNotExist(err) {
		b.t.Fatal(err)
	}
	return len(entries)
}

// S3, S5, S6: the commands of their READMEs, and the same again: a duplicate
// does nothing twice (R37, R38). The samples' own tests run whole days.
func TestSamplesRun(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		loop, input string
		makes       map[string]int
		says        string
	}{
		{"support-triage", "samples/support-triage/request.json", map[string]int{"helpdesk": 1}, "completed"},
		{"booking", "samples/booking/booking.json", map[string]int{"access": 1, "rooms": 1, "outbox": 1}, "nothing can move before 2036-05-14"},
		{"inventory-watch", "samples/inventory-watch/low-item.json", map[string]int{"purchasing": 1}, "completed"},
	} {
		t.Run(c.loop, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			for _, says := range []string{c.says, "duplicate of"} {
				b.want(0, "run", c.loop, "--input", c.input, "--as-of", "2026-11-30").has(t, says)
			}
			for connection, n := range c.makes {
				if got := b.made(connection); got != n {
					t.Errorf("%s holds %d records, want %d", connection, got, n)
				}
			}
		})
	}
}

// S10: a large invoice takes two people, and neither may be who sent it.
func TestInvoice(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.want(0, "run", "month-end", "--input", "samples/invoice/open-books.json").has(t, "completed")
	b.want(cli.ExitWaiting, "run", "invoice", "--input", "samples/invoice/invoice.json").has(t, "Release 26484.85 EUR")
	id := list(t, b.want(0, "approvals", "-o", "json").out)[0]["id"].(string)
	b.want(1, "approve", id, "--by", "ops@acme.example", "--reason", "mine").has(t, "not allowed to this person")
	b.want(0, "approve", id, "--by", "carla@acme.example", "--reason", "checked").has(t, "more people must approve")
	if n := b.made("ledger"); n != 0 {
		t.Fatalf("the ledger holds %d entries after one approval", n)
	}
	b.want(0, "approve", id, "--by", "me@example.com", "--reason", "checked").has(t, "release  completed")
	if n := b.made("ledger"); n == 0 { // the posting follows in the month whose books are open
		t.Error("the ledger holds no release")
	}
}

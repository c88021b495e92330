package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/outerloop-dev/outerloop/cmd/outerloop/cli"
)

func (b *bundle) quarterly(code int) answer {
	b.t.Helper()
	return b.want(code, "run", "quarterly-report", "--input", "samples/quarterly-report/quarter.json", "--as-of", "2026-10-01")
}

func (b *bundle) documents() []string {
	b.t.Helper()
	files, err := filepath.Glob(filepath.Join(b.dir, ".outerloop/documents/*.json"))
	if err != nil {
		b.t.Fatal(err)
	}
	return files
}

// S8: three levels of loops; what is published waits for two people, and one
// person is not two (R10).
func TestQuarterlyReport(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.quarterly(cli.ExitWaiting).has(t, "topics/patents", "Publish the report for 2026-Q3?")
	loops := map[string]int{}
	for _, run := range list(t, b.want(0, "runs", "-o", "json").out) {
		loops[run["loop"].(string)]++
	}
	if len(loops) != 4 || loops["research-topic"] != 3 || loops["quarterly-writing"] != 1 {
		t.Errorf("runs by loop: %v", loops)
	}
	id := list(t, b.want(0, "approvals", "-o", "json").out)[0]["id"].(string)
	for range 2 {
		b.want(0, "approve", id, "--by", "chief@acme.example", "--reason", "checked").has(t, "more people must approve")
	}
	if n := len(b.documents()); n != 0 {
		t.Fatalf("%d documents after one person's approval", n)
	}
	b.want(0, "approve", id, "--by", "strategy@acme.example", "--reason", "checked")
	b.quarterly(0).has(t, "duplicate of", "completed")
	if n := len(b.documents()); n != 1 {
		t.Errorf("%d documents", n)
	}
}

// A topic that cannot be researched is a person's decision; closed, the report
// is made of the other two and says what is missing (R4).
func TestQuarterlyReportWithoutATopic(t *testing.T) {
	t.Parallel()
	b := setup(t)
	if err := os.Remove(filepath.Join(b.dir, "samples/quarterly-report/records/patents.csv")); err != nil {
		t.Fatal(err)
	}
	cli.Run(t.Context(), program(), cli.Streams{Out: &strings.Builder{}, Err: &strings.Builder{}, Dir: b.dir},
		"run", "quarterly-report", "--input", "samples/quarterly-report/quarter.json", "--as-of", "2026-10-01")
	open := list(t, b.want(0, "exceptions", "-o", "json").out)
	if len(open) != 1 {
		t.Fatalf("%d exceptions: %v", len(open), open)
	}
	b.want(0, "resolve", open[0]["id"].(string), "close", "--by", "analyst@acme.example", "--reason", "the patent office sent nothing")
	b.want(0, "approvals").has(t, "Missing: patents", "The topic patents is missing.")
}

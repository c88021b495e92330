package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/outerloop-dev/outerloop/cmd/outerloop/cli"
)

// Rows that cannot be used are never dropped silently: run and show say how many
// there are, log says of each which and why.
func TestRejectedRowsAreSeen(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.run(cli.ExitWaiting).has(t, "Left to the owner", "26 of 320 rows that were rejected", "first row 7 (E-mail is empty)", "outerloop log crm-followup-")
	b.want(0, "show").has(t, "26 of 320 rows that were rejected")
	b.want(0, "log").has(t, "26 of 320 rows were rejected.", "Row 7 was rejected: E-mail is empty.", `Row 127 was rejected: Stage "Stalled" is not a stage.`)
}

// An export of which no row can be used is an exception, not a completed run.
func TestExportOfRejectedRows(t *testing.T) {
	t.Parallel()
	b := setup(t)
	export, err := os.ReadFile(filepath.Join(b.dir, "exports/crm.csv"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(export), "\n")
	at := slices.IndexFunc(lines, func(line string) bool { return strings.Contains(line, "Stalled") })
	if err := os.WriteFile(filepath.Join(b.dir, "bad.csv"), []byte(lines[0]+lines[at]), 0o644); err != nil {
		t.Fatal(err)
	}
	b.want(cli.ExitFailed, "run", "crm-followup", "--input", "bad.csv", "--as-of", "2026-11-30").
		has(t, "blocked", `none of the 1 rows of the export can be used: 1 for Stage, first row 2 (Stage "Stalled" is not a stage)`, "outerloop resolve ")
}

// A line break in a subject is refused at the edit, before anything is sent.
func TestEditWithALineBreak(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.run(cli.ExitWaiting)
	waiting := list(t, b.want(0, "approvals", "-o", "json").out)
	i := slices.IndexFunc(waiting, func(d document) bool { return strings.HasSuffix(d["step"].(string), "/send") })
	for field, text := range map[string]string{"subject": "One\nBcc: two@firm.example", "to": "one@firm.example\r\nBcc: two@firm.example"} {
		content := document{}
		for key, value := range waiting[i]["content"].(document) {
			content[key] = value
		}
		content[field] = text
		edited, err := json.Marshal(content)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(b.dir, "mail.json"), edited, 0o644); err != nil {
			t.Fatal(err)
		}
		b.want(cli.ExitUsage, "approve", waiting[i]["id"].(string), "--edit", "mail.json", "--by", "lead@acme.example", "--reason", "r").has(t, "/"+field)
	}
}

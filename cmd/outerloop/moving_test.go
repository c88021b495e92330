package main

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/outerloop-dev/outerloop/cmd/outerloop/cli"
)

// A run that waits for people is moved to another machine: decisions are taken
// there, no mail is sent twice, and where it came from nothing moves any more.
func TestMove(t *testing.T) {
	t.Parallel()
	here, there := setup(t), setup(t)
	here.run(cli.ExitWaiting)
	waiting := list(t, here.want(0, "approvals", "-o", "json").out)
	first := waiting[0]["id"].(string)
	here.want(0, "approve", first, "--by", "lead@acme.example", "--reason", "checked")
	sent := here.outbox()

	exported := object(t, here.want(0, "export", "move.jsonl", "-o", "json").out)
	if counts := exported["counts"].(map[string]any); counts["open"] != 1.0 || counts["waiting"] != float64(len(waiting)-1) {
		t.Errorf("exported %v, %d waited", counts, len(waiting)-1)
	}
	here.want(cli.ExitFailed, "approve", waiting[1]["id"].(string), "--by", "lead@acme.example", "--reason", "late").has(t, "this state was moved to move.jsonl", "export --take-back")
	here.run(cli.ExitFailed).has(t, "moved")
	here.want(0, "runs").has(t, "failed")

	file := filepath.Join(here.dir, "move.jsonl")
	there.want(0, "import", file).has(t, "goes on here", "dev")
	there.want(0, "import", file).has(t, "was imported before")
	if got := there.outbox(); len(got) > 0 {
		t.Errorf("importing sent %d mails", len(got))
	}
	left := list(t, there.want(0, "approvals", "-o", "json").out)
	if len(left) != len(waiting)-1 {
		t.Fatalf("%d approvals came along, want %d", len(left), len(waiting)-1)
	}
	for _, request := range left {
		there.want(0, "approve", request["id"].(string), "--by", "lead@acme.example", "--reason", "checked")
	}
	there.run(0).has(t, "duplicate of", "completed")
	if !maps.Equal(here.outbox(), sent) {
		t.Error("mails were sent where the run is no more")
	}
	for name := range there.outbox() {
		if _, twice := sent[name]; twice {
			t.Errorf("%s was sent on both sides", name)
		}
	}
	if all := len(sent) + len(there.outbox()); all != actionsDone(t, there) {
		t.Errorf("%d mails on both sides, %d actions in the log", all, actionsDone(t, there))
	}
}

func actionsDone(t *testing.T, b *bundle) int {
	t.Helper()
	n := 0
	for _, action := range list(t, b.want(0, "actions", "-o", "json").out) {
		if action["state"] == "done" {
			n++
		}
	}
	return n
}

// What is moved and imported nowhere can be taken back.
func TestTakeBack(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.run(cli.ExitWaiting)
	waiting := list(t, b.want(0, "approvals", "-o", "json").out)
	b.want(0, "export", "move.jsonl")
	b.want(cli.ExitUsage, "export", "move.jsonl").has(t, "exists already")
	b.want(0, "export", "again.jsonl")
	b.want(0, "export", "--take-back").has(t, "1 run goes on here again")
	sent := len(b.outbox())
	for _, request := range waiting {
		b.want(0, "approve", request["id"].(string), "--by", "lead@acme.example", "--reason", "checked")
	}
	b.run(0).has(t, "completed")
	if got := len(b.outbox()); got != actionsDone(t, b) || got <= sent {
		t.Errorf("%d mails, %d actions", got, actionsDone(t, b))
	}
}

// A file that is not whole is refused by name before anything is written.
func TestImportRefuses(t *testing.T) {
	t.Parallel()
	here, there := setup(t), setup(t)
	here.run(cli.ExitWaiting)
	here.want(0, "export", "move.jsonl")
	text, err := os.ReadFile(filepath.Join(here.dir, "move.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string][2]string{
		"truncated": {string(text[:len(text)/2]), "it is truncated"},
		"last line": {string(text[:strings.LastIndex(strings.TrimSpace(string(text)), "\n")+1]), "it is truncated"},
		"altered":   {strings.Replace(string(text), `"state":"done"`, `"state":"fail"`, 1), "it was altered"},
		"shortened": {strings.Replace(string(text), "\n", "\n\n", 1), "line 2"},
		"newer":     {strings.Replace(string(text), `{"outerloop_export":1`, `{"outerloop_export":2`, 1), "newer version"},
		"other":     {"once upon a time\n", "its first line is not that of an export"},
		"empty":     {"", "it is truncated"},
		"followed":  {string(text) + "x\n", "something follows its last line"},
	} {
		file := filepath.Join(there.dir, name)
		if err := os.WriteFile(file, []byte(c[0]), 0o600); err != nil {
			t.Fatal(err)
		}
		there.want(cli.ExitUsage, "import", file).has(t, c[1])
	}
	there.want(cli.ExitUsage, "import", "missing").has(t, "there is no file missing")
	if _, err := os.Stat(filepath.Join(there.dir, ".outerloop")); err == nil {
		t.Error("a refused file left a state behind")
	}
	there.run(cli.ExitWaiting)
	there.want(cli.ExitFailed, "import", filepath.Join(here.dir, "move.jsonl")).has(t, "the destination holds something else", "run crm-followup-")
}

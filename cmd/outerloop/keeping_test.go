package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/outerloop-dev/outerloop/cmd/outerloop/cli"
	"github.com/outerloop-dev/outerloop/pkg/local"
)

// doctor names what it looked at and what is wrong with it.
func TestDoctor(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.run(cli.ExitWaiting)
	b.want(0, "doctor").has(t, "program: outerloop", "state: .outerloop/state.db", "whole", "no process works on the state file", "directory: ", "disk: ")
	state := filepath.Join(b.dir, ".outerloop", "state.db")

	e, err := local.Open(t.Context(), local.Config{State: state})
	if err != nil {
		t.Fatal(err)
	}
	b.want(0, "doctor").has(t, "owner: process ", "works on it since")
	b.want(cli.ExitFailed, "export", "move.jsonl").has(t, "is owned by process", "stop that process first")
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}

	b.want(0, "export", "move.jsonl")
	b.want(cli.ExitFailed, "doctor").has(t, "moved: it was moved to move.jsonl", "export --take-back")
	b.want(0, "export", "--take-back")
	b.want(0, "doctor")

	for file, c := range map[string][2]string{
		"page.db":  {"", "put a backup in its place"},
		"other.db": {"this is a text and no database, however long it may be", "name another state file"},
	} {
		path := filepath.Join(b.dir, file)
		content := []byte(c[0])
		if c[0] == "" {
			if content, err = os.ReadFile(state); err != nil {
				t.Fatal(err)
			}
			clear(content[len(content)/2 : len(content)/2+3*8192])
		}
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		b.want(cli.ExitFailed, "doctor", "--state", file).has(t, "wrong  state: ", c[1])
	}
}

// prune removes closed runs by age and by loop, and never what is open.
func TestPrune(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.run(cli.ExitWaiting)
	later := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	b.want(0, "prune").has(t, "0 runs, 0 executions deleted")
	b.want(0, "prune", "--before", later).has(t, "0 runs, 0 executions deleted")
	b.want(cli.ExitUsage, "prune", "--loop", "x", "--histories")
	for _, request := range list(t, b.want(0, "approvals", "-o", "json").out) {
		b.want(0, "approve", request["id"].(string), "--by", "lead@acme.example", "--reason", "checked")
	}
	actions := actionsDone(t, b)
	b.want(0, "prune", "--before", later, "--loop", "booking").has(t, "0 runs")
	b.want(cli.ExitUsage, "prune", "--loop", "crm-folowup").has(t, "did you mean crm-followup?")
	done := object(t, b.want(0, "prune", "--before", later, "-o", "json").out)
	if done["runs"] != 1.0 || done["executions"] != 1.0 || done["bytes"].(float64) <= 0 {
		t.Errorf("pruned %v", done)
	}
	if runs := list(t, b.want(0, "runs", "-o", "json").out); len(runs) != 0 {
		t.Errorf("left are %v", runs)
	}
	sent := len(b.outbox())
	b.run(cli.ExitWaiting)
	if again := len(b.outbox()); again != sent || actionsDone(t, b) != actions {
		t.Errorf("%d mails were sent again", again-sent)
	}
}

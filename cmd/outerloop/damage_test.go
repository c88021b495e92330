package main

import (
	"bytes"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "modernc.org/sqlite"

	"github.com/outerloop-dev/outerloop/cmd/outerloop/cli"
)

// Whatever is wrong with the state file, every command that needs it names the
// file, what happened and what to do, and leaves its content as it was.
func TestBrokenState(t *testing.T) {
	t.Parallel()
	whole := setup(t)
	whole.run(cli.ExitWaiting)
	whole.want(0, "backup", "whole.db")
	content, err := os.ReadFile(filepath.Join(whole.dir, "whole.db"))
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := setup(t)
	elsewhere.run(cli.ExitWaiting)
	elsewhere.want(0, "export", "move.jsonl")
	moved := filepath.Join(elsewhere.dir, "move.jsonl")

	for name, c := range map[string]struct {
		spoil        func(t *testing.T, state string) error
		says, remedy string
	}{
		"truncated":   {func(_ *testing.T, state string) error { return os.Truncate(state, int64(len(content))/2) }, "corrupt", "put a backup in its place"},
		"overwritten": {func(_ *testing.T, state string) error { return os.WriteFile(state, []byte("a text"), 0o600) }, "not an outerloop store", "put a backup in its place"},
		"newer":       {func(t *testing.T, state string) error { return execute(t, state, "PRAGMA user_version = 99") }, "version is 99", "use the program that wrote it"},
		"another's":   {func(t *testing.T, state string) error { return execute(t, state, "PRAGMA application_id = 7") }, "another program", "--state FILE"},
		"with the log of another": {func(_ *testing.T, state string) error {
			return os.WriteFile(state+"-wal", bytes.Repeat([]byte{0x37, 0x7f}, 4096), 0o600)
		}, "the log beside the file is of another", "mv "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := &bundle{t: t, dir: whole.dir}
			state := filepath.Join(t.TempDir(), "state.db")
			if err := errors.Join(os.WriteFile(state, content, 0o600), c.spoil(t, state)); err != nil {
				t.Fatal(err)
			}
			before := bytesOf(t, state)
			for _, args := range [][]string{
				{"runs"}, {"run", "crm-followup", "--input", "exports/crm.csv", "--as-of", "2026-11-30"}, {"doctor"}, {"prune"},
				{"backup", state + ".copy"}, {"export", state + ".jsonl"}, {"import", moved}, {"export", "--take-back"},
				{"approve", "x", "--by", "lead@acme.example", "--reason", "x"},
			} {
				b.want(cli.ExitFailed, append(args, "--state", state)...).has(t, state, c.says, c.remedy)
			}
			if !bytes.Equal(bytesOf(t, state), before) {
				t.Error("the file was changed")
			}
			if left, _ := filepath.Glob(state + ".*"); len(left) > 0 && !strings.HasSuffix(left[0], ".lock") {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

func execute(t *testing.T, file, statement string) error {
	db, err := sql.Open("sqlite", file)
	if err != nil {
		return err
	}
	_, err = db.ExecContext(t.Context(), statement)
	return errors.Join(err, db.Close())
}

func bytesOf(t *testing.T, file string) []byte {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

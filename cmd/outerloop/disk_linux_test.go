package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/outerloop-dev/outerloop/cmd/outerloop/cli"
)

// The program in a process of its own, that the system allows less.
const (
	argsVariable  = "OUTERLOOP_TEST_ARGS"
	limitVariable = "OUTERLOOP_TEST_FILE_LIMIT"
)

func TestMain(m *testing.M) {
	if args := os.Getenv(argsVariable); args != "" {
		os.Exit(confined(strings.Split(args, "\x1f")))
	}
	os.Exit(m.Run())
}

func confined(args []string) int {
	if limit, err := strconv.ParseUint(os.Getenv(limitVariable), 10, 64); err == nil {
		signal.Ignore(syscall.SIGXFSZ)
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: limit, Max: limit}); err != nil {
			panic(err)
		}
	}
	return cli.Run(context.Background(), program(), cli.Streams{Out: os.Stdout, Err: os.Stderr, Dir: "."}, args...)
}

// confine runs a command of the program in dir and answers its exit code and
// what it printed.
func (b *bundle) confine(command *exec.Cmd, args ...string) answer {
	b.t.Helper()
	command.Dir = b.dir
	command.Env = append(append(os.Environ(), command.Env...), argsVariable+"="+strings.Join(args, "\x1f"))
	var out, errOut bytes.Buffer
	command.Stdout, command.Stderr = &out, &errOut
	err := command.Run()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		b.t.Fatal(err)
	}
	return answer{command.ProcessState.ExitCode(), out.String(), errOut.String()}
}

// When the disk has no more room in the middle of a run, the command says so,
// what is recorded stays, and with room the same command finishes: no mail twice,
// none left out. Backup and export leave no half of a file.
func TestDiskIsFull(t *testing.T) {
	t.Parallel()
	b := setup(t)
	limited := func(bytes string, args ...string) answer {
		t.Helper()
		command := exec.CommandContext(t.Context(), os.Args[0])
		command.Env = []string{limitVariable + "=" + bytes}
		return b.confine(command, args...)
	}
	run := []string{"run", "crm-followup", "--input", "exports/crm.csv", "--as-of", "2026-11-30"}
	got := limited("900000", run...)
	got.has(t, "state.db", "nothing that was recorded is lost", "the same command goes on")
	if got.code != cli.ExitFailed || len(b.outbox()) >= 24 {
		t.Fatalf("exit %d after %d mails\n%s", got.code, len(b.outbox()), got.err)
	}
	b.want(0, "doctor").has(t, "whole")
	b.run(cli.ExitWaiting)
	if n := len(b.outbox()); n != 24 {
		t.Errorf("%d mails", n)
	}
	for _, action := range list(t, b.want(0, "actions", "-o", "json").out) {
		if action["calls"] != 1.0 {
			t.Errorf("done more than once, or begun and found out about: %v", action)
		}
	}
	got = limited("200000", "backup", "copy.db")
	if got.has(t, "copy.db", "then the same command goes on"); got.code != cli.ExitFailed {
		t.Errorf("backup: exit %d", got.code)
	}
	if err := os.Symlink("/dev/full", filepath.Join(b.dir, "move.jsonl.part")); err != nil {
		t.Fatal(err)
	}
	b.want(cli.ExitFailed, "export", "move.jsonl").has(t, "no space left", "make room on the disk", "nothing moves here until", "export --take-back")
	for _, name := range []string{"copy.db", "copy.db.part", "move.jsonl", "move.jsonl.part"} {
		if _, err := os.Stat(filepath.Join(b.dir, name)); err == nil {
			t.Errorf("%s is there", name)
		}
	}
	b.want(0, "export", "move.jsonl")
}

// A state file, or its directory, that this user may only read: what reads
// works, backup too; what writes names it and says what to do; nothing changes.
func TestReadOnlyState(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.run(cli.ExitWaiting)
	b.want(0, "backup", "whole.db")
	program := nobodysProgram(t)
	for name, modes := range map[string][2]os.FileMode{"file": {0o444, 0o777}, "directory": {0o666, 0o555}} {
		place := filepath.Join(b.dir, name)
		state := filepath.Join(place, "state.db")
		t.Cleanup(func() { _ = os.Chmod(place, 0o700) }) // so that it can be removed
		copied := bytesOf(t, filepath.Join(b.dir, "whole.db"))
		err := errors.Join(os.Mkdir(place, 0o700), os.WriteFile(state, copied, 0o600), os.Chmod(state, modes[0]), os.Chmod(place, modes[1]), //nolint:gosec // to be read
			os.Chmod(filepath.Dir(b.dir), 0o755), os.Chmod(b.dir, 0o777)) //nolint:gosec // to be worked in by another user
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			code int
			says []string
			args []string
		}{
			{0, []string{"crm-followup-"}, []string{"runs"}},
			{0, nil, []string{"backup", name + "-copy.db"}},
			{cli.ExitFailed, []string{"directory: open " + place, "writable"}, []string{"doctor"}},
			{cli.ExitFailed, []string{state, "read-only", "writable"}, []string{"run", "crm-followup", "--input", "exports/crm.csv", "--as-of", "2026-11-30"}},
			{cli.ExitFailed, []string{state, "read-only", "writable"}, []string{"prune"}},
			{cli.ExitFailed, []string{state, "read-only", "writable"}, []string{"export", name + ".jsonl"}},
		} {
			command := exec.CommandContext(t.Context(), program)
			if os.Getuid() == 0 {
				command.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
			}
			got := b.confine(command, append(c.args, "--state", state)...)
			if got.has(t, c.says...); got.code != c.code {
				t.Errorf("read-only %s: %v: exit %d\n%s%s", name, c.args, got.code, got.out, got.err)
			}
		}
		if !bytes.Equal(bytesOf(t, state), copied) {
			t.Errorf("read-only %s: it was changed", name)
		}
	}
}

const nobody = 65534

// nobodysProgram is this program where a user without rights may run it.
func nobodysProgram(t *testing.T) string {
	t.Helper()
	if os.Getuid() != 0 {
		return os.Args[0]
	}
	file := filepath.Join(t.TempDir(), "program")
	content := bytesOf(t, os.Args[0])
	if err := errors.Join(os.WriteFile(file, content, 0o755), os.Chmod(filepath.Dir(filepath.Dir(file)), 0o755)); err != nil { //nolint:gosec // to be run by another user
		t.Fatal(err)
	}
	return file
}

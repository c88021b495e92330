package main

import (
	"bytes"
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/outerloop-dev/outerloop/cmd/outerloop/cli"
)

// A state file that is gone, or empty, beside an outbox with mails: nothing is
// started, since all of them would be sent again (R37). A state file that was
// only just created, before any mail, is no such case.
func TestLostStateSendsNothingAgain(t *testing.T) {
	t.Parallel()
	b := setup(t)
	state := filepath.Join(b.dir, ".outerloop/state.db")
	b.write(".outerloop/state.db", "") // killed right after the file was made
	b.run(cli.ExitWaiting)
	sent := b.outbox()
	id := list(t, b.want(0, "approvals", "-o", "json").out)[0]["id"].(string)
	for code, lose := range map[int]func(){
		cli.ExitFailed: func() { b.write(".outerloop/state.db", "") },
		cli.ExitUsage:  func() { b.remove(state) }, // there is nothing to approve
	} {
		b.remove(state + "-wal")
		b.remove(state + "-shm")
		lose()
		b.run(cli.ExitFailed).has(t, "new or empty", ".outerloop/outbox already holds", "put a backup", "mv .outerloop/outbox .outerloop/outbox.old")
		b.want(cli.ExitFailed, "dev").has(t, "new or empty")
		b.want(cli.ExitFailed, "pause", "crm-followup").has(t, "new or empty")
		b.want(code, "approve", id, "--by", "lead@acme.example", "--reason", "r")
		if info, err := os.Stat(state); err == nil && info.Size() > 0 {
			t.Error("the refused command made a state file")
		}
	}
	if got := b.outbox(); !maps.Equal(sent, got) {
		t.Errorf("%d mails, %d before", len(got), len(sent))
	}
	if err := os.Rename(filepath.Join(b.dir, ".outerloop/outbox"), filepath.Join(b.dir, ".outerloop/outbox.old")); err != nil {
		t.Fatal(err)
	}
	b.run(cli.ExitWaiting)
}

// A loop that was edited and not compiled does not run by half: neither with a
// changed meaning under the old version nor with a new one (R9).
func TestRunRefusesWhatWasNotCompiled(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.edit("statemachines/crm-followup.loop.yaml", "within: 20h", "within: 19h")
	b.want(cli.ExitUsage, "validate").has(t, "E260")
	b.run(cli.ExitUsage).has(t, "E260", "nothing was started", "outerloop compile crm-followup")
	b.edit("statemachines/crm-followup.loop.yaml", "version: 1", "version: 2")
	b.run(cli.ExitUsage).has(t, "compiled before loop crm-followup became", "outerloop compile crm-followup")
	if runs := list(t, b.want(0, "runs", "-o", "json").out); len(runs) != 0 {
		t.Errorf("%d runs were started", len(runs))
	}
	b.want(0, "compile", "crm-followup")
	b.run(cli.ExitWaiting)
}

// An empty machine is named with its file and remedy, and does not stand in the
// way of other loops.
func TestEmptyMachine(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.write("statemachines/booking.asl.json", "")
	b.run(cli.ExitWaiting)
	b.write("statemachines/crm-followup.asl.json", "\n")
	b.run(cli.ExitUsage).has(t, "crm-followup.asl.json is empty", "outerloop compile crm-followup")
}

// However early Ctrl-C comes, it is exit 1, and says that nothing is lost.
func TestStoppedEarly(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx, stop := context.WithCancel(context.Background())
	stop()
	var out, errOut bytes.Buffer
	code := cli.Run(ctx, program(), cli.Streams{Out: &out, Err: &errOut, Dir: b.dir},
		"run", "crm-followup", "--input", "exports/crm.csv", "--as-of", "2026-11-30")
	if code != cli.ExitFailed || !strings.Contains(errOut.String(), "nothing is lost") || strings.Contains(errOut.String(), "context canceled") {
		t.Errorf("exit %d: %s", code, errOut.String())
	}
}

// A name that stands for nothing is exit 2, not an empty list.
func TestUnknownNames(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.want(0, "runs", "crm-followup").has(t, "no runs")
	b.run(cli.ExitWaiting)
	run := b.newest()
	b.want(cli.ExitUsage, "approvals", "typo").has(t, "no such run")
	b.want(cli.ExitUsage, "exceptions", "typo").has(t, "no such run")
	b.want(cli.ExitUsage, "runs", "crm-folowup").has(t, "did you mean crm-followup?")
	b.want(cli.ExitUsage, "actions", "crm-folowup").has(t, "did you mean crm-followup?")
	b.want(cli.ExitUsage, "runs", "--project", "/nonexistent").has(t, "/nonexistent")
	b.want(0, "runs", "booking").has(t, "no runs")
	if n := len(list(t, b.want(0, "approvals", run[:len(run)-3], "-o", "json").out)); n == 0 {
		t.Error("an abbreviated run has no approvals")
	}
	b.want(cli.ExitUsage, "show", "--step", "scna").has(t, `no step "scna"`, "--steps")
}

// What waits is counted kind by kind; a new exception is named with its cause.
func TestStandingNamesExceptions(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.edit("statemachines/crm-followup.loop.yaml", "output.read == output.open", "output.read + 1 == output.open")
	b.edit("statemachines/crm-followup.loop.yaml", "    on_failure: {then: halt}", "    on_failure: {retry: {any: 0, invalid_output: 0}, then: halt}")
	b.edit("statemachines/crm-followup.loop.yaml", "version: 1", "version: 2")
	b.want(0, "compile", "crm-followup")
	b.run(cli.ExitFailed)
	open := list(t, b.want(0, "exceptions", "-o", "json").out)
	if open[0]["tried"].(string) != "1 attempt" && !strings.HasPrefix(open[0]["tried"].(string), "1 attempt (") {
		t.Errorf("tried %v", open[0]["tried"])
	}
	again := b.want(0, "resolve", open[0]["id"].(string), "retry", "--by", "lead@acme.example", "--reason", "r")
	fresh := list(t, b.want(0, "exceptions", "-o", "json").out)[0]
	again.has(t, "1 exception needs a decision: outerloop exceptions", fresh["id"].(string), fresh["cause"].(string))
}

// The next day's start beside an open run says how to go on; a cancelled run
// shows by whom and why, and nothing waits in it any more.
func TestOverlapAndCancel(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.run(cli.ExitWaiting)
	run := b.newest()
	b.want(cli.ExitFailed, "run", "crm-followup", "--input", "exports/crm.csv", "--as-of", "2026-12-01").
		has(t, "still open", "outerloop approvals "+run, "outerloop show "+run)
	b.want(0, "cancel", run, "--by", "lead@acme.example", "--reason", "wrong export")
	shown := b.want(0, "show", run)
	shown.has(t, "cancelled by lead@acme.example at", "wrong export")
	if strings.Contains(shown.out, "WAITING") {
		t.Errorf("a cancelled run waits:\n%s", shown.out)
	}
	doc := object(t, b.want(0, "show", run, "-o", "json").out)
	if by := doc["cancelled"].(document)["by"]; by != "lead@acme.example" {
		t.Errorf("cancelled by %v", by)
	}
}

// A late decision is told once which request it was about.
func TestLateDecisionNamesItsRequestOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.run(cli.ExitWaiting)
	id := list(t, b.want(0, "approvals", "-o", "json").out)[0]["id"].(string)
	b.want(0, "approve", id, "--by", "lead@acme.example", "--reason", "r")
	for _, command := range []string{"approve", "reject"} {
		late := b.want(cli.ExitFailed, command, id, "--by", "lead@acme.example", "--reason", "r")
		late.has(t, id+" was already decided: approved by")
		if n := strings.Count(late.err, id); n != 1 {
			t.Errorf("the request is named %d times: %s", n, late.err)
		}
	}
}

// A damaged state file is told without the statement that found out, once, with
// the remedy.
func TestDamagedState(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.run(cli.ExitWaiting)
	state := filepath.Join(b.dir, ".outerloop/state.db")
	content, err := os.ReadFile(state)
	if err != nil {
		t.Fatal(err)
	}
	for i := 100; i < len(content); i++ { // the header says a database, the rest is rubbish
		content[i] = 0x55
	}
	b.write(".outerloop/state.db", string(content))
	for _, suffix := range []string{"-wal", "-shm"} {
		b.remove(state + suffix)
	}
	for _, args := range [][]string{{"runs"}, {"run", "crm-followup", "--input", "exports/crm.csv", "--as-of", "2026-11-30"}} {
		got := b.want(cli.ExitFailed, args...)
		got.has(t, "backup")
		if strings.Contains(got.err, "PRAGMA") || strings.Count(got.err, "outerloop: ") != 1 || strings.Count(strings.TrimSpace(got.err), "\n") != 1 {
			t.Errorf("%v: not one clear message: %s", args, got.err)
		}
	}
}

// --as-of takes dates that somebody may mean; a rerun does not show the page of
// the run before as its own.
func TestAsOfAndPages(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, date := range []string{"", "0001-01-01", "9999-12-31"} {
		b.want(cli.ExitUsage, "run", "crm-followup", "--input", "exports/crm.csv", "--as-of", date).has(t, "--as-of")
	}
	b.run(cli.ExitWaiting)
	for _, request := range list(t, b.want(0, "approvals", "-o", "json").out) {
		b.want(0, "approve", request["id"].(string), "--by", "lead@acme.example", "--reason", "checked")
	}
	b.run(0).has(t, "dashboard-sales.html")
	again := b.want(cli.ExitWaiting, "run", "crm-followup", "--input", "exports/crm.csv", "--as-of", "2026-11-30", "--rerun")
	if strings.Contains(again.out, "dashboard-sales.html") {
		t.Errorf("the rerun, which waits, shows a page:\n%s", again.out)
	}
}

// What a step recorded can be read, of all items or of one, for people and scripts.
func TestShowStep(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.run(cli.ExitWaiting)
	b.want(0, "show", "--step", "scan").has(t, "scan  completed", "rejected", "totals")
	scan := list(t, b.want(0, "show", b.newest(), "--step", "scan", "-o", "json").out)
	if len(scan) != 1 || scan[0]["output"].(document)["totals"] == nil {
		t.Errorf("scan recorded %.300v", scan)
	}
	drafts := list(t, b.want(0, "show", "--step", "follow_up/draft", "-o", "json").out)
	i := slices.IndexFunc(drafts, func(d document) bool { return d["output"] != nil })
	if len(drafts) < 2 || i < 0 {
		t.Fatalf("%d drafts are recorded", len(drafts))
	}
	one := list(t, b.want(0, "show", "--step", drafts[i]["path"].(string), "-o", "json").out)
	if len(one) != 1 || one[0]["output"].(document)["subject"] != drafts[i]["output"].(document)["subject"] {
		t.Errorf("%v recorded %v", drafts[i]["path"], one)
	}
}

// On a terminal of 80 columns no line of a table or of the help is longer, and
// results are shown without escapes that only HTML needs.
func TestNarrowTerminal(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.run(cli.ExitWaiting)
	for _, args := range [][]string{{"runs"}, {"show"}, {"log"}, {"run", "--help"}, {"--help"}, {"approve", "--help"}} {
		var out, errOut bytes.Buffer
		cli.Run(context.Background(), program(), cli.Streams{Out: &out, Err: &errOut, Dir: b.dir, Width: 80}, args...)
		for _, line := range strings.Split(out.String(), "\n") {
			if n := len([]rune(line)); n > 80 && !strings.HasPrefix(line, "  outerloop") { // examples are copied
				t.Errorf("%v: %d columns: %s", args, n, line)
			}
		}
		if out.Len() == 0 {
			t.Errorf("%v printed nothing: %s", args, errOut.String())
		}
	}
	if out := b.want(0, "actions").out; strings.Contains(out, `\u003c`) || !strings.Contains(out, "<") {
		t.Errorf("actions are escaped: %.300s", out)
	}
}

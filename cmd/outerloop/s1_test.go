package main

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/outerloop-dev/outerloop/cmd/outerloop/cli"
)

// S1: mails lie in the outbox, large and doubtful deals wait for a person, a
// second run sends nothing, an approval moves its deal on at once, the first
// decision is final, and the page comes after the last one (R38, R46, R67).
func TestFollowUp(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.want(0, "validate", "./...")
	b.want(0, "compile", "--check", "crm-followup")

	first := b.run(cli.ExitWaiting)
	first.has(t, "STEP", "follow_up/send", "approvals wait for a person", "outerloop approve ", ".outerloop/outbox")
	sent := b.outbox()
	waiting := list(t, b.want(0, "approvals", "-o", "json").out)
	if len(sent) == 0 || len(waiting) < 5 || len(waiting) > 15 {
		t.Fatalf("%d mails, %d approvals; want some and 5 to 15", len(sent), len(waiting))
	}

	b.run(cli.ExitWaiting).has(t, "duplicate of crm-followup-", "none new")
	if again := b.outbox(); !maps.Equal(sent, again) {
		t.Fatalf("a second run changed the outbox: %d mails, then %d", len(sent), len(again))
	}

	b.approveFirst(waiting, len(sent))
	for _, request := range list(t, b.want(0, "approvals", "-o", "json").out) {
		b.want(0, "approve", request["id"].(string), "--by", "lead@acme.example", "--reason", "checked")
	}
	done := b.run(0)
	done.has(t, "duplicate of", "completed", "dashboard-sales.html")
	if page, err := os.ReadFile(filepath.Join(b.dir, ".outerloop/dashboard-sales.html")); err != nil || !bytes.Contains(page, []byte("<html")) {
		t.Errorf("the dashboard page: %v, %d bytes", err, len(page))
	}
	if len(b.outbox()) <= len(sent)+1 {
		t.Errorf("%d mails after all approvals, %d before", len(b.outbox()), len(sent))
	}
}

// approveFirst approves the first mail that waits and shows that a late word is refused.
func (b *bundle) approveFirst(waiting []document, before int) {
	b.t.Helper()
	i := slices.IndexFunc(waiting, func(d document) bool { return strings.HasSuffix(d["step"].(string), "/send") })
	id := waiting[i]["id"].(string)
	b.want(0, "approve", id, "--by", "me@example.com", "--reason", "known customer").has(b.t, "approved", "1 new")
	if after := b.outbox(); len(after) != before+1 {
		b.t.Fatalf("%d mails after the approval, want %d", len(after), before+1)
	}
	b.want(cli.ExitFailed, "reject", id, "--by", "lead@acme.example", "--reason", "late").has(b.t, "already decided", "approved by", "T")
	b.want(cli.ExitFailed, "approve", id, "--by", "lead@acme.example", "--reason", "late").has(b.t, "already decided")
}

// The JSON of the lists and of show has the documented fields, times in UTC.
func TestDocuments(t *testing.T) {
	t.Parallel()
	b := setup(t)
	if doc := object(t, b.run(cli.ExitWaiting, "-o", "json").out); doc["duplicate"] != false {
		t.Errorf("run -o json: duplicate is %v", doc["duplicate"])
	}
	show := object(t, b.want(0, "show", "-o", "json").out)
	demand(t, "show", show, "id", "loop", "version", "status", "subject", "started_at", "ended_at", "counts", "steps", "waiting")
	demand(t, "show.steps", show["steps"].([]any)[0].(document), "path", "worker", "status", "attempts", "started_at", "ended_at", "outcome", "reason")
	demand(t, "show.waiting", show["waiting"].([]any)[0].(document), "kind", "id", "step", "since", "expires_at")
	if at := show["started_at"].(string); !strings.HasSuffix(at, "Z") {
		t.Errorf("started_at is not in UTC: %s", at)
	}
	run := list(t, b.want(0, "runs", "-o", "json").out)[0]
	demand(t, "runs", run, "id", "loop", "version", "status", "subject", "started_at", "ended_at", "counts", "waiting")
	if _, has := run["steps"]; has || run["status"] != "awaiting_approval" {
		t.Errorf("runs: steps are listed, or the status is %v", run["status"])
	}
	demand(t, "approvals", list(t, b.want(0, "approvals", "-o", "json").out)[0], "id", "run", "step", "ask", "since", "expires_at", "approvers", "content")
	for _, command := range []string{"exceptions", "actions", "log"} {
		for _, entry := range list(t, b.want(0, command, "-o", "json").out) {
			demand(t, command, entry, "id")
		}
	}
	if len(object(t, b.want(0, "show", "--history", "-o", "json").out)["history"].([]any)) == 0 {
		t.Error("show --history has no events")
	}
}

// The bytes of the committed machine are what runs.
func TestEditedMachineChangesTheRun(t *testing.T) {
	t.Parallel()
	b := setup(t)
	file := filepath.Join(b.dir, "statemachines/crm-followup.asl.json")
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	machine := object(t, string(content))
	machine["States"].(document)["greeting"] = document{"Type": "Pass", "Next": machine["StartAt"]}
	machine["StartAt"] = "greeting"
	edited, err := json.Marshal(machine)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, edited, 0o644); err != nil {
		t.Fatal(err)
	}
	b.run(cli.ExitWaiting)
	b.want(0, "show", "--history").has(t, "greeting")
	b.want(cli.ExitFailed, "compile", "--check").has(t, "stale")
	b.want(0, "compile").has(t, "written")
	b.want(0, "compile", "--check").has(t, "fresh")
}

// R38: another input for a known subject is refused with both hashes; --rerun
// starts a run of its own and does nothing in the world twice.
func TestOtherInputAndRerun(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.run(cli.ExitWaiting)
	sent := b.outbox()
	file := filepath.Join(b.dir, "exports/crm.csv")
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, append(content, '\r', '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
	refused := b.run(cli.ExitUsage)
	refused.has(t, "--rerun")
	if n := strings.Count(refused.err, "sha256:"); n < 2 {
		t.Errorf("%d hashes in %s", n, refused.err)
	}
	if err := os.WriteFile(file, content, 0o644); err != nil {
		t.Fatal(err)
	}
	b.want(cli.ExitFailed, "run", "crm-followup", "--input", "exports/crm.csv", "--as-of", "2026-11-30", "--rerun").has(t, "overlap")
	b.want(0, "cancel", b.newest(), "--by", "lead@acme.example", "--reason", "try again")
	b.run(cli.ExitWaiting, "--rerun").has(t, "none new")
	if again := b.outbox(); !maps.Equal(sent, again) {
		t.Errorf("a rerun changed the outbox: %d mails, then %d", len(sent), len(again))
	}
}

func (b *bundle) newest() string {
	b.t.Helper()
	return list(b.t, b.want(0, "runs", "-o", "json").out)[0]["id"].(string)
}

// Input that cannot be used costs exit 2 and one message, and leaves no run.
func TestBadInput(t *testing.T) {
	t.Parallel()
	b := setup(t)
	export, err := os.ReadFile(filepath.Join(b.dir, "exports/crm.csv"))
	if err != nil {
		t.Fatal(err)
	}
	head, _, _ := bytes.Cut(export, []byte("\n"))
	for _, c := range []struct {
		name    string
		content []byte
		want    string
	}{
		{"picture.csv", []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"), "picture.csv"},
		{"prose.csv", []byte("Dear Sir or Madam,\nplease find enclosed\n"), "prose.csv"},
		{"empty.csv", nil, "empty"},
		{"missing.csv", bytes.Replace(export, []byte("Amount"), []byte("Betrag"), 1), "Amount"},
		{"latin.csv", append(append(slices.Clone(head), '\n'), []byte("D-1,M\xfcller\n")...), "UTF-8"},
		{"line.csv", append(append(slices.Clone(head), '\n'), bytes.Repeat([]byte("a"), 8<<20)...), "line.csv"},
		{"list.json", []byte(`["exports/crm.csv"]`), "not a JSON object"},
		{"broken.json", []byte(`{"file": `), "not a JSON object"},
		{"trailing.json", []byte(`{"file": "exports/crm.csv"} {}`), "follows the document"},
		{"nowhere.json", []byte(`{"file": "nowhere.csv"}`), "nowhere.csv"},
		{"extra.json", []byte(`{"file": "exports/crm.csv", "fiel": 1}`), "fiel"},
	} {
		path := filepath.Join(b.dir, c.name)
		if err := os.WriteFile(path, c.content, 0o644); err != nil {
			t.Fatal(err)
		}
		b.refused(c.name, c.want)
	}
	if err := os.Truncate(filepath.Join(b.dir, "line.csv"), 1<<30); err != nil { // one line of 1 GB, mostly a hole
		t.Fatal(err)
	}
	b.refused("line.csv", "line.csv")
	b.refused("exports", "directory")
	b.refused("/dev/null", "/dev/null")
	b.refused("absent.csv", "no such file")
	b.want(cli.ExitUsage, "run", "crm-followup", "--input", "exports/crm.csv", "--as-of", "yesterday").has(t, "2026-11-30")
	b.want(cli.ExitUsage, "run", "crm-folowup").has(t, "did you mean crm-followup?")
	b.want(cli.ExitUsage, "run", "crm-followup").has(t, "file")
}

func (b *bundle) refused(file, want string) {
	b.t.Helper()
	got := b.want(cli.ExitUsage, "run", "crm-followup", "--as-of", "2026-11-30", "--input", file)
	got.has(b.t, want)
	if got.out != "" || strings.Count(got.err, "outerloop: ") != 1 || len(got.err) > 1000 {
		b.t.Errorf("%s: not one clear message: %q %q", file, got.out, got.err)
	}
	if runs := strings.TrimSpace(b.want(0, "runs", "-o", "json").out); runs != "[]" {
		b.t.Errorf("%s left a run: %s", file, runs)
	}
}

// Problems of the language are shown with line and remedy, as data with -o json.
func TestValidateSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	b := setup(t)
	file := filepath.Join(b.dir, "statemachines/crm-followup.loop.yaml")
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	wrong := bytes.Replace(content, []byte("qualify.result !="), []byte("qualify.resutl !="), 1)
	if err := os.WriteFile(file, wrong, 0o644); err != nil {
		t.Fatal(err)
	}
	b.want(cli.ExitUsage, "validate").has(t, "statemachines/crm-followup.loop.yaml:", "^^^", `Did you mean "result"?`, "1 error")
	problems := list(t, b.want(cli.ExitUsage, "validate", "-o", "json").out)
	demand(t, "validate", problems[0], "code", "path", "line", "column", "message", "severity")
	b.want(0, "validate", "functions/workers")
	named := list(t, b.want(cli.ExitUsage, "validate", "statemachines/crm-followup.loop.yaml", "-o", "json").out)
	if len(named) != len(problems) || named[0]["message"] != problems[0]["message"] {
		t.Errorf("one file's problems differ: %v and %v", named, problems)
	}
	b.want(cli.ExitUsage, "validate", "nowhere").has(t, "there is no nowhere")
	b.run(cli.ExitUsage).has(t, "has errors")
	b.want(0, "explain", problems[0]["code"].(string))
}

// Ctrl-C stops in good order; the same command goes on and does nothing twice.
func TestStoppedAndGoneOn(t *testing.T) {
	t.Parallel()
	undisturbed, b := setup(t), setup(t)
	undisturbed.run(cli.ExitWaiting)

	ctx, stop := context.WithCancel(context.Background())
	words := &hearing{word: "started for", heard: stop}
	code := cli.Run(ctx, program(), cli.Streams{Out: words, Err: words, Dir: b.dir},
		"run", "crm-followup", "--input", "exports/crm.csv", "--as-of", "2026-11-30")
	if code != cli.ExitFailed {
		t.Fatalf("exit %d after Ctrl-C, want 1\n%s", code, words.text.String())
	}
	answer{out: words.text.String()}.has(t, "nothing is lost", "goes on")
	b.run(cli.ExitWaiting).has(t, "duplicate of")
	if want, got := undisturbed.outbox(), b.outbox(); !maps.Equal(want, got) {
		t.Errorf("the outbox has %d mails, an undisturbed one %d", len(got), len(want))
	}
}

// A command that writes works beside an owner: as its visitor (R41).
func TestVisitor(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.run(cli.ExitWaiting)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan int, 1)
	ready := make(chan struct{})
	go func() {
		out := &signalWriter{ready: ready}
		ended <- cli.Run(ctx, program(), cli.Streams{Out: out, Err: &bytes.Buffer{}, Dir: b.dir}, "dev")
	}()
	<-ready
	b.approveFirst(list(t, b.want(0, "approvals", "-o", "json").out), len(b.outbox()))
	b.want(cli.ExitFailed, "dev").has(t, "owned by process")
	stop()
	if code := <-ended; code != 0 {
		t.Errorf("dev ended with exit %d", code)
	}
}

// A blocked run costs exit 1 and is one exception, which a person resolves
// once; the run it closes has failed (R39).
func TestExceptions(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.edit("statemachines/crm-followup.loop.yaml", "output.read == output.open", "output.read + 1 == output.open")
	b.edit("statemachines/crm-followup.loop.yaml", "    on_failure: {then: halt}", "    on_failure: {retry: {any: 0, invalid_output: 0}, then: halt}")
	b.want(cli.ExitUsage, "compile").has(t, "E260", "Write version 2") // what version 1 means is fixed
	b.edit("statemachines/crm-followup.loop.yaml", "version: 1", "version: 2")
	b.want(0, "compile")
	b.run(cli.ExitFailed).has(t, "blocked", "1 exception needs a decision", "Every row is accounted for.", "outerloop resolve ")
	open := list(t, b.want(0, "exceptions", "-o", "json").out)
	if len(open) != 1 {
		t.Fatalf("%d exceptions", len(open))
	}
	id := open[0]["id"].(string)
	demand(t, "exceptions", open[0], "id", "run", "step", "cause", "tried", "state", "needed", "ways")
	b.want(cli.ExitUsage, "resolve", "0000", "close", "--by", "lead@acme.example", "--reason", "r").has(t, "no such exception")
	b.want(0, "resolve", id[:6], "close", "--by", "lead@acme.example", "--reason", "export is wrong").has(t, "failed", "export is wrong")
	b.want(cli.ExitFailed, "resolve", id, "retry", "--by", "lead@acme.example", "--reason", "r").has(t, "already decided: close by")
	if left := list(t, b.want(0, "exceptions", "-o", "json").out); len(left) != 0 {
		t.Errorf("%d exceptions are left", len(left))
	}
	b.run(cli.ExitFailed).has(t, "duplicate of", "failed")
}

// An edit is checked, and is what is sent; who edited cannot approve it alone.
func TestApproveWithEdit(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.run(cli.ExitWaiting)
	waiting := list(t, b.want(0, "approvals", "-o", "json").out)
	i := slices.IndexFunc(waiting, func(d document) bool { return strings.HasSuffix(d["step"].(string), "/send") })
	id, content := waiting[i]["id"].(string), waiting[i]["content"].(document)
	content["subject"] = "A shorter subject"
	edited, err := json.Marshal(content)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(b.dir, "mail.json"), edited, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(b.dir, "wrong.json"), []byte(`{"subject": 7}`), 0o644); err != nil {
		t.Fatal(err)
	}
	before := len(b.outbox())
	b.want(cli.ExitUsage, "approve", id, "--edit", "wrong.json", "--by", "lead@acme.example", "--reason", "r").has(t, "edited content")
	b.want(cli.ExitUsage, "approve", id, "--edit", "absent.json", "--by", "lead@acme.example", "--reason", "r").has(t, "no such file")
	b.want(0, "approve", id, "--edit", "mail.json", "--by", "lead@acme.example", "--reason", "shorter")
	for _, request := range list(t, b.want(0, "approvals", "-o", "json").out) {
		if request["id"] == id { // the edit waits for a second person
			b.want(0, "approve", id, "--by", "deputy@acme.example", "--reason", "agreed")
		}
	}
	mails := b.outbox()
	if len(mails) != before+1 || !slices.ContainsFunc(slices.Collect(maps.Values(mails)), func(m string) bool { return strings.Contains(m, "A shorter subject") }) {
		t.Errorf("%d mails, %d before; the edited one must be among them", len(mails), before)
	}
}

// Housekeeping: a backup is a state file of its own, doctor looks at everything,
// prune keeps what was decided.
func TestKeeping(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.want(cli.ExitUsage, "prune", "--before", "30d").has(t, "no state file")
	b.want(cli.ExitUsage, "backup", "copy.db").has(t, "no state file")
	b.want(0, "doctor").has(t, "no state file yet")
	b.run(cli.ExitWaiting)
	b.want(0, "backup", "copy.db")
	b.want(cli.ExitUsage, "backup", "copy.db").has(t, "exists already")
	if run := list(t, b.want(0, "runs", "--state", "copy.db", "-o", "json").out); len(run) != 1 || run[0]["id"] != b.newest() {
		t.Errorf("the backup has %v", run)
	}
	b.want(0, "doctor").has(t, "whole", "fresh")
	b.want(cli.ExitUsage, "prune", "--before", "soon").has(t, "not a date")
	b.want(0, "prune", "--before", "30d").has(t, "0 executions deleted")
	b.edit("statemachines/crm-followup.loop.yaml", "within: 20h", "within: 19h")
	b.want(cli.ExitFailed, "doctor").has(t, "stale", "outerloop compile crm-followup")
}

// Schedules and graphs follow from the declaration.
func TestLookAtTheDeclaration(t *testing.T) {
	t.Parallel()
	b := setup(t)
	fires := list(t, b.want(0, "schedule", "crm-followup", "--from", "2027-03-26", "-n", "3", "-o", "json").out)
	var at []string
	for _, fire := range fires {
		at = append(at, fire["at"].(string))
	}
	want := []string{"2027-03-26T06:00:00Z", "2027-03-29T05:00:00Z", "2027-03-30T05:00:00Z"} // summer time begins on the 28th
	if !slices.Equal(at, want) {
		t.Errorf("fires at %v, want %v", at, want)
	}
	b.want(0, "graph", "crm-followup").has(t, "flowchart", "qualify")
	b.want(0, "graph", "crm-followup", "--effective").has(t, "then: skip")
	b.want(0, "schema", "loop").has(t, "$defs")
}

// R63: a paused loop is started by hand only; pausing works beside an owner too.
func TestPause(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.want(0, "pause", "crm-followup").has(t, "paused")
	b.want(0, "pause", "crm-followup")
	if doc := object(t, b.want(0, "resume", "crm-followup", "-o", "json").out); doc["paused"] != false || doc["id"] != "crm-followup" {
		t.Errorf("resume -o json: %v", doc)
	}
	b.want(cli.ExitUsage, "pause", "crm-folowup").has(t, "did you mean crm-followup?")
}

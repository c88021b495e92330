package localstack_test

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// commands are the command line of the copied project, against one target.
type commands struct {
	testing.TB
	dir string
	env []string
	// far: the deployed stack; else the embedded engine.
	far bool
}

// projectCopy is a copy of the project, with what the test adds to it.
type projectCopy struct {
	commands
	root string
	took map[string]time.Duration
	// states is how many the embedded run entered.
	states int
}

func copied(t *testing.T) *projectCopy {
	t.Helper()
	root, err := filepath.Abs("..")
	must(t, err)
	p := &projectCopy{commands: commands{TB: t, dir: os.Getenv("OUTERLOOP_STACK_DIR")}, root: root, took: map[string]time.Duration{}}
	if p.dir == "" {
		p.dir = t.TempDir()
	}
	if _, err := os.Stat(p.manifest()); err == nil { // copied, patched, built and synthesised before
		say("the project is at %s already, as an earlier run left it", p.dir)
		must(t, os.RemoveAll(filepath.Join(p.dir, ".outerloop")))
		return p
	}
	p.copies()
	p.shorten()
	p.patch()
	p.build()
	return p
}

// manifest is there when the copy has been synthesised.
func (p *projectCopy) manifest() string {
	return filepath.Join(p.dir, "infra", "cdk.out", "manifest.json")
}

// copies copies what git knows of, as it is in the working tree.
func (p *projectCopy) copies() {
	t, root, dir := p.TB, p.root, p.dir
	t.Helper()
	list := exec.CommandContext(t.Context(), "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	list.Dir = root
	out, err := list.Output()
	must(t, err)
	for name := range strings.SplitSeq(strings.TrimRight(string(out), "\x00"), "\x00") {
		content, err := os.ReadFile(filepath.Join(root, name))
		if errors.Is(err, os.ErrNotExist) {
			continue // removed, and not committed yet
		}
		must(t, err)
		to := filepath.Join(dir, name)
		must(t, os.MkdirAll(filepath.Dir(to), 0o755))
		must(t, os.WriteFile(to, content, mode(filepath.Join(root, name))))
	}
}

// shorten keeps the first OUTERLOOP_STACK_ROWS lines of the export, where that
// is set: an emulator takes a second or two for each step.
func (p *projectCopy) shorten() {
	p.Helper()
	rows, err := strconv.Atoi(os.Getenv("OUTERLOOP_STACK_ROWS"))
	if err != nil {
		return
	}
	path := filepath.Join(p.dir, "exports", "crm.csv")
	content, err := os.ReadFile(path)
	must(p, err)
	lines := strings.SplitAfter(string(content), "\n")
	must(p, os.WriteFile(path, []byte(strings.Join(lines[:min(rows+1, len(lines))], "")), 0o644))
	say("the export has its first %d rows", rows)
}

func mode(path string) os.FileMode {
	if info, err := os.Stat(path); err == nil {
		return info.Mode().Perm()
	}
	return 0o644
}

// patch gives S1 a webhook beside its schedule, and lets a second run wait.
func (p *projectCopy) patch() {
	p.Helper()
	p.replace("statemachines/crm-followup.loop.yaml",
		"version: 1\n", "version: 2\n",
		"overlap: skip\n", "overlap: queue\n",
		"    input: {file: exports/crm.csv}\n", "    input: {file: exports/crm.csv}\n"+
			"  - webhook: crm\n    as_of: timestamp(event.body.exported)\n    input: {file: \"${event.body.file}\"}\n")
	p.replace("outerloop.yaml", "webhooks:\n",
		"webhooks:\n  crm: {verify: hmac-sha256, secrets: [crm-hook-new, crm-hook], body: statemachines/schemas/crm-hook.json}\n")
	must(p, os.WriteFile(filepath.Join(p.dir, "statemachines/schemas/crm-hook.json"), []byte(`{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "title": "What the CRM says when an export is ready",
  "type": "object",
  "properties": {"exported": {"type": "string", "format": "date-time"}, "file": {"type": "string", "format": "file"}},
  "required": ["exported", "file"],
  "additionalProperties": false
}
`), 0o644))
}

// replace replaces pairs of texts, each of which must be there once.
func (p *projectCopy) replace(file string, pairs ...string) {
	p.Helper()
	path := filepath.Join(p.dir, file)
	content, err := os.ReadFile(path)
	must(p, err)
	text := string(content)
	for i := 0; i < len(pairs); i += 2 {
		if strings.Count(text, pairs[i]) != 1 {
			p.Fatalf("%s has %q %d times: the test's patch does not fit it any more", file, pairs[i], strings.Count(text, pairs[i]))
		}
		text = strings.Replace(text, pairs[i], pairs[i+1], 1)
	}
	must(p, os.WriteFile(path, []byte(text), 0o644))
}

// build makes the command line and compiles the patched loop.
func (p *projectCopy) build() {
	p.Helper()
	say("the project is copied to %s, S1 gets a webhook beside its schedule", p.dir)
	p.timed("build", p.dir, "go", "build", "-trimpath", "-o", "build/bin/", "./cmd/outerloop", "./cmd/outerloop-aws")
	note("%s", head(p.outerloop(0, "compile", loopName), 8))
}

// embedded is what the same run comes to on the embedded engine.
func (p *projectCopy) embedded() outcome {
	p.Helper()
	say("S1 on the embedded engine, to compare with")
	c := p.commands
	c.env = append(c.env, "OUTERLOOP_TARGET=local")
	c.outerloop(-1, "run", loopName, "--input", "exports/crm.csv", "--as-of", nominal)
	var runs []shown
	c.decode(c.outerloop(0, "runs", loopName, "-o", "json"), &runs)
	if len(runs) != 1 {
		p.Fatalf("%d runs", len(runs))
	}
	c.decide(runs[0].ID)
	p.states = c.statesEntered(runs[0].ID)
	out := c.outcome(runs[0].ID)
	files, err := filepath.Glob(filepath.Join(p.dir, ".outerloop", "outbox", "*"))
	must(p, err)
	for _, file := range files {
		content, err := os.ReadFile(file)
		must(p, err)
		out.Mails[filepath.Base(file)] = string(content)
	}
	if len(out.Mails) == 0 {
		p.Fatal("the embedded run sent no mail")
	}
	note("%d steps: %s; %d mails", len(out.Steps), c.show(runs[0].ID).counts(), len(out.Mails))
	return out
}

// statesEntered counts them in the embedded engine's history.
func (c commands) statesEntered(run string) (n int) {
	c.Helper()
	var v struct {
		History []struct {
			Events []struct {
				Type string `json:"type"`
			} `json:"events"`
		} `json:"history"`
	}
	c.decode(c.outerloop(0, "show", run, "--history", "-o", "json"), &v)
	for _, execution := range v.History {
		for _, event := range execution.Events {
			if strings.HasSuffix(event.Type, "StateEntered") {
				n++
			}
		}
	}
	return n
}

// outcome reads what a run came to, but for its mails: every step's outcome, and
// the dashboard's figures.
func (c commands) outcome(run string) outcome {
	c.Helper()
	var last []struct {
		Output map[string]any `json:"output"`
	}
	c.decode(c.outerloop(0, "show", run, "--step", "dashboard", "-o", "json"), &last)
	if len(last) != 1 || last[0].Output["mails"] == nil {
		c.Fatalf("the dashboard of %s is %v", run, last)
	}
	return outcome{Dashboard: last[0].Output, Steps: c.show(run).steps(), Mails: map[string]string{}}
}

// outerloop runs the command line; want -1: any code but that of a wrong command line.
func (c commands) outerloop(want int, args ...string) string {
	c.Helper()
	command := exec.CommandContext(c.Context(), filepath.Join(c.dir, "build/bin/outerloop"), args...)
	command.Dir = c.dir
	command.Env = append(os.Environ(), c.env...)
	var out, said bytes.Buffer
	command.Stdout, command.Stderr = &out, &said
	err := command.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		c.Fatal(err)
	}
	if code := command.ProcessState.ExitCode(); want >= 0 && code != want || code == 2 && want != 2 || code < 0 {
		c.Fatalf("outerloop %s: exit %d\n%s%s", strings.Join(args, " "), code, out.String(), said.String())
	}
	if out.Len() == 0 { // what went wrong is told there
		return said.String()
	}
	return out.String()
}

// timed runs a tool and keeps how long it took.
func (p *projectCopy) timed(name, dir string, args ...string) string {
	p.Helper()
	began := time.Now()
	ctx, cancel := context.WithTimeout(p.Context(), 20*time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, args[0], args[1:]...)
	command.Dir = dir
	command.Env = append(os.Environ(), p.env...)
	out, err := command.CombinedOutput()
	p.took[name] = time.Since(began)
	if err != nil {
		p.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, tail(string(out), 40))
	}
	note("%s (%s)", strings.Join(args, " "), p.took[name].Round(100*time.Millisecond))
	return string(out)
}

func tail(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// free is a port that nobody listens to.
func free(t testing.TB) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer listener.Close()
	return strconv.Itoa(listener.Addr().(*net.TCPAddr).Port)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

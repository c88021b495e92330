package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/outerloop-dev/outerloop/cmd/outerloop/cli"
	"github.com/outerloop-dev/outerloop/pkg/console"
	"github.com/outerloop-dev/outerloop/pkg/console/payload"
	"github.com/outerloop-dev/outerloop/pkg/console/stack"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/remote"
	"github.com/outerloop-dev/outerloop/pkg/local"
	"github.com/outerloop-dev/outerloop/pkg/project"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// The SDK's chain of credentials reads the process's environment.
func init() {
	for name, value := range map[string]string{
		"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_EC2_METADATA_DISABLED": "true",
		"AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull,
	} {
		if err := os.Setenv(name, value); err != nil {
			panic(err)
		}
	}
}

// region is Lambda's Invoke over HTTP with one function, the console's, over a
// bundle's own state file.
type region struct {
	t      *testing.T
	engine *local.Engine
	serve  func(context.Context, json.RawMessage) (json.RawMessage, error)
	// instead answers in the function's place; nil: the function does.
	instead func(w http.ResponseWriter, r *http.Request)
	asked   atomic.Int32
	largest atomic.Int32
}

func (g *region) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.asked.Add(1)
	event, err := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(event))
	switch {
	case g.instead != nil:
		g.instead(w, r)
		return
	case err != nil || !strings.Contains(r.Header.Get("Authorization"), "/lambda/aws4_request"):
		http.Error(w, `{"Message":"not signed for lambda"}`, http.StatusForbidden)
		return
	case strings.HasPrefix(r.URL.Path, "/2016-08-19/account-settings"):
		_, _ = io.WriteString(w, `{"AccountLimit":{"ConcurrentExecutions":10}}`)
		return
	case r.URL.Path != "/2015-03-31/functions/acme-console/invocations":
		w.Header().Set("X-Amzn-ErrorType", "ResourceNotFoundException")
		http.Error(w, `{"Message":"Function not found"}`, http.StatusNotFound)
		return
	}
	raw, err := g.serve(r.Context(), event)
	if err != nil {
		w.Header().Set("X-Amz-Function-Error", "Unhandled")
		raw = json.RawMessage(fmt.Sprintf(`{"errorType":"errorString","errorMessage":%q}`, err))
	}
	g.largest.Store(max(g.largest.Load(), int32(len(raw))))
	_, _ = w.Write(raw)
}

// forward does the writes, and lets the deployment work until nothing can move.
type forward struct {
	uses   remote.Uses
	engine *local.Engine
}

func (f forward) Do(ctx context.Context, call remote.Call) (json.RawMessage, error) {
	answer, err := f.uses.Do(ctx, call)
	if err == nil {
		_, err = f.engine.RunUntilIdle(ctx)
	}
	return answer, err
}

// deploy serves a bundle's state file as a deployment, which the bundle knows.
func deploy(t *testing.T, b *bundle) *region {
	t.Helper()
	g := &region{t: t, engine: openEngine(t, b)}
	c := g.engine.Coordinator()
	uses := remote.Of(c).With(remote.Blobs{Blobs: g.engine.Store()})
	api := console.New(console.Config{Readers: c, Forward: forward{uses, g.engine}, Project: "acme", Version: "v1"})
	g.serve = payload.Serve(api, console.TooLarge())
	server := httptest.NewServer(g)
	t.Cleanup(server.Close)
	err := stack.Add(filepath.Join(b.dir, stack.Default), "Outerloop-acme", stack.Stack{
		Console: "acme-console", Region: "eu-central-1", Endpoint: server.URL, Concurrency: 20,
	})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// openEngine owns a bundle's state file with the follow-up loop and its workers.
func openEngine(t *testing.T, b *bundle) *local.Engine {
	t.Helper()
	state := filepath.Join(b.dir, ".outerloop")
	p, problems := project.Open(b.dir)
	bundle, err := p.Bundle("crm-followup")
	if err != nil {
		t.Fatal(err, problems.Err())
	}
	machine, err := os.ReadFile(filepath.Join(b.dir, "statemachines/crm-followup.asl.json"))
	if err != nil {
		t.Fatal(err)
	}
	def, _ := p.Loop("crm-followup")
	pinned := *def
	pinned.Hash = project.Hash(bundle)
	cfg := local.Config{State: filepath.Join(state, "state.db"), Loops: []local.Loop{{Definition: &pinned, Bundle: bundle, Machine: machine}}}
	for _, code := range program().Workers {
		if def.Workers[code.Name()] == nil {
			continue
		}
		given := map[string]worker.Connection{}
		for _, tool := range p.Workers[code.Name()].Charter.Tools {
			c, _ := p.Registry.Connection(tool.Connection)
			given[c.Name] = worker.Connection{Name: c.Name, Kind: c.Kind, Settings: map[string]string{"dir": filepath.Join(state, c.Name), "from": c.From}}
		}
		cfg.Workers = append(cfg.Workers, local.Worker{Code: code, Connections: given})
	}
	e, err := local.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// at runs a command on this machine or, with target aws, on the deployment, at
// one fixed time.
func (b *bundle) at(target string, args ...string) answer {
	b.t.Helper()
	var out, errOut bytes.Buffer
	env := map[string]string{"OUTERLOOP_TARGET": target}
	code := cli.Run(context.Background(), program(), cli.Streams{
		Out: &out, Err: &errOut, Dir: b.dir, Poll: time.Millisecond, Getenv: func(name string) string { return env[name] },
		Now: func() time.Time { return time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC) },
	}, args...)
	return answer{code, out.String(), errOut.String()}
}

// same demands that two commands ended and printed alike, byte for byte.
func same(t *testing.T, what string, here, there answer) {
	t.Helper()
	if here != there {
		t.Errorf("outerloop %s: exit %d here, %d there\nhere\n%s%s\nthere\n%s%s", what, here.code, there.code, here.out, here.err, there.out, there.err)
	}
}

// R64, R66, R67: a command that looks prints the same, byte for byte, whether it
// reads the state file of this machine or asks the deployment over it.
func TestTheSameIsSeenFromAfar(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.run(cli.ExitWaiting)
	run := b.newest()
	g := deploy(t, b)
	lines := [][]string{
		{"runs"}, {"runs", "crm-followup", "--open"}, {"runs", "-n", "1"}, {"runs", "crm-followups"}, {"runs", "--limit", "0"},
		{"show"}, {"show", "--steps"}, {"show", run[:len(run)-5]}, {"show", "nobody"}, {"show", "ü/../?\x1b"}, {"show", run, "--step", "follow_up/draft"},
		{"show", run, "--step", "nothing"}, {"log"}, {"log", "nobody"}, {"approvals"}, {"approvals", run}, {"approvals", "nobody"},
		{"exceptions"}, {"exceptions", run}, {"actions"}, {"actions", "crm-followup", "--key", "D-1"},
		{"approve", "nobody", "--by", "lead@acme.example", "--reason", "r"}, {"resolve", "nobody", "retry", "--by", "lead@acme.example", "--reason", "r"},
		{"approve"}, {"cancel", "nobody", "--by", "lead@acme.example", "--reason", "r"}, {"show", "x", "y"},
	}
	for _, line := range lines {
		for _, more := range [][]string{nil, {"-o", "json"}} {
			args := append(append([]string{}, line...), more...)
			here, there := b.at("", args...), b.at("aws", args...)
			if line[0] == "runs" && len(line) > 1 && line[1] == "crm-followups" { // the one names a directory, the other a stack
				if here.code != cli.ExitUsage || there.code != cli.ExitUsage || !strings.Contains(there.err, "did you mean crm-followup?") {
					t.Errorf("a loop that there is not: %+v, %+v", here, there)
				}
				continue
			}
			same(t, strings.Join(args, " "), here, there)
		}
	}
	if g.asked.Load() == 0 || g.largest.Load() > payload.MaxAnswer {
		t.Errorf("asked %d times, largest %d", g.asked.Load(), g.largest.Load())
	}
	flagged := b.at("", "approvals", "--target", "aws", "--stack", "Outerloop-acme")
	flagged.has(t, "approve ", " --target aws --stack Outerloop-acme")
	b.at("aws", "show", "--history").has(t, "Step Functions", "-g1")
}

// R25: what is sensitive is shown on this machine only; a deployment is not even asked.
func TestRevealIsOfThisMachine(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, command := range []string{"show", "approvals", "exceptions"} {
		refused := b.want(cli.ExitUsage, command, "--reveal", "--target", "aws")
		refused.has(t, "--reveal shows what a state file of this machine holds", "without --reveal everything else is shown")
	}
}

// moment is a time as it is printed, and how long something took.
var moment = regexp.MustCompile(`\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?Z?|(\d+ (ms|s|min|h) ?)+|\d+\.\d s`)

// places are lines about directories of this machine, which a deployment has not.
var places = regexp.MustCompile(`(?m)^(outbox|page) .*\n`)

func masked(a answer) answer {
	for _, text := range []*string{&a.out, &a.err} {
		*text = places.ReplaceAllString(moment.ReplaceAllString(*text, "T"), "")
	}
	return a
}

// twin is a copy of a bundle with all its state.
func twin(t *testing.T, b *bundle) *bundle {
	t.Helper()
	copied := &bundle{t: t, dir: t.TempDir()}
	if err := os.CopyFS(copied.dir, os.DirFS(b.dir)); err != nil {
		t.Fatal(err)
	}
	return copied
}

// R64, R66: what people decide has the same effect and the same words, here and
// on the deployment: approvals, late and wrong words, strangers, cancel.
func TestTheSameIsDecidedFromAfar(t *testing.T) {
	t.Parallel()
	here := setup(t)
	here.run(cli.ExitWaiting)
	waiting := list(t, here.want(0, "approvals", "-o", "json").out)
	there := twin(t, here)
	deploy(t, there)
	run := here.newest()
	id := func(i int) string { return waiting[i]["id"].(string) }
	me := []string{"--by", "lead@acme.example", "--reason", "known <customer> & friend"}
	there.write("wrong.json", `{"subject": 7}`)
	here.write("wrong.json", `{"subject": 7}`)
	for _, line := range [][]string{
		append([]string{"approve", id(0)}, me...),
		append([]string{"approve", id(0)}, me...),
		append([]string{"reject", id(0)}, me...),
		append([]string{"reject", id(1), "-o", "json"}, me...),
		append([]string{"approve", id(2)[:9], "-o", "json"}, me...),
		{"approve", id(3), "--by", "stranger@evil.example", "--reason", "r"},
		append([]string{"approve", id(3), "--edit", "wrong.json"}, me...),
		{"run", "crm-followup", "--input", "exports/crm.csv", "--as-of", "2026-11-30"},
		{"run", "crm-followup", "--input", "exports/crm.csv", "--as-of", "2026-11-29"},
		{"run", "crm-followup", "--input", "nothing.csv"},
		{"run", "crm-followup"},
		append([]string{"redrive", run}, me...),
		append([]string{"rollback", run}, me...),
		{"pause", "crm-followup"},
		{"resume", "crm-followup", "-o", "json"},
		append([]string{"cancel", run[:len(run)-3]}, me...),
		append([]string{"cancel", run}, me...),
		append([]string{"redrive", run}, me...),
		append([]string{"approve", id(4)}, me...),
		{"show", run}, {"show", run, "-o", "json"}, {"runs"}, {"approvals"}, {"exceptions"}, {"actions"},
	} {
		a, b := masked(here.at("", line...)), masked(there.at("aws", line...))
		same(t, strings.Join(line, " "), a, b)
	}
	there.at("aws", "pause", "nothing").has(t, "no such loop")
	there.at("aws", "prune").has(t, "0 runs deleted")
	there.at("aws", "prune", "--histories").has(t, "Step Functions")
}

// A run that is started on the deployment waits, is driven on by an approval, and
// ends as one of this machine does.
func TestARunFromAfar(t *testing.T) {
	t.Parallel()
	b := setup(t)
	deploy(t, b)
	b.at("aws", "runs").has(t, "no runs")
	b.at("aws", "show").has(t, "there are no runs yet")
	args := []string{"run", "crm-followup", "--input", "exports/crm.csv", "--as-of", "2026-11-30"}
	started := b.at("aws", args...)
	if started.code != cli.ExitWaiting {
		t.Fatalf("exit %d\n%s%s", started.code, started.out, started.err)
	}
	started.has(t, "started for", "approvals wait for a person", "outerloop approve ")
	waiting := list(t, b.at("aws", "approvals", "-o", "json").out)
	for _, request := range waiting {
		for i, want := range []int{0, cli.ExitFailed} {
			got := b.at("aws", "approve", request["id"].(string), "--by", "lead@acme.example", "--reason", "checked")
			if got.code != want {
				t.Fatalf("approval %d: exit %d, want %d\n%s%s", i, got.code, want, got.out, got.err)
			}
		}
	}
	done := b.at("aws", args...)
	if done.code != 0 || !strings.Contains(done.out, "completed") || !strings.Contains(done.out, "dashboard-sales.html") {
		t.Errorf("in the end: exit %d\n%s%s", done.code, done.out, done.err)
	}
	if page, err := os.ReadFile(filepath.Join(b.dir, ".outerloop/Outerloop-acme/dashboard-sales.html")); err != nil || !bytes.Contains(page, []byte("<html")) {
		t.Errorf("the page: %v, %d bytes", err, len(page))
	}
	other := b.at("aws", "run", "crm-followup", "--input", "exports/crm.csv", "--as-of", "2026-11-30", "--model", "openai:http://127.0.0.1:1#m")
	if other.code != cli.ExitUsage {
		t.Errorf("--model from afar: exit %d\n%s", other.code, other.err)
	}
	for _, want := range []bool{false, true} {
		event := b.at("aws", "emit", "session.closed", "--data", `{"booking": "BK-1042", "closed_at": "2026-11-30T17:00:00Z"}`, "--id", "s-77", "-o", "json")
		if event.code != 0 || object(t, event.out)["duplicate"] != want {
			t.Errorf("an event: exit %d\n%s%s", event.code, event.out, event.err)
		}
	}
	doctor := b.at("aws", "doctor", "-o", "json")
	found := map[string]document{}
	for _, f := range list(t, doctor.out) {
		found[f["id"].(string)] = f
	}
	for id, ok := range map[string]bool{"console": true, "watch": false, "concurrency": false, "loop crm-followup": true, "loops": true} {
		if f := found[id]; f == nil || f["ok"] != ok {
			t.Errorf("doctor says of %s: %v", id, f)
		}
	}
	if f := found["loops"]; f["note"] != true || !strings.Contains(f["detail"].(string), "booking") {
		t.Errorf("loops that are not deployed: %v", f)
	}
	// What is deployed is another than what is here: that is wrong, whoever of the two is newer.
	file := filepath.Join(b.dir, "statemachines/crm-followup.loop.yaml")
	text, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(file, append(text, "# changed\n"...), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	b.at("aws", "doctor").has(t, "wrong  loop crm-followup: version 1 is deployed and differs from this project's", "note   loops: ")
}

// What can be wrong with a deployment is said with what to do about it, and
// nothing that must not happen twice is sent twice.
func TestADeploymentThatFails(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.run(cli.ExitWaiting)
	id := list(t, b.want(0, "approvals", "-o", "json").out)[0]["id"].(string)
	g := deploy(t, b)
	says := func(status int, kind, body string) func(http.ResponseWriter, *http.Request) {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set(kind, map[string]string{"X-Amz-Function-Error": "Unhandled"}[kind]+strings.TrimPrefix(kind, "X-Amz-Function-Error"))
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}
	}
	typed := func(status int, name string) func(http.ResponseWriter, *http.Request) {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Amzn-ErrorType", name)
			w.WriteHeader(status)
			_, _ = io.WriteString(w, `{"message":"said by Lambda"}`)
		}
	}
	for name, c := range map[string]struct {
		instead func(http.ResponseWriter, *http.Request)
		want    string
		code    int
	}{
		"function error": {says(200, "X-Amz-Function-Error", `{"errorType":"Runtime.ExitError","errorMessage":"exit status 1"}`), "the log of the console's function", cli.ExitFailed},
		"denied":         {typed(403, "AccessDeniedException"), "lambda:InvokeFunction", cli.ExitFailed},
		"absent":         {typed(404, "ResourceNotFoundException"), "outerloop-aws connect STACK", cli.ExitFailed},
		"throttled":      {typed(429, "TooManyRequestsException"), "nothing was done", cli.ExitFailed},
		"no JSON":        {says(200, "X-None", `hello`), "no HTTP response", cli.ExitFailed},
		"too large":      {says(200, "X-None", `{"statusCode":413,"body":`+fmt.Sprintf("%q", console.TooLarge())+`}`), "ask for less of it", cli.ExitFailed},
	} {
		g.instead = c.instead
		got := b.at("aws", "approvals")
		if got.code != c.code || !strings.Contains(got.err, c.want) || got.out != "" {
			t.Errorf("%s: exit %d\n%s%s", name, got.code, got.out, got.err)
		}
	}
	// The decision is done, and its answer lost.
	decision := func() answer {
		return b.at("aws", "approve", id, "--by", "lead@acme.example", "--reason", "r")
	}
	lost := 0
	g.instead = func(w http.ResponseWriter, r *http.Request) {
		event, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		raw, err := g.serve(r.Context(), event)
		if bytes.Contains(event, []byte("/decision")) {
			lost++
			typed(500, "ServiceException")(w, r)
			return
		}
		if err != nil {
			t.Error(err)
		}
		_, _ = w.Write(raw)
	}
	if got := decision(); got.code != cli.ExitFailed || lost != 1 || !strings.Contains(got.err, "whether it was done is not known") {
		t.Errorf("a lost answer: sent %d times, exit %d\n%s%s", lost, got.code, got.out, got.err)
	}
	g.instead = nil
	if got := decision(); got.code != cli.ExitFailed || !strings.Contains(got.err, "already decided: approved") {
		t.Errorf("deciding again: exit %d\n%s%s", got.code, got.out, got.err)
	}
}

// Where runs are is said once, and what is about this machine says so.
func TestTargetsAreChecked(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"runs", "--target", "moon"}, "--target local, aws"},
		{[]string{"runs", "--target", "aws"}, "outerloop-aws connect STACK"},
		{[]string{"runs", "--target", "aws", "--state", "x.db"}, "write one of them"},
		{[]string{"runs", "--stack", "x"}, "write --target aws with them"},
		{[]string{"runs", "--target", "http://127.0.0.1:1", "--stack", "x"}, "name a deployment on AWS"},
		{[]string{"validate", "--target", "aws"}, "about this machine"},
		{[]string{"backup", "x", "--target", "aws"}, "about this machine"},
		{[]string{"asl", "run", "x", "--target", "aws"}, "about this machine"},
		{[]string{"webhook", "payments", "--body", "{}", "--target", "aws"}, "about this machine"},
	} {
		got := b.at("", c.args...)
		if got.code != cli.ExitUsage || !strings.Contains(got.err, c.want) {
			t.Errorf("%v: exit %d\n%s", c.args, got.code, got.err)
		}
	}
	if got := b.at("aws", "validate", "./..."); got.code != 0 {
		t.Errorf("validate where the environment names a target: exit %d\n%s", got.code, got.err)
	}
	b.write(".outerloop/aws.json", `{"default":"a","stacks":{"a":{"console":"c"}}, "frob": 1}`)
	if got := b.at("aws", "runs"); got.code != cli.ExitUsage || !strings.Contains(got.err, "frob") {
		t.Errorf("a file that is wrong: exit %d\n%s", got.code, got.err)
	}
	b.write(".outerloop/aws.json", `{"default":"a","stacks":{"a":{"console":"c","region":"eu-central-1"}}}`)
	if got := b.at("aws", "runs", "--stack", "b"); got.code != cli.ExitUsage || !strings.Contains(got.err, "known: a") {
		t.Errorf("an unknown stack: exit %d\n%s", got.code, got.err)
	}
}

// The endpoint and the console's name may come from the environment, as the SDK
// and scripts have them; plain HTTP needs neither.
func TestTargetsOfTheEnvironment(t *testing.T) {
	b := setup(t)
	b.run(cli.ExitWaiting)
	g := deploy(t, b)
	want := b.at("", "runs")
	if err := os.Remove(filepath.Join(b.dir, stack.Default)); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(g)
	t.Cleanup(server.Close)
	t.Setenv("AWS_ENDPOINT_URL", server.URL)
	t.Setenv("AWS_REGION", "eu-central-1")
	t.Setenv("OUTERLOOP_CONSOLE", "acme-console")
	var out bytes.Buffer
	code := cli.Run(context.Background(), program(), cli.Streams{Out: &out, Err: &out, Dir: b.dir}, "runs", "--target", "aws")
	if code != want.code || out.String() != want.out {
		t.Errorf("exit %d\n%s\nwant\n%s", code, out.String(), want.out)
	}
	plain := httptest.NewServer(console.New(console.Config{Readers: g.engine.Coordinator()}))
	t.Cleanup(plain.Close)
	same(t, "runs over HTTP", want, b.at("", "runs", "--target", plain.URL))
	b.at("", "pause", "crm-followup", "--target", plain.URL).has(t, "only reads")
}

package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/outerloop-dev/outerloop/cmd/outerloop/cli"
)

// inbox is a Slack-compatible endpoint.
type inbox struct {
	*httptest.Server
	mu    sync.Mutex
	texts []string
}

func newInbox(t *testing.T) *inbox {
	t.Helper()
	in := &inbox{}
	in.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var got struct{ Text string }
		if err := json.NewDecoder(r.Body).Decode(&got); err != nil {
			t.Error(err)
		}
		in.mu.Lock()
		defer in.mu.Unlock()
		in.texts = append(in.texts, got.Text)
		_, _ = io.WriteString(w, "ok")
	}))
	t.Cleanup(in.Close)
	return in
}

func (in *inbox) all() []string {
	in.mu.Lock()
	defer in.mu.Unlock()
	return append([]string{}, in.texts...)
}

// chat gives the sales group a channel.
func (b *bundle) chat(url string) {
	b.t.Helper()
	b.edit("outerloop.yaml", `sales-ops: {members: [lead], alert: [email]`, `sales-ops: {members: [lead], alert: [chat]`)
	b.edit("outerloop.yaml", "connections:\n", "connections:\n  chat: {kind: slack, url: \""+url+"\"}\n")
}

// R74, R36: a test alert goes from end to end, its reader confirms it, and
// `ready` knows; so does it know the last drill.
func TestReadyKnowsAlertAndDrill(t *testing.T) {
	t.Parallel()
	b, in := setup(t), newInbox(t)
	b.chat(in.URL)
	b.want(0, "doctor", "--alert", "sales-ops").has(t, "a test alert went to sales-ops over chat")
	texts := in.all()
	code := regexp.MustCompile(`--confirm ([0-9a-f]+)`).FindStringSubmatch(strings.Join(texts, "\n"))
	if len(texts) != 1 || code == nil {
		t.Fatalf("sent %q", texts)
	}
	b.want(cli.ExitUsage, "doctor", "--confirm", "12345678", "--group", "sales-ops", "--by", "lead@acme.example").has(t, "no test alert")
	b.want(0, "doctor", "--confirm", code[1], "--group", "sales-ops", "--by", "lead@acme.example").has(t, "lead@acme.example read it")
	b.want(0, "drill", "crm-followup", "--record", "--by", "lead@acme.example").has(t, "12 of 12 held")
	status := map[string]string{}
	for _, line := range list(t, b.want(cli.ExitFailed, "ready", "crm-followup", "-o", "json").out) {
		status[line["id"].(string)] = line["status"].(string)
	}
	for _, id := range []string{"alert", "drill", "breaker"} {
		if status[id] != "held" {
			t.Errorf("%s is %s", id, status[id])
		}
	}
}

// R40: a drill leaves nothing, and reads nothing but the project.
func TestDrillLeavesNoState(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.want(0, "drill", "month-end").has(t, "expected", "happened", "9 of 9 held, 3 skipped; scripted values reach 1 of 1 steps")
	if _, err := os.Stat(filepath.Join(b.dir, ".outerloop")); !os.IsNotExist(err) {
		t.Errorf("a drill left a state: %v", err)
	}
	var report struct{ Rows []document }
	if err := json.Unmarshal([]byte(b.want(0, "drill", "month-end", "-o", "json").out), &report); err != nil || len(report.Rows) != 12 {
		t.Errorf("%d rows, %v", len(report.Rows), err)
	}
	b.want(cli.ExitUsage, "drill", "month-end", "--record").has(t, "--by")
	b.want(cli.ExitFailed, "drill", "month-end", "--step", "nowhere").has(t, "does not reach")
}

// R36, R41: a failure reaches the group's channel, once.
func TestFailureReachesTheChannel(t *testing.T) {
	t.Parallel()
	b, in := setup(t), newInbox(t)
	b.chat(in.URL)
	b.edit("outerloop.yaml", "research: {members: [analyst, me], alert: [email]}", "research: {members: [analyst, me], alert: [chat]}")
	if err := os.RemoveAll(filepath.Join(b.dir, "samples/paper-digest/archive")); err != nil {
		t.Fatal(err)
	}
	b.want(cli.ExitWaiting, "run", "paper-digest", "--input", "samples/paper-digest/query.json", "--as-of", "2026-11-27")
	texts := in.all()
	if len(texts) != 1 || !strings.Contains(texts[0], "exception in paper-digest") || !strings.Contains(texts[0], "outerloop resolve") {
		t.Errorf("sent %q", texts)
	}
}

// R36: a channel that hangs changes nothing of what a command does and says.
func TestHangingChannelChangesNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}))
	t.Cleanup(server.Close)
	b.chat(server.URL)
	b.edit("outerloop.yaml", "research: {members: [analyst, me], alert: [email]}", "research: {members: [analyst, me], alert: [chat]}")
	if err := os.RemoveAll(filepath.Join(b.dir, "samples/paper-digest/archive")); err != nil {
		t.Fatal(err)
	}
	answer := b.want(cli.ExitWaiting, "run", "paper-digest", "--input", "samples/paper-digest/query.json", "--as-of", "2026-11-27")
	answer.has(t, "awaiting approval", "exceptions")
	if strings.Contains(answer.err, "deadline") {
		t.Errorf("the channel's trouble is the command's: %s", answer.err)
	}
}

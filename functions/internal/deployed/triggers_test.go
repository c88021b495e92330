package deployed_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"context"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/functions/internal/boot"
	"github.com/outerloop-dev/outerloop/functions/internal/hook"
	"github.com/outerloop-dev/outerloop/functions/internal/lambdaagent"
	"github.com/outerloop-dev/outerloop/functions/workers/agent"
	"github.com/outerloop-dev/outerloop/functions/workers/callback"
	"github.com/outerloop-dev/outerloop/functions/workers/helpdesk"
	purchaseorders "github.com/outerloop-dev/outerloop/functions/workers/purchase-orders"
	quotepicker "github.com/outerloop-dev/outerloop/functions/workers/quote-picker"
	"github.com/outerloop-dev/outerloop/functions/workers/refund"
	shoporder "github.com/outerloop-dev/outerloop/functions/workers/shop-order"
	stocklevel "github.com/outerloop-dev/outerloop/functions/workers/stock-level"
	suppliera "github.com/outerloop-dev/outerloop/functions/workers/supplier-a"
	supplierb "github.com/outerloop-dev/outerloop/functions/workers/supplier-b"
	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/remote"
)

// outgoing is the trigger's queue.
type outgoing struct{ messages []string }

func (q *outgoing) SendMessage(_ context.Context, in *sqs.SendMessageInput, _ ...func(*sqs.Options)) (*sqs.SendMessageOutput, error) {
	q.messages = append(q.messages, *in.MessageBody)
	return &sqs.SendMessageOutput{}, nil
}

// hooked sends a signed webhook and hands what was queued to the trigger, twice.
func (a *account) hooked(name, id, body string) {
	a.Helper()
	q := &outgoing{}
	f := hook.New(hook.Config{
		Webhooks: map[string]boot.Webhook{name: {Verify: "hmac-sha256", Secrets: []string{"key"}}},
		Secret:   func(context.Context, string) (string, error) { return "key", nil }, Queue: q, Now: a.clock.Now,
	})
	stamp := fmt.Sprint(a.clock.Now().Unix())
	mac := hmac.New(sha256.New, []byte("key"))
	fmt.Fprintf(mac, "%s.%s.%s", id, stamp, body)
	req := events.LambdaFunctionURLRequest{RawPath: "/" + name, Body: body, Headers: map[string]string{
		"webhook-id": id, "webhook-timestamp": stamp, "webhook-signature": "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)),
	}}
	req.RequestContext.HTTP.Method = http.MethodPost
	raw, err := json.Marshal(req)
	a.must(err)
	out, err := f.Handle(a.Context(), raw)
	a.must(err)
	if out.(events.LambdaFunctionURLResponse).StatusCode != http.StatusAccepted {
		a.Fatalf("the hook says %+v", out)
	}
	batch, err := json.Marshal(map[string]any{"Records": []any{
		map[string]string{"messageId": "m-1", "body": q.messages[0]}, map[string]string{"messageId": "m-2", "body": q.messages[0]}, map[string]string{"messageId": "bad", "body": "hello"},
	}})
	a.must(err)
	answer, failed := a.call("acme-trigger", batch)
	if failed != nil || string(answer) != `{"batchItemFailures":[{"itemIdentifier":"bad"}]}` {
		a.Fatalf("the trigger says %s, %v", answer, failed)
	}
}

func (a *account) runs(loop string) []coordinator.RunView {
	a.Helper()
	all, err := a.open().Runs(a.Context(), coordinator.RunsQuery{Loop: loop})
	a.must(err)
	return all
}

// agent makes the function of a charter of kind agent, with recorded models.
func (a *account) agent(name string) {
	a.Helper()
	models := &lambdaagent.Models{Objects: a.bucket, Bucket: "acme", Now: a.clock.Now}
	w, err := agent.New(name, agent.Options{Open: models.Open})
	a.must(err)
	a.worker(w)
}

func (a *account) folder(connection, path string) {
	a.Helper()
	files, err := os.ReadDir(filepath.Join(root, path))
	a.must(err)
	for _, file := range files {
		a.bucket.put(a, "connections/"+connection+"/"+file.Name(), filepath.Join(root, path, file.Name()))
	}
}

// A signed webhook starts one run, however often it is delivered; the agent
// asks its recorded model and has a tool's function called, which does its
// action under its own gate; a refund over the limit waits for a person and is
// then made once (R8, R11, R44).
func TestAgentOnFunctions(t *testing.T) {
	t.Parallel()
	a := newAccount(t, time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC))
	a.folder("shop", "samples/support-agent/shop")
	a.folder("recorded", "samples/recorded")
	a.deploy("support-agent", shoporder.Worker, refund.Worker, callback.Worker, helpdesk.Worker)
	a.agent("support-agent")
	for i, ticket := range []string{"T-2001", "T-2002"} {
		body, err := os.ReadFile(filepath.Join(root, "samples/support-agent/requests", ticket+".json"))
		a.must(err)
		a.hooked("chat", "msg-"+ticket, string(body))
		a.until(a.clock.Now().Add(time.Hour))
		if n := len(a.runs("support-agent")); n != i+1 {
			t.Fatalf("%d runs", n)
		}
	}
	done, waits := a.runs("support-agent")[1], a.runs("support-agent")[0]
	if done.Status != outerloop.StatusCompleted || waits.Status != "awaiting_approval" {
		show, _ := a.open().Show(t.Context(), done.ID)
		t.Fatalf("%s %s (%s), %s %s: %+v", done.Subject, done.Status, done.Reason, waits.Subject, waits.Status, show.Steps)
	}
	if n := len(a.bucket.keys("connections/refunds/")); n != 1 {
		t.Errorf("%d refunds before anybody decided", n)
	}
	for _, id := range a.approvals(a.open(), waits.ID) {
		if reply := a.use("acme-approval", remote.UseDecide, remote.Decide{Approval: id, Verdict: coordinator.Approve, By: "agent-lead@acme.example", Reason: "checked"}); reply.Error != nil {
			t.Errorf("deciding: %v", reply.Error)
		}
	}
	a.until(a.clock.Now().Add(time.Hour))
	if run := a.runs("support-agent")[0]; run.Status != outerloop.StatusCompleted {
		t.Errorf("after the approval the run is %s: %s", run.Status, run.Reason)
	}
	if refunds, answers := len(a.bucket.keys("connections/refunds/")), len(a.bucket.keys("connections/helpdesk/")); refunds != 2 || answers != 2 {
		t.Errorf("%d refunds, %d answers", refunds, answers)
	}
	if a.counts["invoked acme-worker-refund"] == 0 || a.counts["invoked acme-gate-refund"] == 0 {
		t.Errorf("no tool was called: %v", a.counts)
	}
}

// A monitor's fire has its probe's function asked, at most once in its interval,
// and starts a run for each condition (R6).
func TestMonitorOnFunctions(t *testing.T) {
	t.Parallel()
	a := newAccount(t, time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC))
	a.folder("supplier-a", "samples/inventory-watch/supplier-a")
	a.folder("supplier-b", "samples/inventory-watch/supplier-b")
	a.deploy("inventory-watch", stocklevel.Worker, suppliera.Worker, supplierb.Worker, quotepicker.Worker, purchaseorders.Worker)
	fire := `{"trigger":{"loop":"inventory-watch","index":0,"scheduled":"2026-11-30T08:00:00Z"}}`
	look := func() {
		t.Helper()
		if out, failed := a.call("acme-trigger", []byte(fire)); failed != nil {
			t.Fatalf("%v, %s", failed, out)
		}
	}
	look() // its list is not there: the look failed, and the next one is due in half an hour
	look()
	if n := a.counts["invoked acme-worker-stock-level"]; n != 1 || len(a.runs("inventory-watch")) != 0 {
		t.Errorf("%d looks, %d runs", n, len(a.runs("inventory-watch")))
	}
	a.folder("stock", "samples/inventory-watch/stock")
	a.until(a.clock.Now().Add(30 * time.Minute))
	look()
	look()
	if n := a.counts["invoked acme-worker-stock-level"]; n != 2 {
		t.Errorf("%d looks", n)
	}
	a.until(a.clock.Now().Add(20 * time.Minute))
	runs := a.runs("inventory-watch")
	if len(runs) == 0 || len(a.bucket.keys("connections/purchasing/")) == 0 {
		t.Errorf("%d runs, %d orders", len(runs), len(a.bucket.keys("connections/purchasing/")))
	}
}

// An event of the bus is one event however often it is told; one that does not
// fit its schema is refused by name. A schedule whose file is missing starts
// nothing and says so; the watch starts a run that nobody fired.
func TestEventsAndMissedFires(t *testing.T) {
	t.Parallel()
	a := newAccount(t, monday.Add(-24*time.Hour))
	a.deploy(s1, s1Crew...)
	if out, failed := a.call("acme-watch", []byte(`{}`)); failed != nil {
		t.Fatalf("%v, %s", failed, out)
	}
	a.clock.set(monday.Add(3 * time.Second))
	if out, failed := a.fire("2026-11-30T06:00:00Z"); failed != "" || out.Run != "" || !strings.Contains(out.NotDue, "aws s3 cp exports/crm.csv s3://acme/inputs/exports/crm.csv") {
		t.Errorf("without its file: %+v, %s", out, failed)
	}
	a.bucket.put(t, "inputs/"+s1Files, filepath.Join(root, s1Files))
	a.clock.set(monday.Add(24*time.Hour + time.Hour)) // Tuesday's fire did not come
	if out, failed := a.call("acme-watch", []byte(`{"source":"aws.scheduler"}`)); failed != nil || !strings.Contains(string(out), `"caught_up":1`) {
		t.Errorf("%v, %s", failed, out)
	}
	if runs := a.runs(s1); len(runs) != 1 || runs[0].Subject != "2026-12-01" {
		t.Errorf("runs %+v", runs)
	}
	event := `{"detail-type":"session.closed","id":"e-1","time":"2026-12-01T07:00:00Z","source":"acme","detail":{"booking":"B-1"}}`
	first, failed := a.call("acme-trigger", []byte(event))
	again, failed2 := a.call("acme-trigger", []byte(event))
	if failed != nil || failed2 != nil || !strings.Contains(string(first), `"duplicate":false`) || !strings.Contains(string(again), `"duplicate":true`) {
		t.Errorf("%s %v, %s %v", first, failed, again, failed2)
	}
	for _, wrong := range []string{`{"detail-type":"a:b","id":"x"}`, `{}`, `[]`, `{"trigger":{"loop":"nobody","index":0,"scheduled":"2026-11-30T06:00:00Z"}}`} {
		if out, failed := a.call("acme-trigger", []byte(wrong)); failed == nil {
			t.Errorf("%s: %s", wrong, out)
		}
	}
}

// A file that a webhook names is one of the folder inputs/ of the bucket: the run
// gets its content. Without it nothing starts, and a name that leads out of the
// folder is refused.
func TestFilesOfWebhooks(t *testing.T) {
	t.Parallel()
	a := newAccount(t, time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC))
	a.deploy("invoice")
	scan := func(id, file string) int {
		t.Helper()
		a.hooked("scanner", id, `{"supplier":"S-9","number":"`+id+`","file":"`+file+`","received":"2026-11-30T07:59:00Z","sent_by":"scan@acme.example"}`)
		return len(a.runs("invoice"))
	}
	if n := scan("R-1", "scans/r1.txt"); n != 0 {
		t.Errorf("%d runs without the file", n)
	}
	a.bucket.put(t, "inputs/scans/r1.txt", filepath.Join(root, s1Files))
	if n := scan("R-2", "../blobs/r1.txt"); n != 0 {
		t.Errorf("%d runs of a file outside", n)
	}
	// An event of the bus starts its loop as well, with the same folder (R11).
	uploaded := `{"detail-type":"invoice.uploaded","id":"e-9","time":"2026-11-30T08:00:00Z","detail":{"supplier":"S-8","number":"N-1","file":"scans/r1.txt","by":"scan@acme.example"}}`
	if out, failed := a.call("acme-trigger", []byte(uploaded)); failed != nil || len(a.runs("invoice")) != 1 {
		t.Errorf("%v, %s; %d runs", failed, out, len(a.runs("invoice")))
	}
	if n := scan("R-3", "scans/r1.txt"); n != 2 {
		t.Errorf("%d runs", n)
	}
}

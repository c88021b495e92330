package console_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/outerloop-dev/outerloop/internal/sampletest"
	"github.com/outerloop-dev/outerloop/pkg/console"
	"github.com/outerloop-dev/outerloop/pkg/console/client"
	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/remote"
	"github.com/outerloop-dev/outerloop/pkg/local"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// R64, R66: what a client reads over either way is what the coordinator answers
// in process, and every answer is as docs/openapi.json says.
func TestAClientReadsWhatTheCoordinatorAnswers(t *testing.T) {
	t.Parallel()
	w, run := followUp(t)
	doc := documented(t, served(w))
	for name, c := range ways(t, doc) {
		sameReads(t, name, w, c, run)
		odd(t, name, c)
	}
	readsOnly(t, w, run)
	c := ways(t, doc)["lambda"]
	decisions(t, w, c, run)
	others(t, w, c)
	doc.next = console.New(console.Config{Readers: w.Engine.Coordinator(), Forward: undoing{}})
	if view := must(c.Rollback(t.Context(), coordinator.PersonRequest{Run: run, By: "lead@acme.example", Reason: "r"}))(t); view.ID != run+"-undo" {
		t.Errorf("rolled back: %+v", view)
	}
	doc.next = console.New(console.Config{Readers: w.Engine.Coordinator(), Forward: comparing{}})
	if view := must(c.Did(t.Context(), coordinator.DidRequest{Loop: "l", Entry: "x/y:send", By: "lead@acme.example"}))(t); view.Entry != "x/y:send" || !view.Compared {
		t.Errorf("compared: %+v", view)
	}
	get := must(http.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/runs/"+run+"/steps?after=scan", http.NoBody))(t)
	doc.ServeHTTP(&written{head: http.Header{}}, get)
	doc.complete()
}

// undoing answers every use as if it were a rollback.
type undoing struct{}

func (undoing) Do(_ context.Context, call remote.Call) (json.RawMessage, error) {
	var asked remote.Person
	if err := remote.Decode(call.Request, &asked); err != nil {
		return nil, err
	}
	return remote.Encode(coordinator.RunView{ID: asked.Run + "-undo", Counts: map[string]int{}, Waiting: []coordinator.WaitView{}})
}

// comparing answers every use as if it were a comparison with what people did.
type comparing struct{}

func (comparing) Do(_ context.Context, call remote.Call) (json.RawMessage, error) {
	var asked remote.Did
	if err := remote.Decode(call.Request, &asked); err != nil {
		return nil, err
	}
	return remote.Encode(coordinator.ProposalView{Loop: asked.Loop, Entry: asked.Entry, Payload: asked.Payload, Compared: true, By: asked.By})
}

// readsOnly reads through a store that refuses every write, as the console's
// function has it by its role.
func readsOnly(t *testing.T, w *sampletest.World, run string) {
	t.Helper()
	r, err := local.OpenReader(t.Context(), filepath.Join(w.Dir, "state.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	for name, c := range ways(t, console.New(console.Config{Readers: r.Coordinator()})) {
		if _, err := c.Show(t.Context(), run); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for what, err := range map[string]error{
			"approvals": second(c.Approvals(t.Context(), coordinator.ApprovalsQuery{})), "log": second(c.Log(t.Context(), run)),
			"runs": second(c.Runs(t.Context(), coordinator.RunsQuery{})), "loops": second(c.Loops(t.Context())),
			"budgets": second(c.Budgets(t.Context())), "breakers": second(c.Breakers(t.Context())), "status": second(c.Status(t.Context())),
			"outputs": second(c.Outputs(t.Context(), run, "scan")), "actions": second(c.Actions(t.Context(), coordinator.ActionsQuery{})),
		} {
			if err != nil {
				t.Errorf("%s %s: %v", name, what, err)
			}
		}
		is(t, "a decision", second(c.Decide(t.Context(), coordinator.DecideRequest{Approval: "x", Verdict: coordinator.Approve})), store.ErrReadOnly)
	}
}

func second[T any](_ T, err error) error { return err }

// same compares by the JSON that people see.
func same(t *testing.T, what string, got any, err error, want any, wantErr error) {
	t.Helper()
	if err != nil || wantErr != nil {
		t.Errorf("%s: %v, in process %v", what, err, wantErr)
		return
	}
	a, b := must(remote.Encode(got))(t), must(remote.Encode(want))(t)
	if !bytes.Equal(a, b) {
		t.Errorf("%s: from afar\n%.800s\nin process\n%.800s", what, a, b)
	}
}

func sameReads(t *testing.T, way string, w *sampletest.World, c *client.Client, run string) {
	t.Helper()
	ctx, here := t.Context(), w.Engine.Coordinator()
	got, err := c.Runs(ctx, coordinator.RunsQuery{Open: true})
	want, wantErr := here.Runs(ctx, coordinator.RunsQuery{Open: true})
	same(t, way+" runs", got, err, want, wantErr)
	view, err := c.Run(ctx, run)
	wantView, wantErr := here.Run(ctx, run)
	same(t, way+" run", view, err, wantView, wantErr)
	show, err := c.Show(ctx, run)
	wantShow, wantErr := here.Show(ctx, run)
	same(t, way+" show", show, err, wantShow, wantErr)
	log, err := c.Log(ctx, run)
	wantLog, wantErr := here.Log(ctx, run)
	same(t, way+" log", log, err, wantLog, wantErr)
	outputs, err := c.Outputs(ctx, run, "follow_up/draft")
	wantOutputs, wantErr := here.Outputs(ctx, run, "follow_up/draft")
	same(t, way+" outputs", outputs, err, wantOutputs, wantErr)
	approvals, err := c.Approvals(ctx, coordinator.ApprovalsQuery{Run: run})
	wantApprovals, wantErr := here.Approvals(ctx, coordinator.ApprovalsQuery{Run: run})
	same(t, way+" approvals", approvals, err, wantApprovals, wantErr)
	first, err := c.Approvals(ctx, coordinator.ApprovalsQuery{Limit: 3})
	same(t, way+" approvals, three", first, err, wantApprovals[:3], nil)
	actions, err := c.Actions(ctx, coordinator.ActionsQuery{Key: "D-1"})
	wantActions, wantErr := here.Actions(ctx, coordinator.ActionsQuery{Key: "D-1"})
	same(t, way+" actions", actions, err, wantActions, wantErr)
	exceptions, err := c.Exceptions(ctx, coordinator.ExceptionsQuery{})
	wantExceptions, wantErr := here.Exceptions(ctx, coordinator.ExceptionsQuery{})
	same(t, way+" exceptions", exceptions, err, wantExceptions, wantErr)
	loops, err := c.Loops(ctx)
	wantLoops, wantErr := here.Loops(ctx)
	same(t, way+" loops", loops, err, wantLoops, wantErr)
	budgets, err := c.Budgets(ctx)
	wantBudgets, wantErr := here.Budgets(ctx)
	same(t, way+" budgets", budgets, err, wantBudgets, wantErr)
	breakers, err := c.Breakers(ctx)
	wantBreakers, wantErr := here.Breakers(ctx)
	same(t, way+" breakers", breakers, err, wantBreakers, wantErr)
	trusted, err := c.Trusted(ctx, "mailer")
	wantTrusted, wantErr := here.Trusted(ctx, "mailer")
	same(t, way+" trusted", trusted, err, wantTrusted, wantErr)
	if len(trusted) == 0 {
		t.Error(way + ": the mailer's action is not listed")
	}
	proposals, err := c.Proposals(ctx, "mailer")
	wantProposals, wantErr := here.Proposals(ctx, "mailer")
	same(t, way+" proposals", proposals, err, wantProposals, wantErr)
	fact, err := c.Fact(ctx, "dashboard/sales")
	wantFact, wantErr := here.Fact(ctx, "dashboard/sales")
	same(t, way+" fact", fact, err, wantFact, wantErr)
	found, err := c.Find(ctx, run[:len(run)-3])
	same(t, way+" find", found, err, []string{run}, nil)
	if status, err := c.Status(ctx); err != nil || status.Project != "acme" || !status.Watch.At.IsZero() {
		t.Errorf("%s status: %+v, %v", way, status, err)
	}
}

// odd asks for what there is not, by names that mean something to paths, shells
// and terminals.
func odd(t *testing.T, way string, c *client.Client) {
	t.Helper()
	ctx := t.Context()
	for _, id := range []string{"", ".", "..", "a/b", "../../v1/status", "ü–漢", "%2F", "a?b#c", "\x1b[31m", " ", "x y", strings.Repeat("x", 1000), "{run}"} {
		_, err := c.Show(ctx, id)
		is(t, way+" show "+id, err, coordinator.ErrNoRun)
		_, err = c.Log(ctx, id)
		is(t, way+" log "+id, err, coordinator.ErrNoRun)
		_, err = c.Decide(ctx, coordinator.DecideRequest{Approval: id, Verdict: coordinator.Approve, By: "lead@acme.example", Reason: "r"})
		is(t, way+" decide "+id, err, coordinator.ErrNoApproval)
		_, err = c.Resolve(ctx, coordinator.ResolveRequest{Exception: id, Way: coordinator.WayRetry, By: "lead@acme.example"})
		is(t, way+" resolve "+id, err, coordinator.ErrNoException)
		_, err = c.Cancel(ctx, coordinator.PersonRequest{Run: id, By: "lead@acme.example"})
		is(t, way+" cancel "+id, err, coordinator.ErrNoRun)
		is(t, way+" pause "+id, c.Pause(ctx, id), coordinator.ErrNoLoop)
	}
	for _, id := range []string{"a\x00b", strings.Repeat("x", 1100), "\xff\xfe"} { // no key of the store
		if _, err := c.Show(ctx, id); !errors.Is(err, remote.ErrRequest) && !errors.Is(err, coordinator.ErrNoRun) {
			t.Errorf("%s show %q: %v", way, id, err)
		}
	}
	if list, err := c.Outputs(ctx, "no-run", "x"); !errors.Is(err, coordinator.ErrNoRun) {
		t.Errorf("%s outputs: %v, %v", way, list, err)
	}
	if _, err := c.Runs(ctx, coordinator.RunsQuery{After: "frob"}); !errors.Is(err, coordinator.ErrInput) {
		t.Errorf("%s runs after frob: %v", way, err)
	}
	if list, err := c.Runs(ctx, coordinator.RunsQuery{Loop: "no-loop"}); err != nil || len(list) != 0 {
		t.Errorf("%s runs of no loop: %v, %v", way, list, err)
	}
}

// decisions are those of two people at once, of a stranger, and of the wrong form.
func decisions(t *testing.T, w *sampletest.World, c *client.Client, run string) {
	t.Helper()
	ctx := t.Context()
	waiting := must(c.Approvals(ctx, coordinator.ApprovalsQuery{Run: run}))(t)
	id := waiting[0].ID
	_, err := c.Decide(ctx, coordinator.DecideRequest{Approval: id, Verdict: coordinator.Approve, By: "stranger@evil.example", Reason: "r"})
	is(t, "a stranger", err, coordinator.ErrNotAllowed)
	_, err = c.Decide(ctx, coordinator.DecideRequest{Approval: waiting[1].ID, Verdict: coordinator.Approve, By: "lead@acme.example", Reason: "r", Edit: json.RawMessage(`{"x":1}`)})
	var input *coordinator.InputError
	if !errors.As(err, &input) || len(input.Faults) == 0 {
		t.Errorf("an edit that is not valid: %v", err)
	}
	var all sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		all.Go(func() {
			verdict := []string{coordinator.Approve, coordinator.Reject}[i%2]
			_, errs[i] = c.Decide(ctx, coordinator.DecideRequest{Approval: id, Verdict: verdict, By: "lead@acme.example", Reason: "r"})
		})
	}
	all.Wait()
	won := 0
	for _, err := range errs {
		var decided *coordinator.DecidedError
		switch {
		case err == nil:
			won++
		case !errors.As(err, &decided) || decided.ID != id || decided.By == "" || decided.At.IsZero():
			t.Errorf("a late decider is told %v", err)
		}
	}
	if ap := must(c.Approval(ctx, id))(t); ap.Decision == "" {
		t.Errorf("the request as it stands: %+v", ap)
	}
	if won != 1 {
		t.Errorf("%d of 8 deciders at once have won", won)
	}
	if _, err := c.Cancel(ctx, coordinator.PersonRequest{Run: run, By: "stranger@evil.example", Reason: "r"}); !errors.Is(err, coordinator.ErrNotAllowed) {
		t.Errorf("a stranger cancels: %v", err)
	}
	for _, req := range []coordinator.StartRequest{{Loop: "no-loop"}, {Loop: "crm-followup", Input: json.RawMessage(`{"file":1}`)}} {
		if _, err := c.Start(ctx, req); !errors.Is(err, coordinator.ErrNoLoop) && !errors.Is(err, coordinator.ErrInput) {
			t.Errorf("start %+v: %v", req, err)
		}
	}
	w.For(0)
}

// others visits the operations that a run at rest does not show.
func others(t *testing.T, w *sampletest.World, c *client.Client) {
	t.Helper()
	ctx := t.Context()
	raw := func(method, path, body string) (int, string) {
		h := served(w)
		r := must(http.NewRequestWithContext(ctx, method, path, strings.NewReader(body)))(t)
		if body != "" {
			r.Header.Set("Content-Type", "application/json")
		}
		got := &written{head: http.Header{}}
		h.ServeHTTP(got, r)
		return got.status, got.body.String()
	}
	for _, bad := range []struct {
		method, path, body, want string
		status                   int
	}{
		{"GET", "/", "", "no_route", 404},
		{"GET", "/v2/runs", "", "no_route", 404},
		{"GET", "/v1/runs/", "", "no_route", 404},
		{"GET", "/v1/runs/x/frob", "", "no_route", 404},
		{"DELETE", "/v1/runs", "", "GET, POST", 405},
		{"GET", "/v1/runs?frob=1", "", "frob", 400},
		{"GET", "/v1/runs?limit=0", "", "limit", 400},
		{"GET", "/v1/runs?limit=1001", "", "limit", 400},
		{"GET", "/v1/runs?limit=1&limit=2", "", "only once", 400},
		{"GET", "/v1/runs?open=perhaps", "", "open is true or false", 400},
		{"GET", "/v1/runs?after=%zz", "", "request", 400},
		{"GET", "/v1/facts", "", "name is required", 400},
		{"POST", "/v1/runs", "", "Content-Type", 400},
		{"POST", "/v1/runs", "{", "request", 400},
		{"POST", "/v1/runs", `{"loop":"crm-followup","frob":1}`, "unknown field", 400},
		{"POST", "/v1/runs", `{"loop":"` + strings.Repeat("x", 7<<20) + `"}`, "too_large", 413},
		{"POST", "/v1/blobs", `{"content":"%%%"}`, "request", 400},
	} {
		if status, body := raw(bad.method, bad.path, bad.body); status != bad.status || !strings.Contains(body, bad.want) {
			t.Errorf("%s %s: %d %.300s; want %d %s", bad.method, bad.path, status, body, bad.status, bad.want)
		}
	}
	ref := must(c.PutBlob(ctx, []byte("a,b\n1,2\n")))(t)
	if ref != store.BlobRef([]byte("a,b\n1,2\n")) {
		t.Errorf("the blob is %s", ref)
	}
	if _, err := c.PutBlob(ctx, make([]byte, remote.MaxInline+1)); err == nil || !strings.Contains(err.Error(), "uploading sha256:") {
		t.Errorf("content that is to be uploaded to where nobody listens: %v", err)
	}
	if got := must(c.Publish(ctx, coordinator.PublishRequest{Event: "something.happened", ID: "1", Data: json.RawMessage(`{"a":"<ü>"}`)}))(t); got.ID == "" {
		t.Errorf("published: %+v", got)
	}
	stage := coordinator.StageRequest{Loop: "crm-followup", Worker: "mailer", Action: "send-follow-up", By: "lead@acme.example", Reason: "<too soon>"}
	if lowered := must(c.SetStage(ctx, stage))(t); len(lowered.Changes) != 1 || lowered.Changes[0].Reason != stage.Reason {
		t.Errorf("lowered: %+v", lowered)
	}
	_, err := c.Did(ctx, coordinator.DidRequest{Loop: "crm-followup", Entry: "x/y:send", By: "lead@acme.example"})
	is(t, "what nobody proposed", err, coordinator.ErrNotPossible)
	stage.Up = true
	_, err = c.SetStage(ctx, stage)
	is(t, "raising what nothing proposes", err, coordinator.ErrNotPossible)
	if err := errors.Join(c.Pause(ctx, "crm-followup"), c.Resume(ctx, "crm-followup")); err != nil {
		t.Error(err)
	}
	ends(t, w, c)
}

// written keeps an answer.
type written struct {
	head   http.Header
	status int
	body   bytes.Buffer
}

func (w *written) Header() http.Header         { return w.head }
func (w *written) WriteHeader(status int)      { w.status = status }
func (w *written) Write(p []byte) (int, error) { return w.body.Write(p) }

// ends takes a run through cancel, another through an exception, and prunes.
func ends(t *testing.T, w *sampletest.World, c *client.Client) {
	t.Helper()
	ctx := t.Context()
	me := func(run string) coordinator.PersonRequest {
		return coordinator.PersonRequest{Run: run, By: "lead@acme.example", Reason: "<tried> & done"}
	}
	run := must(c.Find(ctx, ""))(t)[0]
	if view := must(c.Cancel(ctx, me(run)))(t); view.ID != run {
		t.Errorf("cancelled: %+v", view)
	}
	w.For(0)
	if _, err := c.Cancel(ctx, me(run)); err != nil && !errors.Is(err, coordinator.ErrRunClosed) {
		t.Errorf("cancelling again: %v", err)
	}
	_, err := c.Redrive(ctx, me(run))
	is(t, "redriving what was cancelled", err, coordinator.ErrNotPossible)
	_, err = c.Rollback(ctx, me(run))
	is(t, "rolling back mails", err, coordinator.ErrNotPossible)
	started := must(c.Start(ctx, coordinator.StartRequest{
		Loop: "crm-followup", Input: json.RawMessage(`{"file":"` + must(c.PutBlob(ctx, []byte("not a crm export")))(t) + `"}`), AsOf: w.Now(), Rerun: true,
	}))(t)
	w.For(0)
	list := must(c.Exceptions(ctx, coordinator.ExceptionsQuery{Run: started.Run}))(t)
	if len(list) == 0 {
		t.Fatalf("no exception of a file that is no export: %+v", must(c.Show(ctx, started.Run))(t))
	}
	if got := must(c.Resolve(ctx, coordinator.ResolveRequest{Exception: list[0].ID, Way: coordinator.WayClose, By: "lead@acme.example", Reason: "no export"}))(t); got.Status != "resolved" {
		t.Errorf("resolved: %+v", got)
	}
	w.For(0)
	if exc := must(c.Exception(ctx, list[0].ID))(t); exc.Status != "resolved" || exc.Resolution != coordinator.WayClose {
		t.Errorf("the exception as it stands: %+v", exc)
	}
	view, err := c.Redrive(ctx, me(started.Run))
	if err != nil || view.ID != started.Run {
		t.Errorf("redriven: %+v, %v", view, err)
	}
	w.For(0)
	if removed := must(c.Prune(ctx, coordinator.Retention{}))(t); removed.Runs != 0 {
		t.Errorf("pruned %+v", removed)
	}
	if !reflect.DeepEqual(must(c.Actions(ctx, coordinator.ActionsQuery{Loop: "no-loop"}))(t), []coordinator.ActionView{}) {
		t.Error("actions of no loop are no empty list")
	}
}

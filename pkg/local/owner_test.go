package local_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/local"
)

func TestOneOwnerManyVisitors(t *testing.T) {
	t.Parallel()
	cfg := config(t, &crew{})
	e := open(t, cfg)
	_, err := local.Open(t.Context(), cfg)
	var owned *local.OwnedError
	if !errors.As(err, &owned) || !errors.Is(err, local.ErrOwned) || owned.Owner.PID != os.Getpid() || owned.Owner.Socket == "" {
		t.Fatalf("second owner: %v", err)
	}
	linked := cfg
	linked.State = filepath.Join(t.TempDir(), "link.db")
	if err := os.Symlink(cfg.State, linked.State); err != nil {
		t.Fatal(err)
	}
	if _, err := local.Open(t.Context(), linked); !errors.Is(err, local.ErrOwned) {
		t.Errorf("an owner of the same file through a link: %v", err)
	}
	info, err := os.Stat(owned.Owner.Socket)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("socket %v, %v", info, err)
	}
	var told atomic.Int64
	cfg.Progress = func(local.Progress) { told.Add(1) }
	s, err := local.Join(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if s.Owner() != nil {
		t.Fatal("a visitor thinks that it is the owner")
	}
	ref, err := s.PutBlob(t.Context(), []byte("content"))
	if err != nil {
		t.Fatal(err)
	}
	if content, err := e.Store().GetBlob(t.Context(), ref); err != nil || string(content) != "content" {
		t.Errorf("blob %q, %v", content, err)
	}
	started, err := s.Start(t.Context(), request("chain", 1))
	if err != nil || started.Duplicate {
		t.Fatalf("started %+v, %v", started, err)
	}
	if _, err := s.Drive(t.Context()); err != nil {
		t.Fatal(err)
	}
	// A run may end before the visitor listens; one of many does not.
	for n := 100; told.Load() == 0 && n < 200; n++ {
		if _, err := s.Start(t.Context(), request("chain", n)); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Drive(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if told.Load() == 0 {
		t.Error("the visitor saw no progress")
	}
	r, err := local.OpenReader(t.Context(), cfg.State, cfg.Loops...)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	wants(t, r.Coordinator(), started.Run, outerloop.StatusCompleted, `{"n":4}`)
	histories, err := r.History(t.Context(), started.Run)
	if err != nil || len(histories) != 1 || len(histories[0].Events) < 20 {
		t.Errorf("histories %+v, %v", histories, err)
	}
	errorsCross(t, s, started.Run)
}

// errorsCross checks that a visitor can branch on the owner's errors.
func errorsCross(t *testing.T, s *local.Session, run string) {
	t.Helper()
	again, err := s.Start(t.Context(), request("chain", 1))
	if err != nil || !again.Duplicate || again.Run != run {
		t.Errorf("again %+v, %v", again, err)
	}
	bad := request("chain", 1)
	bad.Input = json.RawMessage(`{"n":"x"}`)
	var faults *coordinator.InputError
	if _, err := s.Start(t.Context(), bad); !errors.Is(err, coordinator.ErrInput) || !errors.As(err, &faults) || len(faults.Faults) == 0 {
		t.Errorf("bad input: %v", err)
	}
	if _, err := s.Start(t.Context(), request("none", 1)); !errors.Is(err, coordinator.ErrNoLoop) {
		t.Errorf("unknown loop: %v", err)
	}
	_, err = s.Decide(t.Context(), coordinator.DecideRequest{Approval: "none", Verdict: coordinator.Approve, By: "me"})
	if !errors.Is(err, coordinator.ErrNoApproval) {
		t.Errorf("unknown approval: %v", err)
	}
	refused := errors.New("no such file")
	checked := request("chain", 2)
	checked.Check = func(json.RawMessage) error { return refused }
	if _, err := s.Start(t.Context(), checked); !errors.Is(err, refused) {
		t.Errorf("a failed check: %v", err)
	}
}

// An owner that serves does what visitors ask for, and ends with its context.
func TestServe(t *testing.T) {
	t.Parallel()
	cfg := config(t, &crew{})
	e := open(t, cfg)
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- e.Serve(ctx) }()
	s, err := local.Join(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	started, err := s.Start(t.Context(), request("chain", 1))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Drive(t.Context()); err != nil {
		t.Fatal(err)
	}
	wants(t, e.Coordinator(), started.Run, outerloop.StatusCompleted, `{"n":4}`)
	if n, err := s.Prune(t.Context(), time.Now().Add(time.Hour)); n != 1 || err != nil {
		t.Errorf("pruned %d, %v", n, err)
	}
	wants(t, e.Coordinator(), started.Run, outerloop.StatusCompleted, `{"n":4}`)
	stop()
	if err := <-served; err != nil {
		t.Errorf("serving ended with %v", err)
	}
}

// A visitor goes on when its owner goes away, as the owner.
func TestAVisitorTakesOver(t *testing.T) {
	t.Parallel()
	inside := make(chan struct{})
	first := config(t, &crew{before: func(ctx context.Context, name string, _ int) error {
		if name == "queued" {
			close(inside)
			<-ctx.Done()
		}
		return nil
	}})
	first.Grace = time.Nanosecond
	e := open(t, first)
	second := first
	second.Workers = (&crew{}).workers()
	s, err := local.Join(t.Context(), second)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	started, err := s.Start(t.Context(), request("chain", 1))
	if err != nil || s.Owner() != nil {
		t.Fatalf("started %+v, %v", started, err)
	}
	go func() {
		<-inside
		e.Close()
	}()
	if _, err := s.Drive(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s.Owner() == nil {
		t.Fatal("the visitor is still one")
	}
	wants(t, s.Owner().Coordinator(), started.Run, outerloop.StatusCompleted, `{"n":4}`)
}

// The API's executions are moved by the engine that owns the file.
func TestTheAPIIsTheEngines(t *testing.T) {
	t.Parallel()
	e := open(t, config(t, &crew{}))
	server := httptest.NewServer(e.API())
	defer server.Close()
	call := func(action, body string) string {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-Amz-Target", "AWSStepFunctions."+action)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s, %v", action, text, err)
		}
		return string(text)
	}
	const arn = "arn:aws:states:local:000000000000:"
	call("CreateStateMachine", `{"name":"nap","roleArn":"x","definition":"{\"StartAt\":\"w\",\"States\":{\"w\":{\"Type\":\"Wait\",\"Seconds\":1,\"End\":true}}}"}`)
	call("StartExecution", `{"stateMachineArn":"`+arn+`stateMachine:nap","name":"n1","input":"{\"a\":1}"}`)
	idle(t, e)
	if got := call("DescribeExecution", `{"executionArn":"`+arn+`execution:nap:n1"}`); !strings.Contains(got, `"SUCCEEDED"`) {
		t.Errorf("described %s", got)
	}
	if got := call("DescribeStateMachine", `{"stateMachineArn":"`+arn+`stateMachine:chain"}`); !strings.Contains(got, "outerloop-worker-stamp") {
		t.Errorf("the loop's machine: %s", got)
	}
}

func TestReadingMakesNothing(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "none", "state.db")
	if _, err := local.OpenReader(t.Context(), path); !errors.Is(err, local.ErrNoState) {
		t.Errorf("reading nothing: %v", err)
	}
	if err := local.State(path); !errors.Is(err, local.ErrNoState) {
		t.Errorf("state of nothing: %v", err)
	}
	if exists(filepath.Dir(path)) {
		t.Error("reading made a directory")
	}
}

// A path that is too long for a socket, and the socket of a dead owner.
func TestSocketPlaces(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	cfg := config(t, &crew{})
	cfg.State = filepath.Join(t.TempDir(), strings.Repeat("long", 30), "state.db")
	e := open(t, cfg)
	s, err := local.Join(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if s.Owner() != nil {
		t.Error("became a second owner")
	}
	if err := errors.Join(s.Close(), e.Close()); err != nil {
		t.Fatal(err)
	}
	short := config(t, &crew{})
	if err := os.WriteFile(short.State+".sock", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(short.State+".lock", []byte(`{"pid":1,"socket":"/nowhere"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	e = open(t, short)
	run := start(t, e, "chain", 1)
	idle(t, e)
	wants(t, e.Coordinator(), run, outerloop.StatusCompleted, `{"n":4}`)
}

func TestConfigurationFaults(t *testing.T) {
	t.Parallel()
	_, err := local.Open(t.Context(), local.Config{Loops: []local.Loop{{}}})
	if err == nil || !strings.Contains(err.Error(), "State") || !strings.Contains(err.Error(), "loop 1") {
		t.Errorf("not all faults are told: %v", err)
	}
}

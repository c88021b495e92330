package local_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/local"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

func TestRunToItsEnd(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	seen := map[string]int{}
	cfg := config(t, &crew{})
	cfg.Progress = func(p local.Progress) {
		mu.Lock()
		defer mu.Unlock()
		seen[p.Event+" "+p.State]++
	}
	e := open(t, cfg)
	run := start(t, e, "chain", 1)
	if i := idle(t, e); !i.Next.IsZero() {
		t.Errorf("something is due at %s", i.Next)
	}
	wants(t, e.Coordinator(), run, outerloop.StatusCompleted, `{"n":4}`)
	mu.Lock()
	defer mu.Unlock()
	for _, event := range []string{"TaskStateExited first", "TaskStateEntered second", "ExecutionSucceeded "} {
		if seen[event] != 1 {
			t.Errorf("progress told %q %d times: %v", event, seen[event], seen)
		}
	}
}

func TestTheMachinesBytesRun(t *testing.T) {
	t.Parallel()
	var waited atomic.Bool
	cfg := config(t, &crew{})
	cfg.Progress = func(p local.Progress) {
		if p.Event == "WaitStateEntered" && p.State == "edited" {
			waited.Store(true)
		}
	}
	cfg.Loops = append([]local.Loop{}, cfg.Loops...)
	for i, l := range cfg.Loops {
		if l.Definition.Loop.Name == "chain" {
			edited := strings.Replace(string(l.Machine), `"StartAt": "first"`, `"StartAt": "edited"`, 1)
			edited = strings.Replace(edited, `"States": {`, `"States": {"edited": {"Type": "Wait", "Seconds": 1, "Next": "first"},`, 1)
			cfg.Loops[i].Machine = []byte(edited)
		}
	}
	e := open(t, cfg)
	run := start(t, e, "chain", 1)
	idle(t, e)
	wants(t, e.Coordinator(), run, outerloop.StatusCompleted, `{"n":4}`)
	if !waited.Load() {
		t.Error("the edit of the machine was not run")
	}
}

func TestRetriesWaitTheirTime(t *testing.T) {
	t.Parallel()
	failures := 2
	var mu sync.Mutex
	e := open(t, config(t, &crew{before: func(_ context.Context, name string, _ int) error {
		mu.Lock()
		defer mu.Unlock()
		if name == "stamp" && failures > 0 {
			failures--
			return worker.Transient("not yet")
		}
		return nil
	}}))
	run := start(t, e, "chain", 1)
	idle(t, e)
	view := wants(t, e.Coordinator(), run, outerloop.StatusCompleted, `{"n":4}`)
	if view.Steps[0].Attempts != 3 {
		t.Errorf("first step took %d attempts", view.Steps[0].Attempts)
	}
}

func TestAnApprovalSurvivesItsOwner(t *testing.T) {
	t.Parallel()
	cfg := config(t, &crew{})
	e := open(t, cfg)
	run := start(t, e, "ask", 1)
	i := idle(t, e)
	if wait := time.Until(i.Next); wait < 19*time.Hour || wait > 20*time.Hour {
		t.Errorf("next due %s", i.Next)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	s, err := local.Join(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	asked, err := s.Owner().Coordinator().Approvals(t.Context(), coordinator.ApprovalsQuery{})
	if err != nil || len(asked) != 1 {
		t.Fatalf("approvals %+v, %v", asked, err)
	}
	decide := coordinator.DecideRequest{Approval: asked[0].ID, Verdict: coordinator.Approve, By: "me@example.com", Reason: "it is"}
	if _, err := s.Decide(t.Context(), decide); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Drive(t.Context()); err != nil {
		t.Fatal(err)
	}
	wants(t, s.Owner().Coordinator(), run, outerloop.StatusCompleted, `{"n":3}`)
	if _, err := s.Decide(t.Context(), decide); !errors.Is(err, coordinator.ErrDecided) {
		t.Errorf("second decision: %v", err)
	}
}

// A function that does not return ends the engine: it would act later with an old lease.
func TestAFrozenWorkerEndsTheEngine(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	defer close(release)
	cfg := config(t, &crew{before: func(context.Context, string, int) error {
		<-release
		return nil
	}})
	for i := range cfg.Workers {
		cfg.Workers[i].Timeout = 200 * time.Millisecond
	}
	e := open(t, cfg)
	start(t, e, "chain", 1)
	if _, err := e.RunUntilIdle(t.Context()); err == nil || !strings.Contains(err.Error(), "did not return") {
		t.Errorf("engine went on: %v", err)
	}
}

// What was under way when the process died is delivered again at once, and the
// steps that were settled are not done again.
func TestTakeOverAtOnce(t *testing.T) {
	t.Parallel()
	for _, dies := range []string{"stamp", "queued"} {
		t.Run(dies, func(t *testing.T) {
			t.Parallel()
			inside := make(chan struct{})
			dead := &crew{before: func(ctx context.Context, name string, _ int) error {
				if name == dies {
					close(inside)
					<-ctx.Done()
				}
				return nil
			}}
			cfg := config(t, dead)
			cfg.Grace = time.Nanosecond
			e := open(t, cfg)
			run := start(t, e, "chain", 1)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go e.RunUntilIdle(ctx) //nolint:errcheck // it is cut off
			<-inside
			if err := e.Close(); err != nil { // nothing more is written: as if it had died
				t.Fatal(err)
			}
			began := time.Now()
			alive := &crew{}
			cfg.Workers = alive.workers()
			e = open(t, cfg)
			idle(t, e)
			wants(t, e.Coordinator(), run, outerloop.StatusCompleted, `{"n":4}`)
			if took := time.Since(began); took > 20*time.Second {
				t.Errorf("took over after %s", took)
			}
			if want := map[string]int64{"stamp": 3, "queued": 2}[dies]; alive.calls.Load() != want {
				t.Errorf("%d calls after the take-over, want %d", alive.calls.Load(), want)
			}
		})
	}
}

// Many starts at once, several drivers, one reader: each run comes to its own end.
func TestManyRunsAtOnce(t *testing.T) {
	t.Parallel()
	cfg := config(t, &crew{})
	e := open(t, cfg)
	const n = 40
	runs := make([]string, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			started, err := e.Coordinator().Start(t.Context(), request("chain", i))
			if err != nil {
				t.Error(err)
				return
			}
			runs[i] = started.Run
			if _, err := e.RunUntilIdle(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	r, err := local.OpenReader(t.Context(), cfg.State, cfg.Loops...)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for i, run := range runs {
		wants(t, r.Coordinator(), run, outerloop.StatusCompleted, fmt.Sprintf(`{"n":%d}`, i+3))
	}
}

// An `each` of 10,000 items runs in bounded memory.
func TestManyItems(t *testing.T) {
	if testing.Short() {
		t.Skip("10,000 items take a while")
	}
	cfg := config(t, &crew{})
	e := open(t, cfg)
	const n = 10_000
	began := time.Now()
	run := start(t, e, "many", n)
	var peak uint64
	done := make(chan struct{})
	go func() {
		defer close(done)
		if _, err := e.RunUntilIdle(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	for tick := time.NewTicker(50 * time.Millisecond); ; {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		peak = max(peak, m.Sys-m.HeapReleased)
		select {
		case <-tick.C:
			continue
		case <-done:
		}
		break
	}
	t.Logf("%d items in %s, %d MB", n, time.Since(began).Round(time.Millisecond), peak>>20)
	wants(t, e.Coordinator(), run, outerloop.StatusCompleted, `{"counts":{"completed":10000,"items":10000,"missing":0}}`)
	if peak > 200<<20 {
		t.Errorf("it took %d MB", peak>>20)
	}
}

// A time limit holds for every attempt, not for the first alone (R34): a function
// that would never end is ended as often as its step is tried.
func TestTimeLimitOfEveryAttempt(t *testing.T) {
	t.Parallel()
	var ended atomic.Int64
	cfg := config(t, &crew{before: func(ctx context.Context, _ string, _ int) error {
		<-ctx.Done()
		ended.Add(1)
		return ctx.Err()
	}})
	for i := range cfg.Workers {
		cfg.Workers[i].Timeout = 400 * time.Millisecond
	}
	e := open(t, cfg)
	run := start(t, e, "chain", 1)
	idle(t, e)
	view := wants(t, e.Coordinator(), run, outerloop.StatusBlocked, "")
	if ended.Load() != 2 || view.Steps[0].Attempts != 2 {
		t.Errorf("%d attempts were ended, of %d", ended.Load(), view.Steps[0].Attempts)
	}
}

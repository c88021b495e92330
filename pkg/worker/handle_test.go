package worker_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/gate"
	"github.com/outerloop-dev/outerloop/pkg/worker"
	"github.com/outerloop-dev/outerloop/pkg/worker/workertest"
)

type order struct {
	ID     string  `json:"id"`
	Amount float64 `json:"amount"`
}

type receipt struct {
	ID string `json:"id"`
}

func fn(do func(context.Context, worker.Task[order]) (worker.Result[receipt], error)) worker.Worker {
	return worker.New("till", 3, do)
}

func invocation(w worker.Worker, g gate.Gate) worker.Invocation {
	return worker.Invocation{
		Worker: w, Gate: g, Request: "request", Delivery: gate.Delivery{Run: "run", Gen: 1, Step: "pay"},
	}
}

func task() *gate.Task {
	return &gate.Task{Run: "run", Step: "pay", Fence: 7, Input: json.RawMessage(`{"id":"o-1","amount":12.5}`)}
}

func TestHandleHandsOverTheWork(t *testing.T) {
	t.Parallel()
	w := fn(func(_ context.Context, in worker.Task[order]) (worker.Result[receipt], error) {
		return worker.Result[receipt]{Output: receipt{in.Input.ID}, Confidence: worker.High, Reason: "counted", Cost: 5}, nil
	})
	g := &workertest.Gate{Task: task()}
	handled, err := worker.Handle(t.Context(), invocation(w, worker.InProcess(g)))
	if err != nil || handled.Verdict == nil || *handled.Verdict.Note.Outcome != outerloop.OutcomeCompleted {
		t.Fatalf("handled %+v, %v", handled, err)
	}
	settled := g.Settled[0]
	if string(settled.Result.Output) != `{"id":"o-1"}` || settled.Result.Confidence != worker.High || settled.Result.Cost != 5 {
		t.Errorf("settled %+v", settled.Result)
	}
	if settled.Fence != 7 || settled.Nonce != "request/2" || settled.Run != "run" {
		t.Errorf("settled as %+v", settled.Call)
	}
}

// Retry and Catch of a machine go by these classes (R29).
func TestFailureOf(t *testing.T) {
	t.Parallel()
	later := time.Date(2026, 11, 30, 7, 0, 0, 0, time.UTC)
	base := errors.New("boom")
	cases := []struct {
		err   error
		class outerloop.Class
	}{
		{worker.Transient("x: %w", base), outerloop.ClassTransient},
		{worker.RateLimited(later, "x"), outerloop.ClassRateLimited},
		{worker.ToolFailed("x"), outerloop.ClassToolFailed},
		{worker.Refused("x"), outerloop.ClassRefused},
		{worker.MissingInput("x"), outerloop.ClassMissingInput},
		{worker.InvalidOutput("x"), outerloop.ClassInvalidOutput},
		{worker.Conflict("x"), outerloop.ClassConflict},
		{worker.Fatal("x"), outerloop.ClassFatal},
		{worker.NotDone(base), outerloop.ClassTransient},
		{worker.NotDone(worker.Refused("x")), outerloop.ClassRefused},
		{fmt.Errorf("a: %w", fmt.Errorf("b: %w", worker.RateLimited(later, "x"))), outerloop.ClassRateLimited},
		{errors.Join(base, worker.Transient("x")), outerloop.ClassTransient},
		{context.DeadlineExceeded, outerloop.ClassTimeout},
		{fmt.Errorf("a: %w", context.Canceled), outerloop.ClassTransient},
		{base, outerloop.ClassFatal},
		{&worker.Error{Class: "made up"}, outerloop.ClassFatal},
	}
	for _, c := range cases {
		got := worker.FailureOf(c.err)
		if got.Class != c.class {
			t.Errorf("%v: class %s, want %s", c.err, got.Class, c.class)
		}
		if got.Class == outerloop.ClassRateLimited && !got.RetryAfter.Equal(later) {
			t.Errorf("%v: retry after %s", c.err, got.RetryAfter)
		}
	}
	long := worker.FailureOf(worker.Fatal("%s", strings.Repeat("😀", 1000)))
	if len(long.Message) > 2000 || !strings.HasSuffix(long.Message, "😀 …") {
		t.Errorf("message of %d bytes ends in %q", len(long.Message), long.Message[len(long.Message)-8:])
	}
}

func TestHandleClassesWhatGoesWrong(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		work  func(context.Context, worker.Task[order]) (worker.Result[receipt], error)
		input string
		want  string
		text  string
	}{
		"panic": {work: func(context.Context, worker.Task[order]) (worker.Result[receipt], error) {
			m := map[string]int(nil)
			m["x"] = 1 //nolint:staticcheck // the panic is what is tested
			return worker.Result[receipt]{}, nil
		}, want: outerloop.ErrorFatal, text: "assignment to entry in nil map"},
		"input of another shape": {work: func(context.Context, worker.Task[order]) (worker.Result[receipt], error) {
			return worker.Result[receipt]{}, nil
		}, input: `{"id":17}`, want: outerloop.ErrorMissingInput, text: "decoding the input"},
		"classed": {work: func(context.Context, worker.Task[order]) (worker.Result[receipt], error) {
			return worker.Result[receipt]{}, fmt.Errorf("paying: %w", worker.ToolFailed("card declined"))
		}, want: outerloop.ErrorToolFailed, text: "paying: card declined"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := &workertest.Gate{Task: task()}
			if c.input != "" {
				g.Task.Input = json.RawMessage(c.input)
			}
			handled, err := worker.Handle(t.Context(), invocation(fn(c.work), g))
			if err != nil || handled.Verdict == nil || handled.Verdict.Error != c.want {
				t.Fatalf("handled %+v, %v", handled, err)
			}
			if !strings.Contains(handled.Verdict.Cause, c.text) || len(handled.Verdict.Cause) > 2000 {
				t.Errorf("cause %q", handled.Verdict.Cause)
			}
		})
	}
}

// What is not answered must not be acknowledged.
func TestHandlePassesOnWhatAdmitSays(t *testing.T) {
	t.Parallel()
	until := time.Date(2026, 11, 30, 7, 0, 0, 0, time.UTC)
	w := fn(func(context.Context, worker.Task[order]) (worker.Result[receipt], error) {
		t.Error("the worker's function ran")
		return worker.Result[receipt]{}, nil
	})
	later, err := worker.Handle(t.Context(), invocation(w, &workertest.Gate{
		Answer: gate.AdmitAnswer{Decision: gate.Later, Until: until, Reason: "busy"},
	}))
	if err != nil || later.Verdict != nil || !later.Later.Equal(until) || later.Reason != "busy" {
		t.Errorf("later: %+v, %v", later, err)
	}
	answered, err := worker.Handle(t.Context(), invocation(w, &workertest.Gate{
		Answer: gate.AdmitAnswer{Decision: gate.Answered, Verdict: &gate.Verdict{Error: outerloop.ErrorNeedsApproval}},
	}))
	if err != nil || answered.Verdict.Error != outerloop.ErrorNeedsApproval {
		t.Errorf("answered: %+v, %v", answered, err)
	}
	if _, err := worker.Handle(t.Context(), invocation(w, &workertest.Gate{})); err == nil {
		t.Error("an empty answer of the gate was taken for one")
	}
}

// A lost answer is asked for again under the same nonce, so nothing is done twice.
func TestHandleAsksAgainForLostAnswers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		w := fn(func(ctx context.Context, in worker.Task[order]) (worker.Result[receipt], error) {
			_, err := in.Do(ctx, "pay", in.Input, func(context.Context, worker.Action) (any, error) {
				calls++
				return receipt{"r-1"}, nil
			})
			return worker.Result[receipt]{}, err
		})
		g := &workertest.Gate{Task: task(), Lose: map[workertest.Call]int{
			workertest.Admit: 2, workertest.Begin: 3, workertest.Settle: 4,
		}}
		handled, err := worker.Handle(t.Context(), invocation(w, g))
		if err != nil || handled.Verdict == nil || calls != 1 {
			t.Fatalf("handled %+v after %d calls, %v", handled, calls, err)
		}
		want := []workertest.Call{workertest.Admit, workertest.Begin, workertest.Settle}
		if fmt.Sprint(g.Calls) != fmt.Sprint(want) {
			t.Errorf("carried out %v, want %v", g.Calls, want)
		}
		gone := &workertest.Gate{Task: task(), Lose: map[workertest.Call]int{workertest.Settle: 100}}
		if handled, err := worker.Handle(t.Context(), invocation(w, gone)); err == nil || handled.Verdict != nil {
			t.Errorf("a gate that is gone gave %+v", handled)
		}
	})
}

func TestHandleKeepsTheLeaseOfLongWork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		w := fn(func(context.Context, worker.Task[order]) (worker.Result[receipt], error) {
			<-time.After(3 * time.Minute)
			return worker.Result[receipt]{}, nil
		})
		g := &workertest.Gate{Task: task(), Lose: map[workertest.Call]int{workertest.Heartbeat: 1}}
		g.Task.Lease = start.Add(time.Minute)
		inv := invocation(w, g)
		var held []time.Duration
		inv.Held = func(_ context.Context, until time.Time) { held = append(held, until.Sub(start).Round(time.Second)) }
		handled, err := worker.Handle(t.Context(), inv)
		if err != nil || handled.Verdict == nil {
			t.Fatalf("handled %+v, %v", handled, err)
		}
		want := []time.Duration{60 * time.Second, 100 * time.Second, 140 * time.Second, 180 * time.Second, 220 * time.Second}
		if fmt.Sprint(held) != fmt.Sprint(want) {
			t.Errorf("held until %v, want %v", held, want)
		}
	})
}

// The attempt's deadline ends the function, and no heartbeat tries to pass it.
func TestHandleKeepsTheAttemptsDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		end := start.Add(50 * time.Second)
		g := &workertest.Gate{Task: task(), LeaseEnd: end}
		g.Task.Lease, g.Task.Deadline = end, end
		handled, err := worker.Handle(t.Context(), invocation(fn(func(ctx context.Context, _ worker.Task[order]) (worker.Result[receipt], error) {
			<-ctx.Done()
			return worker.Result[receipt]{}, context.Cause(ctx)
		}), g))
		if err != nil || handled.Verdict.Error != outerloop.ErrorTimeout || time.Since(start) != 50*time.Second {
			t.Fatalf("after %s: %+v, %v", time.Since(start), handled, err)
		}
		if fmt.Sprint(g.Calls) != fmt.Sprint([]workertest.Call{workertest.Admit, workertest.Heartbeat, workertest.Settle}) {
			t.Errorf("calls %v", g.Calls)
		}
	})
}

// A paused owner that wakes up past its lease must not act.
func TestStoppedAttemptDoesNotAct(t *testing.T) {
	t.Parallel()
	for name, g := range map[string]*workertest.Gate{
		"stop":         {Task: task(), Stop: true},
		"no heartbeat": {Task: task(), Lose: map[workertest.Call]int{workertest.Heartbeat: 1000}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var cause, acted error
				w := fn(func(ctx context.Context, in worker.Task[order]) (worker.Result[receipt], error) {
					<-ctx.Done()
					cause = context.Cause(ctx)
					_, acted = in.Do(context.WithoutCancel(ctx), "pay", in.Input, func(context.Context, worker.Action) (any, error) {
						t.Error("called without a lease")
						return nil, nil
					})
					return worker.Result[receipt]{}, acted
				})
				g.Task.Lease = time.Now().Add(30 * time.Second)
				if name == "stop" {
					g.Refuse = &gate.BeginAnswer{Claim: gate.ClaimRefused, Reason: "stale"}
				}
				if _, err := worker.Handle(t.Context(), invocation(w, g)); err != nil {
					t.Fatal(err)
				}
				if acted == nil || !errors.Is(cause, worker.ErrStopped) && !errors.Is(cause, worker.ErrLeaseLost) {
					t.Errorf("ended by %v, action: %v", cause, acted)
				}
			})
		})
	}
}

// The deadline keeps time for settle; a function that overstays means exit.
func TestHandleEndsInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		inv := invocation(fn(func(ctx context.Context, _ worker.Task[order]) (worker.Result[receipt], error) {
			<-ctx.Done()
			return worker.Result[receipt]{}, ctx.Err()
		}), &workertest.Gate{Task: task()})
		inv.Limit = start.Add(time.Minute)
		handled, err := worker.Handle(t.Context(), inv)
		if err != nil || handled.Exit || handled.Verdict.Error != outerloop.ErrorTimeout || time.Since(start) != 45*time.Second {
			t.Fatalf("after %s: %+v, %v", time.Since(start), handled, err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		release := make(chan struct{})
		g := &workertest.Gate{Task: task()}
		var late error
		returned := make(chan struct{})
		inv := invocation(fn(func(ctx context.Context, in worker.Task[order]) (worker.Result[receipt], error) {
			defer close(returned)
			<-release
			_, late = in.Do(context.WithoutCancel(ctx), "pay", in.Input, func(context.Context, worker.Action) (any, error) {
				t.Error("a frozen function acted")
				return nil, nil
			})
			return worker.Result[receipt]{}, late
		}), g)
		inv.Limit = start.Add(time.Minute)
		handled, err := worker.Handle(t.Context(), inv)
		if err != nil || !handled.Exit || handled.Verdict.Error != outerloop.ErrorTimeout || time.Since(start) > time.Minute {
			t.Fatalf("after %s: %+v, %v", time.Since(start), handled, err)
		}
		close(release)
		<-returned
		if !errors.Is(late, worker.ErrTimeUp) || len(g.Log) != 0 {
			t.Errorf("late action: %v, log %v", late, g.Log)
		}
	})
}

// Inline runs everything on the caller's goroutine, for a simulation.
func TestHandleInline(t *testing.T) {
	t.Parallel()
	g := &workertest.Gate{Task: task()}
	g.Task.Lease = time.Now().Add(time.Hour)
	inv := invocation(fn(func(context.Context, worker.Task[order]) (worker.Result[receipt], error) {
		return worker.Result[receipt]{Output: receipt{"in"}}, nil
	}), g)
	inv.Env.Inline = true
	if handled, err := worker.Handle(t.Context(), inv); err != nil || handled.Verdict == nil {
		t.Fatalf("handled %+v, %v", handled, err)
	}
}

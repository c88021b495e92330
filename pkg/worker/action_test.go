package worker_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/gate"
	"github.com/outerloop-dev/outerloop/pkg/worker"
	"github.com/outerloop-dev/outerloop/pkg/worker/workertest"
)

// till is a provider that dedupes nothing, and the worker that uses it.
type till struct {
	payments []string
	// lose drops the answer of the next payment, after it was made.
	lose bool
	// fail is what the next payment fails with, before it was made.
	fail    error
	finding worker.Finding
}

func (p *till) worker(options ...worker.Option) worker.Worker {
	return worker.New("till", 1, func(ctx context.Context, t worker.Task[order]) (worker.Result[receipt], error) {
		done, err := t.Do(ctx, "pay", t.Input, func(_ context.Context, a worker.Action) (any, error) {
			if p.fail != nil {
				return nil, p.fail
			}
			p.payments = append(p.payments, a.ProviderKey)
			if p.lose {
				p.lose = false
				return nil, worker.Transient("no answer from the till")
			}
			return receipt{"r-1"}, nil
		})
		if err != nil {
			return worker.Result[receipt]{}, err
		}
		var out receipt
		err = done.Decode(&out)
		return worker.Result[receipt]{Output: out}, err
	}, options...)
}

func (p *till) verify(_ context.Context, req worker.VerifyRequest) (worker.Verification, error) {
	if p.finding != "" {
		return worker.Verification{Finding: p.finding}, nil
	}
	for _, key := range p.payments {
		if key == req.ProviderKey {
			return worker.Verification{Finding: worker.Found, Result: receipt{"r-1"}}, nil
		}
	}
	return worker.Verification{Finding: worker.NotFound}, nil
}

// handle runs one more attempt at the same step with the same action log.
func handle(t *testing.T, w worker.Worker, g *workertest.Gate, request string) *gate.Verdict {
	t.Helper()
	g.Task = task()
	inv := invocation(w, worker.InProcess(g))
	inv.Request = request
	handled, err := worker.Handle(t.Context(), inv)
	if err != nil {
		t.Fatal(err)
	}
	return handled.Verdict
}

// A key that succeeded is never executed again (R37).
func TestDoGivesTheRecordedResult(t *testing.T) {
	t.Parallel()
	p, g := &till{}, &workertest.Gate{}
	handle(t, p.worker(), g, "a")
	if v := handle(t, p.worker(), g, "b"); v.Error != "" {
		t.Fatalf("second attempt: %+v", v)
	}
	if len(p.payments) != 1 || string(g.Settled[1].Result.Output) != `{"id":"r-1"}` || len(g.Settled[1].Actions) != 0 {
		t.Errorf("payments %v, second result %s", p.payments, g.Settled[1].Result.Output)
	}
	g.Log["run:pay"].Payload = []byte(`{"id":"o-2"}`)
	if v := handle(t, p.worker(), g, "c"); v.Error != outerloop.ErrorConflict {
		t.Errorf("another payload under the same key: %+v", v)
	}
}

// The payment was made, then the answer was lost: it is verified, not repeated (R37).
func TestDoVerifiesAnUnknownOutcome(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, g := &till{lose: true}, &workertest.Gate{}
		w := p.worker(worker.WithVerify(p.verify))
		if v := handle(t, w, g, "a"); v.Error != outerloop.ErrorTransient || g.Log["run:pay"].State != "executing" {
			t.Fatalf("first attempt: %+v, log %+v", v, g.Log["run:pay"])
		}
		<-time.After(time.Minute)
		if v := handle(t, w, g, "b"); v.Error != "" {
			t.Fatalf("second attempt: %+v", v)
		}
		if len(p.payments) != 1 || g.Log["run:pay"].State != "done" {
			t.Errorf("payments %v, log %+v", p.payments, g.Log["run:pay"])
		}
	})
}

func TestDoAfterVerification(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		finding  worker.Finding
		verifier bool
		want     string
		payments int
	}{
		"not found is done anew":     {worker.NotFound, true, "", 1},
		"unsure stays unknown":       {worker.Unsure, true, outerloop.ErrorToolFailed, 0},
		"no verifier stays unknown":  {"", false, outerloop.ErrorFatal, 0},
		"unknown word stays unknown": {"perhaps", true, outerloop.ErrorToolFailed, 0},
		"the look-up finds no entry": {"", true, "", 1},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &till{finding: c.finding}
			var options []worker.Option
			if c.verifier {
				options = append(options, worker.WithVerify(p.verify))
			}
			g := &workertest.Gate{Log: map[string]*workertest.Entry{
				"run:pay": {State: "unknown", Fence: 3, Payload: []byte(`{"id":"o-1","amount":12.5}`)},
			}}
			v := handle(t, p.worker(options...), g, "a")
			if v.Error != c.want || len(p.payments) != c.payments {
				t.Errorf("%+v with %d payments, want %q with %d", v, len(p.payments), c.want, c.payments)
			}
		})
	}
}

// Only an error that rules the effect out frees the action for another try.
func TestDoReportsWhatCertainlyDidNotHappen(t *testing.T) {
	t.Parallel()
	for state, fail := range map[string]error{
		"failed":    worker.NotDone(errors.New("connection refused")),
		"executing": worker.Transient("connection reset"),
	} {
		p, g := &till{fail: fail}, &workertest.Gate{}
		handle(t, p.worker(), g, "a")
		if got := g.Log["run:pay"].State; got != state {
			t.Errorf("%v: %s, want %s", fail, got, state)
		}
	}
	p, g := &till{fail: worker.RateLimited(time.Time{}, "429")}, &workertest.Gate{}
	if v := handle(t, p.worker(), g, "a"); v.Error != outerloop.ErrorRateLimited || g.Log["run:pay"].State != "failed" {
		t.Errorf("429: %+v, %+v", v, g.Log["run:pay"])
	}
}

// A worker that tries again by itself after an unknown outcome is held back,
// although the gate would let its own attempt go on.
func TestDoIsNotRepeatedWithinAnAttempt(t *testing.T) {
	t.Parallel()
	calls := 0
	w := worker.New("till", 1, func(ctx context.Context, t worker.Task[order]) (worker.Result[receipt], error) {
		var err error
		for range 3 {
			_, err = t.Do(ctx, "pay", t.Input, func(context.Context, worker.Action) (any, error) {
				calls++
				return nil, errors.New("reset")
			})
		}
		return worker.Result[receipt]{}, err
	})
	v := handle(t, w, &workertest.Gate{}, "a")
	if calls != 1 || v.Error != outerloop.ErrorTransient || !strings.Contains(v.Cause, "being executed") {
		t.Errorf("%d calls, %+v", calls, v)
	}
}

// When more work follows, an outcome is reported at once.
func TestDoReportsBeforeTheNextAction(t *testing.T) {
	t.Parallel()
	w := worker.New("till", 1, func(ctx context.Context, t worker.Task[order]) (worker.Result[receipt], error) {
		for _, action := range []string{"reserve", "pay"} {
			if _, err := t.Do(ctx, action, t.Input, func(context.Context, worker.Action) (any, error) { return action, nil }); err != nil {
				return worker.Result[receipt]{}, err
			}
		}
		return worker.Result[receipt]{}, nil
	})
	g := &workertest.Gate{}
	handle(t, w, g, "a")
	if g.Calls[2] != workertest.Report || g.Log["run:reserve"].State != "done" || g.Log["run:pay"].State != "done" {
		t.Errorf("calls %v, log %v", g.Calls, g.Log)
	}
}

// The call's own end comes before the action's limit, and no call is made past it.
func TestDoBoundsTheCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		w := worker.New("till", 1, func(ctx context.Context, t worker.Task[order]) (worker.Result[receipt], error) {
			_, err := t.Do(ctx, "pay", t.Input, func(ctx context.Context, _ worker.Action) (any, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			})
			return worker.Result[receipt]{}, err
		})
		v := handle(t, w, &workertest.Gate{ActionTime: 20 * time.Second}, "a")
		if v.Error != outerloop.ErrorTimeout || time.Since(start) != 19*time.Second {
			t.Errorf("after %s: %+v", time.Since(start), v)
		}
	})
	p := &till{}
	if v := handle(t, p.worker(), &workertest.Gate{ActionTime: -time.Second}, "a"); v.Error == "" || len(p.payments) != 0 {
		t.Errorf("called past its limit: %+v", v)
	}
}

func TestDoPassesOnARefusal(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		answer gate.BeginAnswer
		want   string
	}{
		{gate.BeginAnswer{Claim: gate.ClaimRefused, Class: outerloop.ClassRateLimited, Reason: "quota"}, outerloop.ErrorRateLimited},
		{gate.BeginAnswer{Claim: gate.ClaimRefused, Reason: "run stopped"}, outerloop.ErrorRefused},
		{gate.BeginAnswer{Claim: gate.ClaimBusy}, outerloop.ErrorTransient},
		{gate.BeginAnswer{Claim: "later, perhaps"}, outerloop.ErrorFatal},
	} {
		p := &till{}
		if v := handle(t, p.worker(), &workertest.Gate{Refuse: &c.answer}, "a"); v.Error != c.want || len(p.payments) != 0 {
			t.Errorf("%+v: %+v", c.answer, v)
		}
	}
}

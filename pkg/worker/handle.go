package worker

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/gate"
)

// Invocation is one delivery on its way through a worker.
type Invocation struct {
	Worker Worker
	// Gate is this worker's own gate.
	Gate     gate.Gate
	Delivery gate.Delivery
	// Request is unique for this invocation (a redelivery is another one) and
	// holds no slash: nonces are made from it.
	Request string
	// Limit is when the invocation must have ended. Zero: 15 minutes from now.
	Limit time.Time
	Env   Env
	// Held is told until when the delivery is in work: once it is admitted and
	// after every heartbeat. A queue's consumer extends the message's
	// visibility to it. nil: nobody.
	Held func(ctx context.Context, until time.Time)
}

// Handled says what became of a delivery.
type Handled struct {
	// Verdict is the answer, and the delivery may be acknowledged. Nil: it is
	// not answered and must come again: at Later, or when it becomes visible
	// by itself where Later is zero. A direct caller then gets
	// outerloop.ErrorNotNow.
	Verdict *gate.Verdict
	Later   time.Time
	// Reason says why it must come again.
	Reason string
	// Exit: the worker's function did not return in time and still runs. The
	// process must end now, or it would go on in a later invocation.
	Exit bool
}

// Reserve is how much of an invocation's time is kept for handing over the
// work; of a short invocation, half of its time.
const Reserve = 15 * time.Second

const longest = 15 * time.Minute

// Handle takes a delivery through admit, the worker's function and settle. It
// returns after the function has returned, or with Exit set. A panic of the
// function is a fatal failure of the step. An error means that the gate gave
// no answer: nothing is known, and the delivery must come again.
func Handle(ctx context.Context, inv Invocation) (Handled, error) {
	if inv.Worker.run == nil || inv.Gate == nil || inv.Request == "" {
		return Handled{}, errNoWorker
	}
	a := newAttempt(inv)
	if a.inv.Limit.IsZero() {
		a.inv.Limit = a.now().Add(longest)
	}
	answer, err := a.admit(ctx)
	if err != nil {
		return Handled{}, fmt.Errorf("admitting %s: %w", inv.Delivery.Step, err)
	}
	switch {
	case answer.Decision == gate.Answered && answer.Verdict != nil:
		return Handled{Verdict: answer.Verdict}, nil
	case answer.Decision == gate.Later:
		return Handled{Later: answer.Until, Reason: answer.Reason}, nil
	case answer.Decision != gate.Go || answer.Task == nil:
		return Handled{}, fmt.Errorf("admitting %s: the gate answered %q without what belongs to it", inv.Delivery.Step, answer.Decision)
	}
	a.accept(*answer.Task)
	done := a.work(ctx)
	a.close()
	return a.handOver(ctx, done)
}

// ended is what a worker's function left.
type ended struct {
	result gate.Result
	err    error
	exit   bool
}

func (a *attempt) handOver(ctx context.Context, done ended) (Handled, error) {
	a.reports.Lock()
	defer a.reports.Unlock()
	req := gate.SettleRequest{Actions: a.takePending()}
	if done.err == nil {
		req.Result = &done.result
	} else {
		failure := FailureOf(done.err)
		failure.Tokens, failure.Cost = done.result.Tokens, done.result.Cost
		req.Failure = &failure
	}
	answer, err := a.settle(ctx, req)
	if err != nil {
		return Handled{Exit: done.exit}, fmt.Errorf("settling %s: %w", a.inv.Delivery.Step, err)
	}
	if !answer.Answered {
		return Handled{Reason: "another attempt owns the step", Exit: done.exit}, nil
	}
	return Handled{Verdict: &answer.Verdict, Exit: done.exit}, nil
}

// work runs the worker's function under a lease that heartbeats renew.
func (a *attempt) work(ctx context.Context) ended {
	if a.inv.Held != nil && !a.leaseEnd().IsZero() {
		a.inv.Held(ctx, a.leaseEnd())
	}
	if a.inv.Env.Inline {
		return a.run(ctx)
	}
	left := a.inv.Limit.Sub(a.now())
	reserve := min(Reserve, left/2)
	bounded, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	done := make(chan ended, 1)
	go func() { done <- a.run(bounded) }()
	beating := make(chan struct{})
	go func() {
		defer close(beating)
		a.keepLease(bounded, cancel)
	}()
	soft := left - reserve
	if end := a.task.Deadline; !end.IsZero() {
		soft = min(soft, end.Sub(a.now()))
	}
	out := a.await(bounded, cancel, awaited{done: done, soft: soft, grace: reserve / 3})
	cancel(nil)
	<-beating
	return out
}

type awaited struct {
	done <-chan ended
	// soft is when the function's context ends, grace how long it then has to return.
	soft, grace time.Duration
}

func (a *attempt) await(ctx context.Context, cancel context.CancelCauseFunc, w awaited) ended {
	select {
	case out := <-w.done:
		return out
	case <-a.inv.Env.Clock.After(w.soft):
		cancel(ErrTimeUp)
	case <-ctx.Done():
	}
	select {
	case out := <-w.done:
		if out.err != nil && !hasClass(out.err) {
			out.err = fmt.Errorf("%w: %w", context.Cause(ctx), out.err)
		}
		return out
	case <-a.inv.Env.Clock.After(w.grace):
		return ended{exit: true, err: &Error{
			Class: outerloop.ClassTimeout,
			err:   fmt.Errorf("the worker did not return within %s after its context ended: %w", w.grace, context.Cause(ctx)),
		}}
	}
}

// run calls the worker's function and turns a panic into a fatal failure.
func (a *attempt) run(ctx context.Context) (out ended) {
	defer func() {
		if r := recover(); r != nil {
			out.err = Fatal("panic: %s\n%s", cut(fmt.Sprint(r), messageLimit/4), debug.Stack())
		}
	}()
	out.result, out.err = a.inv.Worker.run(ctx, a)
	return out
}

// keepLease renews the lease until ctx ends, and ends it when the lease is lost.
func (a *attempt) keepLease(ctx context.Context, cancel context.CancelCauseFunc) {
	for !a.leaseEnd().IsZero() {
		left := a.leaseEnd().Sub(a.now())
		if left <= 0 {
			if a.final {
				cancel(ErrTimeUp)
			}
			cancel(ErrLeaseLost)
			return
		}
		wait := beatAfter(left)
		if a.final {
			wait = left
		}
		select {
		case <-ctx.Done():
			return
		case <-a.inv.Env.Clock.After(wait):
		}
		if a.final {
			continue
		}
		if err := a.keepOnce(ctx); err != nil {
			cancel(err)
			return
		}
	}
}

// keepOnce beats once. Only an answer of the gate ends the attempt; a lost one
// is tried again until the lease has ended.
func (a *attempt) keepOnce(ctx context.Context) error {
	answer, err := a.beat(ctx)
	switch {
	case err != nil:
		return nil //nolint:nilerr // a lost beat is tried again; the lease says when it is too late
	case answer.Stop:
		return ErrStopped
	}
	a.final = !answer.Lease.After(a.leaseEnd()) // the attempt's deadline caps it
	a.renew(answer.Lease)
	if a.inv.Held != nil {
		a.inv.Held(ctx, answer.Lease)
	}
	if err := a.flush(ctx); err != nil && !errors.Is(err, context.Canceled) {
		a.inv.Env.Log.WarnContext(ctx, "action outcome is still held", "error", err)
	}
	return nil
}

// beatMargin is how long before its end a lease is renewed: time for several tries.
const beatMargin = 20 * time.Second

// beatAfter is when to renew a lease of which so much is left.
func beatAfter(left time.Duration) time.Duration {
	if left > 2*beatMargin {
		return left - beatMargin
	}
	return max(left/2, 200*time.Millisecond)
}

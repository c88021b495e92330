package worker

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/gate"
)

// attempt is one invocation's side of the gate protocol.
type attempt struct {
	inv  Invocation
	task gate.Task

	mu      sync.Mutex
	calls   int
	fence   int64
	lease   time.Time
	closed  bool
	pending []gate.ActionReport
	called  map[string]bool
	reports sync.Mutex
	// final: no heartbeat can extend the lease further. Of the heartbeats alone.
	final bool
}

func newAttempt(inv Invocation) *attempt {
	inv.Env = inv.Env.filled()
	return &attempt{inv: inv, called: map[string]bool{}}
}

func (a *attempt) now() time.Time { return a.inv.Env.Clock.Now() }

// next identifies a new gate call.
func (a *attempt) next() gate.Call {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.calls++
	return gate.Call{
		Delivery: a.inv.Delivery,
		Nonce:    a.inv.Request + "/" + strconv.Itoa(a.calls),
		Fence:    a.fence,
	}
}

// accept takes over what admit granted.
func (a *attempt) accept(task gate.Task) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.task, a.fence, a.lease = task, task.Fence, task.Lease
}

func (a *attempt) leaseEnd() time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.lease
}

func (a *attempt) renew(lease time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lease = lease
}

// close bars further actions: the work was handed over, or given up.
func (a *attempt) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed = true
}

func (a *attempt) ended() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.closed
}

// mayCall says why a business call must not be made at this moment, if so.
func (a *attempt) mayCall(ctx context.Context, until time.Time) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.now()
	switch {
	case a.closed:
		return ErrTimeUp
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case !a.lease.IsZero() && !now.Before(a.lease):
		return ErrLeaseLost
	case !now.Before(until):
		return ErrTimeUp
	}
	return nil
}

// gateTries is how often one gate call is made when its answer does not come.
const gateTries = 5

// firstPause is the wait before the second try; it doubles.
const firstPause = 100 * time.Millisecond

// ask makes one gate call, again with the same nonce while the answer is lost.
func ask[Answer any](ctx context.Context, a *attempt, call func(context.Context) (Answer, error)) (Answer, error) {
	pause := firstPause
	for try := 1; ; try++ {
		answer, err := call(ctx)
		if err == nil || try == gateTries {
			return answer, err
		}
		a.inv.Env.Log.WarnContext(ctx, "gate call gave no answer", "run", a.inv.Delivery.Run,
			"step", a.inv.Delivery.Step, "try", try, "error", err)
		select {
		case <-ctx.Done():
			return answer, fmt.Errorf("%w (%w)", err, context.Cause(ctx))
		case <-a.inv.Env.Clock.After(pause):
			pause *= 2
		}
	}
}

func (a *attempt) admit(ctx context.Context) (gate.AdmitAnswer, error) {
	req := gate.AdmitRequest{Call: a.next(), Contract: a.inv.Worker.contract, Limit: a.inv.Limit}
	return ask(ctx, a, func(ctx context.Context) (gate.AdmitAnswer, error) { return a.inv.Gate.Admit(ctx, req) })
}

func (a *attempt) begin(ctx context.Context, action string, payload []byte) (gate.BeginAnswer, error) {
	req := gate.BeginRequest{Call: a.next(), Action: action, Payload: payload}
	return ask(ctx, a, func(ctx context.Context) (gate.BeginAnswer, error) { return a.inv.Gate.Begin(ctx, req) })
}

func (a *attempt) report(ctx context.Context, report gate.ActionReport) (gate.ReportAnswer, error) {
	req := gate.ReportRequest{Call: a.next(), Report: report}
	return ask(ctx, a, func(ctx context.Context) (gate.ReportAnswer, error) { return a.inv.Gate.Report(ctx, req) })
}

func (a *attempt) beat(ctx context.Context) (gate.HeartbeatAnswer, error) {
	req := gate.HeartbeatRequest{Call: a.next()}
	return ask(ctx, a, func(ctx context.Context) (gate.HeartbeatAnswer, error) { return a.inv.Gate.Heartbeat(ctx, req) })
}

func (a *attempt) settle(ctx context.Context, req gate.SettleRequest) (gate.SettleAnswer, error) {
	req.Call = a.next()
	return ask(ctx, a, func(ctx context.Context) (gate.SettleAnswer, error) { return a.inv.Gate.Settle(ctx, req) })
}

// hold keeps an action's outcome until it is handed over.
func (a *attempt) hold(report gate.ActionReport) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.pending = append(a.pending, report)
}

func (a *attempt) takePending() []gate.ActionReport {
	a.mu.Lock()
	defer a.mu.Unlock()
	taken := a.pending
	a.pending = nil
	return taken
}

// flush reports held outcomes at once, because more work follows. What could
// not be reported stays held.
func (a *attempt) flush(ctx context.Context) error {
	a.reports.Lock()
	defer a.reports.Unlock()
	held := a.takePending()
	for i, report := range held {
		if _, err := a.report(ctx, report); err != nil {
			for _, unreported := range held[i:] {
				a.hold(unreported)
			}
			return Transient("reporting action %s: %w", report.Entry, err)
		}
	}
	return nil
}

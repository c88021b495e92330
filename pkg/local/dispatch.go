package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/gate"
	"github.com/outerloop-dev/outerloop/pkg/local/durable"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// work is one thing a goroutine does: a call or a message.
type work struct {
	call    *durable.Call
	message *durable.Message
	pool    *pool // of a message or a direct call; nil for the coordinator
}

// inside marks the context of a goroutine that looks for work by itself.
type inside struct{}

// kick starts what can start. Goroutines that are working already look for work
// themselves when they are done.
func (e *Engine) kick(ctx context.Context) {
	if ctx.Value(inside{}) != nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.spawn(ctx)
	e.notice()
}

// spawn starts a goroutine for each thing that can start. The lock is held.
func (e *Engine) spawn(ctx context.Context) {
	for {
		w, ok := e.next(ctx)
		if !ok {
			return
		}
		e.busy++
		go e.run(w)
	}
}

// next takes what can start now, if anything. The lock is held.
func (e *Engine) next(ctx context.Context) (work, bool) {
	if e.failed != nil {
		return work{}, false
	}
	for _, call := range e.core.Calls() {
		e.line(call)
	}
	if len(e.gates) > 0 {
		call := e.gates[0]
		e.gates = e.gates[1:]
		return work{call: &call}, true
	}
	if len(e.direct) > 0 && e.running < e.cfg.DirectAtOnce {
		call := e.direct[0]
		e.direct = e.direct[1:]
		e.running++
		name, _ := workerOf(call.Function)
		return work{call: &call, pool: e.byName[name]}, true
	}
	return e.receive(ctx)
}

// receive takes a message for a worker that has room.
func (e *Engine) receive(ctx context.Context) (work, bool) {
	for _, p := range e.pools {
		if p.inUse >= p.AtOnce {
			continue
		}
		m, err := e.core.Receive(context.WithoutCancel(ctx), p.Code.Name(), p.Timeout+worker.Reserve)
		if err != nil {
			e.failed = err
			e.notice()
			return work{}, false
		}
		if m != nil {
			p.inUse++
			return work{message: m, pool: p}, true
		}
	}
	return work{}, false
}

// run does one thing after the other until there is nothing for it to do.
func (e *Engine) run(w work) {
	ctx := context.WithValue(e.handlers, inside{}, true)
	for ok := true; ok; {
		e.do(ctx, w)
		e.mu.Lock()
		e.release(w)
		if w, ok = e.next(ctx); ok {
			e.spawn(ctx) // more than this goroutine can do
		} else {
			e.busy--
			e.notice()
		}
		e.mu.Unlock()
	}
}

func (e *Engine) release(w work) {
	switch {
	case w.message != nil:
		w.pool.inUse--
	case w.call != nil:
		if _, direct := workerOf(w.call.Function); direct {
			e.running--
		}
	}
}

func (e *Engine) do(ctx context.Context, w work) {
	var err error
	if w.message != nil {
		err = e.deliver(ctx, w.pool, w.message)
	} else {
		err = e.call(ctx, w.pool, *w.call)
	}
	if err != nil && ctx.Err() == nil {
		e.fail(err)
	}
}

// call invokes a function and answers its task.
func (e *Engine) call(ctx context.Context, p *pool, call durable.Call) error {
	result, err := e.result(ctx, p, call)
	switch {
	case err != nil:
		return err
	case e.stopped():
		return nil // nothing is answered, and the next owner calls again
	}
	return e.core.Answer(ctx, call, result)
}

// stopped tells whether functions were told to stop: their answers mean nothing.
func (e *Engine) stopped() bool { return e.handlers.Err() != nil }

func (e *Engine) result(ctx context.Context, p *pool, call durable.Call) (durable.Result, error) {
	_, isWorker := workerOf(call.Function)
	switch {
	case call.Function == coordinatorFunction:
		return e.coordinate(ctx, call), nil
	case isWorker && p != nil:
		return e.invoke(ctx, p, call)
	}
	return durable.Result{
		Error: "Lambda.ResourceNotFoundException", Cause: "Function not found: " + call.Function, Service: true,
	}, nil
}

// coordinate calls the coordinator's function.
func (e *Engine) coordinate(ctx context.Context, call durable.Call) durable.Result {
	output, err := e.coord.Step(ctx, call.Payload)
	var named *coordinator.StepError
	switch {
	case errors.As(err, &named):
		return failed(named.Name, named.Cause)
	case err != nil:
		e.cfg.Log.Warn("the coordinator could not answer", "state", call.State, "error", err)
		return failed(unanswered, err.Error())
	}
	return durable.Result{Output: output}
}

// invoke calls a worker directly.
func (e *Engine) invoke(ctx context.Context, p *pool, call durable.Call) (durable.Result, error) {
	var delivery gate.Delivery
	err := json.Unmarshal(call.Payload, &delivery)
	if err != nil {
		return failed(outerloop.ErrorFatal, "reading the delivery: "+err.Error()), nil //nolint:nilerr // it is the function's answer
	}
	handled, err := e.handle(ctx, p, delivery, nil)
	switch {
	case err != nil:
		e.cfg.Log.Warn("a worker's gate could not answer", "state", call.State, "error", err)
		return failed(unanswered, err.Error()), nil
	case handled.Exit:
		return durable.Result{}, fmt.Errorf("worker %s did not return in time: the process must end", p.Code.Name())
	case handled.Verdict == nil:
		return failed(outerloop.ErrorNotNow, handled.Reason), nil
	case handled.Verdict.Error != "":
		return failed(handled.Verdict.Error, handled.Verdict.Cause), nil
	}
	note, err := json.Marshal(handled.Verdict.Note)
	return durable.Result{Output: note}, err
}

// unanswered is the error of a function that could not do its work at all;
// machines try again.
const unanswered = "Lambda.ServiceException"

// failed is a function's error as Step Functions shows it.
func failed(name, message string) durable.Result {
	cause, err := json.Marshal(map[string]string{"errorMessage": message, "errorType": name})
	if err != nil {
		cause = []byte("{}") // two texts always encode
	}
	return durable.Result{Error: name, Cause: string(cause)}
}

// deliver gives a message to its worker; it is acknowledged when it is answered.
func (e *Engine) deliver(ctx context.Context, p *pool, m *durable.Message) error {
	var delivery gate.Delivery
	if err := json.Unmarshal(m.Body, &delivery); err != nil || delivery.Run == "" || delivery.Step == "" {
		return e.unreadable(ctx, m)
	}
	handled, err := e.handle(ctx, p, delivery, func(_ context.Context, until time.Time) { e.core.Extend(m, until) })
	switch {
	case e.stopped():
		return nil //nolint:nilerr // the next owner delivers it again
	case coordinator.BelongsNowhere(err):
		return e.unreadable(ctx, m)
	case err != nil:
		e.cfg.Log.Warn("a delivery failed", "queue", m.Queue, "message", m.ID, "error", err)
		return e.core.Return(ctx, m, e.soon(again(m.Receives)))
	case handled.Exit:
		return fmt.Errorf("worker %s did not return in time: the process must end", p.Code.Name())
	case handled.Verdict != nil:
		return e.core.Delete(ctx, m)
	case handled.Later.IsZero():
		return e.core.Return(ctx, m, e.soon(again(m.Receives)))
	}
	return e.core.Postpone(ctx, m, handled.Later)
}

// unreadable buries a message that is no delivery, or none of this state file.
// Where that fails, it comes again.
func (e *Engine) unreadable(ctx context.Context, m *durable.Message) error {
	err := e.bury(ctx, m, outerloop.ErrorFatal)
	if err == nil || e.stopped() {
		return nil
	}
	e.cfg.Log.Warn("a message that nobody can read is still there", "queue", m.Queue, "message", m.ID, "error", err)
	return e.core.Return(ctx, m, e.soon(again(m.Receives)))
}

// bury takes a message out of the way that nobody can answer: what can be read
// is answered, what cannot is kept in an exception. The task that still waits for
// it fails by the error, and its step's rule decides.
func (e *Engine) bury(ctx context.Context, m *durable.Message, errorName string) error {
	done, err := e.coord.Undeliverable(ctx, coordinator.Letter{Queue: m.Queue, ID: m.ID, Worker: m.Queue, Body: m.Body, Receives: int(m.Receives)})
	if err != nil || !done { // not done: an attempt is at work
		return err
	}
	return e.core.Bury(ctx, m, errorName, "nobody could answer the step's message")
}

// deadAtOnce bounds how many dead letters of a queue one look takes.
const deadAtOnce = 100

// buryDead looks into the dead-letter queues.
func (e *Engine) buryDead(ctx context.Context) error {
	var failed []error
	for _, p := range e.pools {
		dead, err := e.core.Dead(ctx, p.Code.Name(), deadAtOnce)
		failed = append(failed, err)
		for i := range dead {
			failed = append(failed, e.bury(ctx, &dead[i], outerloop.ErrorCrashed))
		}
	}
	return errors.Join(failed...)
}

// again is when a message without an answer comes again.
func again(receives int64) time.Duration { return time.Second << min(receives-1, 6) }

// handle takes a delivery through the worker's wrapper.
func (e *Engine) handle(ctx context.Context, p *pool, d gate.Delivery, held func(context.Context, time.Time)) (worker.Handled, error) {
	return worker.Handle(ctx, worker.Invocation{
		Worker:   p.Code,
		Gate:     worker.InProcess(syncedGate{e.coord.For(p.Code.Name()), e.store.Sync}),
		Delivery: d,
		Request:  e.id(),
		Limit:    e.cfg.Clock.Now().Add(p.Timeout),
		Env: worker.Env{
			Clock: e.cfg.Clock, Files: e.files, Connections: p.Connections, Log: e.cfg.Log, Run: e.tool,
		},
		Held: held,
	})
}

// tool runs a worker that another one uses as a tool, on the caller's goroutine.
func (e *Engine) tool(ctx context.Context, name string, d gate.Delivery) error {
	p := e.byName[name]
	if p == nil {
		return fmt.Errorf("this program has no worker %s", name)
	}
	handled, err := e.handle(ctx, p, d, nil)
	switch {
	case err != nil:
		return err
	case handled.Exit:
		return fmt.Errorf("worker %s did not return in time", name)
	case handled.Verdict == nil:
		return fmt.Errorf("worker %s is not free: %s", name, handled.Reason)
	}
	return nil
}

package coordinator_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/asl"
	"github.com/outerloop-dev/outerloop/pkg/compile"
	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/gate"
	"github.com/outerloop-dev/outerloop/pkg/loop"
	"github.com/outerloop-dev/outerloop/pkg/project"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// world drives the real coordinator and the compiled machines by hand, in
// virtual time and on one goroutine: whatever could happen next is a pending
// event, and the test (or its seed) says which one does.
type world struct {
	t       testing.TB
	ctx     context.Context
	now     time.Time
	store   store.Store
	blobs   store.Blobs
	coord   *coordinator.Coordinator
	defs    map[string]*loop.Definition
	latest  map[string]string
	machine map[string]*asl.Machine
	runs    map[string]*execution
	tokens  map[string]waiting
	pending []pending
	order   int
	// rand chooses among what may happen; nil: always what is due first.
	rand *rand.Rand
	// chaos draws faults; nil: none.
	chaos *chaos
	work  map[string]worker
	outer provider
	// alive are the invocations that were begun.
	alive  []*invocation
	alerts []coordinator.Alert
	// handOver takes deliveries outside of machines; nil: there is no such way.
	handOver func(worker string, d gate.Delivery)
	trace    []string
	ids      int
}

// pending is something that may happen at a time or later.
type pending struct {
	at   time.Time
	name string
	do   func()
	n    int
}

// waiting is a task that waits for a token.
type waiting struct {
	run  *execution
	task asl.TaskID
}

// execution is a machine's run or a distributed child of one.
type execution struct {
	name   string
	x      *asl.Execution
	parent *execution
	child  asl.ChildID
	// started and stopped tell of the time before the first event.
	started, stopped bool
}

// newWorld loads a project from files and checks it as validate does.
func newWorld(t testing.TB, files map[string]string) *world {
	t.Helper()
	m := newMemory()
	w := &world{
		t: t, ctx: context.Background(), now: time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC), store: m, blobs: m,
		defs: map[string]*loop.Definition{}, latest: map[string]string{}, machine: map[string]*asl.Machine{},
		runs: map[string]*execution{}, tokens: map[string]waiting{}, work: map[string]worker{},
	}
	fsys := fstest.MapFS{}
	for name, text := range files {
		fsys[name] = &fstest.MapFile{Data: []byte(text)}
	}
	p, problems := project.Load(fsys)
	if err := problems.Err(); err != nil {
		t.Fatalf("the test's project: %v", err)
	}
	for name, def := range p.Loops {
		bundle, err := p.Bundle(name)
		if err != nil {
			t.Fatal(err)
		}
		hash := project.Hash(bundle)
		w.defs[hash], w.latest[name] = def, hash
		text, err := compile.Compile(def)
		if err != nil {
			t.Fatal(err)
		}
		text = compile.Substitute(text, compile.Substitutions(def), func(tok compile.Token) string { return string(tok.Kind) + ":" + tok.Name })
		if w.machine[hash], err = asl.Load(text); err != nil {
			t.Fatalf("machine of %s: %v", name, err)
		}
	}
	w.boot()
	return w
}

// boot makes a coordinator as a new process would: with nothing but the store.
func (w *world) boot() {
	var err error
	var deliver func(context.Context, string, gate.Delivery) error
	if w.handOver != nil {
		deliver = func(_ context.Context, worker string, d gate.Delivery) error { w.handOver(worker, d); return nil }
	}
	w.coord, err = coordinator.New(coordinator.Config{
		Deliver: deliver,
		Store:   w.store, Blobs: w.blobs, Definitions: (*definitions)(w), Executions: (*executions)(w), Tokens: (*tokens)(w),
		Clock: func() time.Time { return w.now }, IDs: func() string { w.ids++; return fmt.Sprintf("w%d", w.ids) },
		Loops:  func(context.Context) ([]string, error) { return slices.Sorted(maps.Keys(w.latest)), nil },
		Notify: func(_ context.Context, a coordinator.Alert) { w.alerts = append(w.alerts, a) },
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) log(format string, args ...any) {
	w.trace = append(w.trace, w.now.Format("15:04:05.000 ")+fmt.Sprintf(format, args...))
}

func (w *world) later(d time.Duration, name string, do func()) { w.at(w.now.Add(d), name, do) }

func (w *world) at(at time.Time, name string, do func()) {
	w.order++
	w.pending = append(w.pending, pending{at: at, name: name, do: do, n: w.order})
}

// step lets one thing happen; false: nothing is pending until the limit.
func (w *world) step(limit time.Time) bool {
	best := -1
	for i, p := range w.pending {
		if p.at.After(limit) {
			continue
		}
		if best < 0 || p.at.Before(w.pending[best].at) || p.at.Equal(w.pending[best].at) && p.n < w.pending[best].n {
			best = i
		}
	}
	if best < 0 {
		return false
	}
	if w.rand != nil { // anything that is due within a little while may come first
		soon := w.pending[best].at
		if soon.Before(w.now) {
			soon = w.now
		}
		soon = soon.Add(time.Duration(w.rand.IntN(3)) * 20 * time.Second)
		var may []int
		for i, p := range w.pending {
			if !p.at.After(soon) && !p.at.After(limit) {
				may = append(may, i)
			}
		}
		best = may[w.rand.IntN(len(may))]
	}
	p := w.pending[best]
	w.pending = slices.Delete(w.pending, best, best+1)
	if p.at.After(w.now) {
		w.now = p.at
	}
	w.log("%s", p.name)
	p.do()
	return true
}

// run lets things happen for a time, at most n.
func (w *world) run(d time.Duration, n int) {
	limit := w.now.Add(d)
	for range n {
		if !w.step(limit) {
			return
		}
	}
	w.t.Fatalf("does not come to rest:\n%s", w.tail(60))
}

func (w *world) tail(n int) string {
	return strings.Join(w.trace[max(0, len(w.trace)-n):], "\n")
}

func (w *world) seed() asl.Seed {
	w.order++
	var s asl.Seed
	binary.BigEndian.PutUint64(s[8:], uint64(w.order))
	return s
}

func (w *world) apply(r *execution, ev asl.Event) {
	ev.Time, ev.Seed = w.now, w.seed()
	step, err := r.x.Apply(ev)
	if errors.Is(err, asl.ErrNotOpen) || errors.Is(err, asl.ErrEnded) {
		return
	}
	if err != nil {
		w.t.Fatalf("applying %s to %s: %v\n%s", ev.Kind, r.name, err, w.tail(30))
	}
	for _, e := range step.Effects {
		w.carryOut(r, e)
	}
}

func (w *world) carryOut(r *execution, e asl.Effect) {
	switch e := e.(type) {
	case asl.ScheduleTask:
		w.schedule(r, e)
	case asl.StartTimer:
		w.at(e.At, "timer of "+r.name, func() { w.apply(r, asl.Event{Kind: asl.TimerFired, Timer: e.Timer}) })
	case asl.StartChild:
		child := &execution{name: fmt.Sprintf("%s/%d", r.name, e.Child), x: asl.New(e.Machine), parent: r, child: e.Child}
		w.apply(child, asl.Event{Kind: asl.Start, Start: &asl.StartDetails{Input: e.Input, Name: child.name, ID: child.name}})
	case asl.End:
		w.log("execution %s ended %s %s %s", r.name, e.Status, deref(e.Error), deref(e.Cause))
		if r.parent != nil {
			w.apply(r.parent, asl.Event{Kind: asl.ChildEnded, Child: r.child, Status: e.Status, Output: e.Output, Error: e.Error, Cause: e.Cause})
		}
	}
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// schedule carries out a task: a message to a worker's queue, or an invocation.
func (w *world) schedule(r *execution, task asl.ScheduleTask) {
	if task.Token != "" {
		w.tokens[task.Token] = waiting{run: r, task: task.Task}
	}
	if !task.Deadline.IsZero() {
		w.at(task.Deadline, "time-out of "+task.State, func() { w.apply(r, asl.Event{Kind: asl.TaskTimedOut, Task: task.Task}) })
	}
	var in struct {
		FunctionName, QueueUrl string
		Payload, MessageBody   json.RawMessage
	}
	if err := json.Unmarshal(task.Input, &in); err != nil {
		w.t.Fatal(err)
	}
	switch {
	case in.QueueUrl != "":
		_, name, _ := strings.Cut(in.QueueUrl, ":")
		w.apply(r, asl.Event{Kind: asl.TaskSubmitted, Task: task.Task, Output: json.RawMessage("{}")})
		w.send(&message{worker: name, body: in.MessageBody})
	case strings.HasPrefix(in.FunctionName, "worker:"):
		name := strings.TrimPrefix(in.FunctionName, "worker:")
		w.send(&message{worker: name, body: in.Payload, direct: &waiting{run: r, task: task.Task}})
	default:
		w.invoke(r, task, in.Payload)
	}
}

// invoke calls the coordinator's own function.
func (w *world) invoke(r *execution, task asl.ScheduleTask, payload json.RawMessage) {
	w.later(time.Millisecond, "coordinator: "+task.State, func() {
		if w.chaos.lost() {
			_, _ = w.coord.Step(w.ctx, payload) // done, and the answer is lost: the engine calls again
			w.log("  answer lost")
		}
		out, err := w.coord.Step(w.ctx, payload)
		w.log("  %s %v", out, err)
		var named *coordinator.StepError
		switch {
		case err == nil && task.Token != "":
			w.apply(r, asl.Event{Kind: asl.TaskSubmitted, Task: task.Task, Output: json.RawMessage("{}")})
		case err == nil:
			w.apply(r, asl.Event{Kind: asl.TaskSucceeded, Task: task.Task, Output: lambdaAnswer(out)})
		case errors.As(err, &named):
			kind := asl.TaskFailed
			if task.Token != "" {
				kind = asl.TaskSubmitFailed
			}
			w.apply(r, asl.Event{Kind: kind, Task: task.Task, Error: &named.Name, Cause: &named.Cause})
		default:
			name, cause := "Lambda.Unknown", err.Error()
			kind := asl.TaskFailed
			if task.Token != "" {
				kind = asl.TaskSubmitFailed
			}
			w.apply(r, asl.Event{Kind: kind, Task: task.Task, Error: &name, Cause: &cause})
		}
	})
}

func lambdaAnswer(out json.RawMessage) json.RawMessage {
	raw, _ := json.Marshal(map[string]any{"Payload": out, "StatusCode": 200})
	return raw
}

// The ports of the coordinator.
type (
	definitions world
	executions  world
	tokens      world
)

func (d *definitions) Definition(_ context.Context, hash string) (*loop.Definition, error) {
	if def, ok := d.defs[hash]; ok {
		return def, nil
	}
	return nil, coordinator.ErrNoDefinition
}

func (d *definitions) Latest(_ context.Context, name string) (string, error) {
	if hash, ok := d.latest[name]; ok {
		return hash, nil
	}
	return "", coordinator.ErrNoLoop
}

func (e *executions) Start(_ context.Context, start coordinator.Execution) error {
	w := (*world)(e)
	if _, known := w.runs[start.Name]; known {
		return nil
	}
	r := &execution{name: start.Name, x: asl.New(w.machine[start.Definition])}
	w.runs[start.Name] = r
	w.later(0, "execution "+start.Name+" starts", func() {
		if r.stopped {
			return
		}
		r.started = true
		w.apply(r, asl.Event{Kind: asl.Start, Start: &asl.StartDetails{Input: start.Input, Name: start.Name, ID: start.Name}})
	})
	return nil
}

func (e *executions) Stop(_ context.Context, name, errorName, cause string) error {
	w := (*world)(e)
	r, known := w.runs[name]
	if known && !r.started {
		r.stopped = true
	}
	if known && r.started && !r.x.Status().Ended() {
		w.apply(r, asl.Event{Kind: asl.Stop, Error: &errorName, Cause: &cause})
	}
	return nil
}

func (e *executions) Describe(_ context.Context, name string) (coordinator.ExecutionState, error) {
	r, known := e.runs[name]
	switch {
	case !known:
		return coordinator.ExecutionState{Status: coordinator.ExecutionAbsent}, nil
	case r.stopped || r.x.Status().Ended():
		err, cause := r.x.Failure()
		return coordinator.ExecutionState{Status: coordinator.ExecutionEnded, Error: deref(err), Cause: deref(cause)}, nil
	}
	return coordinator.ExecutionState{Status: coordinator.ExecutionRunning}, nil
}

func (k *tokens) Succeed(_ context.Context, token string, output json.RawMessage) error {
	return k.answer(token, asl.Event{Kind: asl.TaskSucceeded, Output: output})
}

func (k *tokens) Fail(_ context.Context, token, errorName, cause string) error {
	return k.answer(token, asl.Event{Kind: asl.TaskFailed, Error: &errorName, Cause: &cause})
}

func (k *tokens) answer(token string, ev asl.Event) error {
	w := (*world)(k)
	at, known := w.tokens[token]
	if !known {
		return coordinator.ErrTokenGone
	}
	if w.chaos.tokenLost() {
		w.log("  token not completed")
		return errors.New("the engine did not answer")
	}
	delete(w.tokens, token)
	ev.Task = at.task
	w.later(0, "token: "+string(ev.Kind)+" "+deref(ev.Error), func() { w.apply(at.run, ev) })
	return nil
}

// message is a delivery in a queue, or a direct invocation.
type message struct {
	worker   string
	body     json.RawMessage
	direct   *waiting
	receives int
	done     bool
}

func (w *world) send(m *message) {
	w.later(time.Millisecond, "deliver to "+m.worker, func() { w.deliver(m) })
}

func (w *world) deliver(m *message) {
	if m.done {
		return
	}
	m.receives++
	var d gate.Delivery
	if err := json.Unmarshal(m.body, &d); err != nil {
		w.t.Fatal(err)
	}
	w.ids++
	inv := &invocation{w: w, m: m, request: fmt.Sprintf("req%d", w.ids), delivery: d, limit: w.now.Add(visibility)}
	w.alive = append(w.alive, inv)
	if m.direct == nil { // an unacknowledged message comes back
		w.later(visibility, "message visible again: "+d.Step+" "+d.Item, func() { w.deliver(m) })
	} else {
		w.later(visibility, "function time-out: "+d.Step, func() { inv.timeout() })
	}
	inv.next("admit", inv.admit)
}

// visibility is how long a delivery is hidden, and how long a function may run.
const visibility = 90 * time.Second

func (w *world) provider() *provider {
	if w.outer.effects == nil {
		w.outer = provider{effects: map[string]int{}, calls: map[string]int{}}
	}
	return &w.outer
}

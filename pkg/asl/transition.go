package asl

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/asl/internal/rawjson"
)

// transition is the work that one event causes.
type transition struct {
	x       *Execution
	now     time.Time
	random  random
	history []HistoryEvent
	effects []Effect
	// queue holds flows that can go on, first come first served, so that
	// branches advance side by side as on AWS.
	queue []work
	// overflow is set when the history is full.
	overflow bool
	// recorded counts the bytes of data in the new history events.
	recorded int
}

// work is one step that a flow can take.
type work struct {
	flow *flow
	do   func(*transition, *flow)
}

func (t *transition) later(f *flow, do func(*transition, *flow)) {
	t.queue = append(t.queue, work{f, do})
}

func (t *transition) run() {
	for i := 0; i < len(t.queue) && !t.ended(); i++ {
		w := t.queue[i]
		t.queue[i] = work{}
		if !w.flow.gone {
			w.do(t, w.flow)
		}
		if i == len(t.queue)-1 {
			t.queue, i = t.queue[:0], -1
		}
		if t.overflow && !t.ended() {
			t.full()
		}
	}
	if t.overflow && !t.ended() {
		t.full()
	}
}

func (t *transition) ended() bool { return t.x.data.Status.Ended() }

// full ends an execution whose history is full.
func (t *transition) full() {
	t.overflow = false
	name, cause := errRuntime, fmt.Sprintf("The execution reached the maximum number of history events (%d).", MaxEvents)
	t.abandon(t.x.data.Flow, false)
	t.end(Failed, historyExecutionFailed, nil, fault{Name: &name, Cause: &cause})
}

// One transition records at most about this many events and bytes of data, so
// that a machine that runs on and on without waiting neither holds up its
// driver nor fills its memory.
const (
	maxTurnEvents = 2000
	maxTurnBytes  = 16 << 20
)

// expressPause is how much time an express execution that runs on and on loses
// at each pause; it brings it to its time limit.
const expressPause = time.Second

// resume executes the flow's state, now or, when this transition did enough, in
// the next.
func (t *transition) resume(f *flow) {
	if len(t.history) < maxTurnEvents && t.recorded < maxTurnBytes {
		t.execute(f)
		return
	}
	at := t.now
	if t.x.machine.kind == Express {
		at = at.Add(expressPause)
	}
	t.startTimer(f, at)
	f.Timer.Pause = true
}

// record appends a history event to a flow's thread and returns its id.
func (t *transition) record(f *flow, kind HistoryType, details *HistoryDetails) int64 {
	f.Last = t.aside(f.Last, kind, details)
	return f.Last
}

// aside appends a history event that follows another but that the thread does
// not go on from, as AWS records some, and returns its id.
func (t *transition) aside(previous int64, kind HistoryType, details *HistoryDetails) int64 {
	d := &t.x.data
	if t.atLimit() && !kind.final() {
		t.overflow = true
		return previous
	}
	d.LastEvent++
	t.history = append(t.history, HistoryEvent{ID: d.LastEvent, PreviousID: previous, Time: t.now, Type: kind, Details: details})
	if details != nil {
		t.recorded += len(details.Input) + len(details.Output) + len(details.Parameters)
	}
	return d.LastEvent
}

func (t *transition) atLimit() bool {
	return t.x.machine.kind == Standard && t.x.data.LastEvent >= MaxEvents-1
}

func (t *transition) emit(e Effect) { t.effects = append(t.effects, e) }

func (t *transition) nextID() int64 {
	t.x.data.LastID++
	return t.x.data.LastID
}

// start begins the execution.
func (t *transition) start(details StartDetails) {
	x, m := t.x, t.x.machine
	x.data = snapshot{Status: Running, Start: details, StartTime: t.now}
	t.aside(0, historyExecutionStarted, &HistoryDetails{Input: details.Input, RoleARN: details.RoleARN})
	limit := m.timeout
	if m.kind == Express && (limit == 0 || limit > expressSeconds) {
		limit = expressSeconds
	}
	if limit > 0 {
		x.data.Limit = TimerID(t.nextID())
		x.data.LimitAt = t.now.Add(time.Duration(limit) * time.Second)
		t.emit(StartTimer{x.data.Limit, x.data.LimitAt})
	}
	x.data.Flow = &flow{}
	t.enter(x.data.Flow, m.block.start, details.Input)
}

// expressSeconds is how long an express execution may take.
const expressSeconds = 300

// enter moves a flow to a state.
func (t *transition) enter(f *flow, s *state, input []byte) {
	f.state, f.State = s, s.name
	f.Input, f.At = input, t.now
	f.Retries, f.Used = 0, nil
	f.Entered = t.record(f, enteredType(s.kind), &HistoryDetails{Name: s.name, Input: input})
	t.later(f, (*transition).resume)
}

// execute does what the state does, from its input on; also for a retry.
func (t *transition) execute(f *flow) {
	switch f.state.kind {
	case typePass:
		t.pass(f)
	case typeTask:
		t.schedule(f)
	case typeChoice:
		t.choose(f)
	case typeWait:
		t.wait(f)
	case typeSucceed:
		t.succeed(f)
	case typeFail:
		t.failState(f)
	case typeParallel:
		t.fork(f)
	case typeMap:
		t.startMap(f)
	}
}

// exit is what a state leaves with.
type exit struct {
	output   []byte
	next     *state // nil at an end
	assigned []Variable
}

// leave ends a flow's state and moves on.
func (t *transition) leave(f *flow, e exit) {
	s := f.state
	if oversized(e.output) {
		t.fail(f, t.tooLarge(s.name))
		return
	}
	f.Group = nil
	t.record(f, exitedType(s.kind), &HistoryDetails{Name: s.name, Output: e.output, Assigned: e.assigned})
	f.assign(e.assigned)
	if t.overflow {
		return
	}
	switch {
	case e.next != nil:
		t.later(f, func(t *transition, f *flow) { t.enter(f, e.next, e.output) })
	case f.parent != nil:
		t.branchDone(f, e.output)
	default:
		t.end(Succeeded, historyExecutionSucceeded, e.output, fault{})
	}
}

// oversized tells whether data is beyond MaxPayload, or nests more deeply than
// what may come from outside: nothing is kept that could not be read again.
func oversized(data []byte) bool { return len(data) > MaxPayload || rawjson.Deeper(data) }

// tooLarge is the fault of a result beyond MaxPayload.
func (t *transition) tooLarge(what string) fault {
	name := errDataLimit
	cause := fmt.Sprintf("The state/task '%s' returned a result with a size exceeding the maximum number of bytes service limit.", what)
	return fault{Name: &name, Cause: &cause}
}

// end ends the execution.
func (t *transition) end(status Status, kind HistoryType, output json.RawMessage, why fault) {
	d := &t.x.data
	details := &HistoryDetails{Output: output, Error: why.Name, Cause: why.Cause}
	t.aside(d.LastEvent, kind, details)
	if d.Limit != 0 {
		t.emit(CancelTimer{d.Limit})
	}
	d.Status, d.Output, d.Error, d.Cause = status, output, why.Name, why.Cause
	d.Flow, d.Limit, d.LimitAt = nil, 0, time.Time{}
	t.x.reset()
	t.emit(End{Status: status, Output: output, Error: why.Name, Cause: why.Cause})
}

// stop ends the execution from outside.
func (t *transition) stop(status Status, kind HistoryType, why fault) {
	t.overflow = false
	t.abandon(t.x.data.Flow, true)
	t.overflow = false
	if status == TimedOut {
		t.x.data.Limit = 0
	}
	t.end(status, kind, nil, why)
}

// assign sets variables in the flow's own scope.
func (f *flow) assign(vars []Variable) {
	for _, v := range vars {
		found := false
		for i := range f.Vars {
			if f.Vars[i].Name == v.Name {
				f.Vars[i].Value, found = v.Value, true
			}
		}
		if !found {
			f.Vars = append(f.Vars, v)
		}
	}
}

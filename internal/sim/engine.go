package sim

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/asl"
	"github.com/outerloop-dev/outerloop/pkg/coordinator"
)

// execution is a machine's run, or a distributed child of one. The engine
// itself never forgets: it is what the coordinator must live with.
type execution struct {
	name    string
	x       *asl.Execution
	parent  *execution
	child   asl.ChildID
	started bool
	stopped bool
}

func (e *execution) over() bool { return e.stopped || e.started && e.x.Status().Ended() }

// waiting is a task that waits: for its token, or for its function's answer.
type waiting struct {
	run  *execution
	task asl.TaskID
}

func (s *Sim) seedOf() asl.Seed {
	s.arrivals++
	var out asl.Seed
	binary.BigEndian.PutUint64(out[8:], uint64(s.arrivals))
	return out
}

// apply hands an event to an execution and carries out what follows.
func (s *Sim) apply(r *execution, ev asl.Event) {
	ev.Time, ev.Seed = s.now, s.seedOf()
	step, err := r.x.Apply(ev)
	if errors.Is(err, asl.ErrNotOpen) || errors.Is(err, asl.ErrEnded) {
		return
	}
	if err != nil {
		panic(fmt.Sprintf("applying %s to %s: %v", ev.Kind, r.name, err))
	}
	for _, e := range step.Effects {
		s.carryOut(r, e)
	}
}

func (s *Sim) carryOut(r *execution, e asl.Effect) {
	switch e := e.(type) {
	case asl.ScheduleTask:
		s.schedule(r, e)
	case asl.StartTimer:
		s.at(e.At, func() { s.apply(r, asl.Event{Kind: asl.TimerFired, Timer: e.Timer}) })
	case asl.StartChild:
		child := &execution{name: fmt.Sprintf("%s/%d", r.name, e.Child), x: asl.New(e.Machine), parent: r, child: e.Child, started: true}
		s.apply(child, asl.Event{Kind: asl.Start, Start: &asl.StartDetails{Input: e.Input, Name: child.name, ID: child.name}})
	case asl.End:
		s.log("execution %s ended %s %s %s", r.name, e.Status, text(e.Error), text(e.Cause))
		if r.parent != nil {
			s.apply(r.parent, asl.Event{Kind: asl.ChildEnded, Child: r.child, Status: e.Status, Output: e.Output, Error: e.Error, Cause: e.Cause})
			return
		}
		s.guard.executionEnded(r.name, text(e.Error), text(e.Cause))
	}
}

func text(p *string) string {
	if p == nil {
		return ""
	}
	return *p
}

// schedule carries out a task: a message to a worker's queue, a worker called
// directly, or the coordinator's function.
func (s *Sim) schedule(r *execution, task asl.ScheduleTask) {
	var in struct {
		FunctionName, QueueUrl string
		Payload, MessageBody   json.RawMessage
	}
	if err := json.Unmarshal(task.Input, &in); err != nil {
		panic(err)
	}
	at := waiting{run: r, task: task.Task}
	if task.Token != "" {
		s.tokens[task.Token] = at
	}
	if !task.Deadline.IsZero() {
		s.at(task.Deadline, func() { s.apply(r, asl.Event{Kind: asl.TaskTimedOut, Task: task.Task}) })
	}
	switch {
	case in.QueueUrl != "":
		_, name, _ := strings.Cut(in.QueueUrl, ":")
		s.apply(r, asl.Event{Kind: asl.TaskSubmitted, Task: task.Task, Output: json.RawMessage("{}")})
		m := &message{worker: name, body: in.MessageBody, state: at}
		s.send(m)
		if s.draw(EngineLies, 60) {
			s.after(time.Duration(1+s.random.IntN(20_000))*time.Millisecond, func() { s.lie(m) })
		}
		if s.window("timed out, new token, old worker alive") {
			s.after(time.Duration(1+s.random.IntN(60_000))*time.Millisecond, func() { s.timeOut(m) })
		}
	case strings.HasPrefix(in.FunctionName, "worker:"):
		s.send(&message{worker: strings.TrimPrefix(in.FunctionName, "worker:"), body: in.Payload, state: at, direct: true})
	default:
		s.invoke(r, task, in.Payload)
	}
}

// timeOut ends the state of a message early: the queue has eaten its clock.
func (s *Sim) timeOut(m *message) {
	s.log("the state of %s times out", m)
	s.apply(m.state.run, asl.Event{Kind: asl.TaskTimedOut, Task: m.state.task})
}

// lie lets a state go on as if its step had been settled: by hand, say.
func (s *Sim) lie(m *message) {
	s.log("the state of %s goes on by itself", m)
	note := json.RawMessage(`{"outcome":"completed","label":null,"until":null,"items":null}`)
	s.apply(m.state.run, asl.Event{Kind: asl.TaskSucceeded, Task: m.state.task, Output: note})
}

// again are the operations whose late copies must not matter.
var again = map[string]bool{"rule": true, "finish": true, "register": true, "ask": true, "await": true, "start_child": true, "decide_block": true}

// invoke calls the coordinator's function for a state.
func (s *Sim) invoke(r *execution, task asl.ScheduleTask, payload json.RawMessage) {
	var in struct {
		Op   string
		Step string
		Item string
		Run  string
		Gen  int
	}
	if err := json.Unmarshal(payload, &in); err != nil {
		panic(err)
	}
	step := func(c *coordinator.Coordinator) (json.RawMessage, error) {
		if run := s.guard.runs[in.Run]; run != nil && run.Gen > in.Gen {
			s.stale(in.Op)
		}
		return c.Step(s.ctx, payload)
	}
	delay := s.latency()
	if in.Op == "register" && s.window("decision / token not registered yet") {
		delay += time.Duration(1+s.random.IntN(1200)) * time.Second
	}
	if in.Op == "register" && s.window("registration delayed past a redrive") {
		delay += time.Duration(10+s.random.IntN(120)) * time.Minute
	}
	name := fmt.Sprintf("state %s%s of %s", task.State, bracket(in.Item), r.name)
	if again[in.Op] && s.window("rule of an older generation arrives late") {
		copied := s.spawn(delay+time.Duration(1+s.random.IntN(1500))*time.Second, "late copy of "+name, func() { _, _ = attempt(s, in.Op, step) })
		copied.run, copied.gen = in.Run, in.Gen
	}
	a := s.spawn(delay, name, func() {
		if s.draw(StepAgain, 20) {
			_, _ = attempt(s, in.Op, step)
		}
		out, err := attempt(s, in.Op, step)
		s.log("%s answers %s %v", name, out, err)
		ev := answerOf(out, err)
		if task.Token != "" && err == nil {
			ev = asl.Event{Kind: asl.TaskSubmitted, Output: json.RawMessage("{}")}
		} else if task.Token != "" {
			ev.Kind = asl.TaskSubmitFailed
		}
		ev.Task = task.Task
		s.after(s.latency(), func() { s.apply(r, ev) })
	})
	a.run, a.gen = in.Run, in.Gen
}

func (s *Sim) stale(op string) {
	if op == "register" {
		s.saw("registration delayed past a redrive")
	}
}

// answerOf is what the engine sees of a function's answer.
func answerOf(out json.RawMessage, err error) asl.Event {
	if err == nil {
		raw, _ := json.Marshal(map[string]any{"Payload": out, "StatusCode": 200})
		return asl.Event{Kind: asl.TaskSucceeded, Output: raw}
	}
	name, cause := "Lambda.Unknown", err.Error()
	var named *coordinator.StepError
	switch {
	case errors.As(err, &named):
		name, cause = named.Name, named.Cause
	case errors.Is(err, errDied):
		name = "Runtime.ExitError"
	}
	return asl.Event{Kind: asl.TaskFailed, Error: &name, Cause: &cause}
}

func bracket(item string) string {
	if item == "" {
		return ""
	}
	return "[" + item + "]"
}

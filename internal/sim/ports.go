package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/asl"
	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/loop"
)

// process is one of several that run a coordinator: with its own memory and its
// own clock.
type process struct {
	s     *Sim
	name  string
	skew  time.Duration
	coord *coordinator.Coordinator
}

func (p *process) clock() time.Time { return p.s.now.Add(p.skew) }

// boot makes the process anew: with nothing but the store.
func (p *process) boot() {
	s := p.s
	c, err := coordinator.New(coordinator.Config{
		Store: port{s}, Blobs: port{s}, Definitions: definitions{s.project}, Executions: executions{s}, Tokens: tokens{s},
		Clock: p.clock, IDs: s.id, Loops: func(context.Context) ([]string, error) { return s.project.names, nil },
		CrashLimit: 1 + int(s.Seed%3),
		Deliver:    s.deliverOutside, Notify: s.guard.told,
	})
	if err != nil {
		panic(err)
	}
	p.coord = c
}

func (s *Sim) id() string {
	s.ids++
	return fmt.Sprintf("w%d", s.ids)
}

// any is one of the processes.
func (s *Sim) any() *process { return s.processes[s.random.IntN(len(s.processes))] }

// errDied is the answer of a process that died at the call.
var errDied = errors.New("the process died")

// attempt makes one call of a coordinator in some process. A process that dies
// meanwhile has done what it has done.
func attempt[T any](s *Sim, op string, do func(*coordinator.Coordinator) (T, error)) (out T, err error) {
	a := s.cur
	was, on := a.op, a.on
	a.op, a.on = op, s.any()
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(died); !ok {
				panic(r)
			}
			s.log("  the process is dead")
			err = errDied
		}
		a.op, a.on = was, on
	}()
	return do(a.on.coord)
}

// persistently makes a call until it is answered, as whoever gets no answer does.
func persistently[T any](s *Sim, op string, do func(*coordinator.Coordinator) (T, error)) (out T, err error) {
	for range 8 {
		out, err = attempt(s, op, do)
		if err == nil || !transient(err) {
			return out, err
		}
		s.wait(time.Duration(1+s.random.IntN(4000)) * time.Millisecond)
	}
	return out, err
}

type definitions struct{ p *Project }

// Definition is the loop of a hash.
func (d definitions) Definition(_ context.Context, hash string) (*loop.Definition, error) {
	if def, ok := d.p.defs[hash]; ok {
		return def, nil
	}
	return nil, coordinator.ErrNoDefinition
}

// Latest is the hash that new runs pin.
func (d definitions) Latest(_ context.Context, name string) (string, error) {
	if hash, ok := d.p.latest[name]; ok {
		return hash, nil
	}
	return "", coordinator.ErrNoLoop
}

type executions struct{ s *Sim }

// Start is idempotent by name. Its answer may be lost.
func (e executions) Start(_ context.Context, start coordinator.Execution) error {
	s := e.s
	s.wait(s.latency())
	if s.draw(CrashAtEngine, 60) {
		panic(died{})
	}
	if s.draw(EngineSlow, 60) {
		return errors.New("the engine is busy")
	}
	if s.without("start") {
		return nil
	}
	if _, known := s.runs[start.Name]; !known {
		r := &execution{name: start.Name, x: asl.New(s.project.machines[start.Definition])}
		s.runs[start.Name] = r
		s.log("  execution %s is taken", start.Name)
		s.after(s.latency(), func() {
			if !r.stopped {
				r.started = true
				s.apply(r, asl.Event{Kind: asl.Start, Start: &asl.StartDetails{Input: start.Input, Name: start.Name, ID: start.Name}})
			}
		})
		s.abort(r)
	}
	if s.cur.op == "start" && s.window("started / answer lost") {
		panic(died{})
	}
	return nil
}

// abort may end an execution by hand some time later.
func (s *Sim) abort(r *execution) {
	if !s.draw(Aborted, 12) {
		return
	}
	s.after(time.Duration(s.random.IntN(600))*time.Second, func() {
		if !r.started || r.over() {
			return
		}
		s.log("execution %s is aborted by hand", r.name)
		name, cause := "Aborted", "by hand"
		s.apply(r, asl.Event{Kind: asl.Stop, Error: &name, Cause: &cause})
	})
}

// Stop ends an execution.
func (e executions) Stop(_ context.Context, name, errorName, cause string) error {
	s := e.s
	s.wait(s.latency())
	if s.draw(CrashAtEngine, 60) {
		panic(died{})
	}
	if s.without("stop") {
		return nil
	}
	if r, known := s.runs[name]; known && !r.over() {
		if !r.started {
			r.stopped = true
			return nil
		}
		s.apply(r, asl.Event{Kind: asl.Stop, Error: &errorName, Cause: &cause})
	}
	return nil
}

// Describe says how an execution stands.
func (e executions) Describe(_ context.Context, name string) (coordinator.ExecutionState, error) {
	e.s.wait(e.s.latency())
	switch r, known := e.s.runs[name]; {
	case !known:
		return coordinator.ExecutionState{Status: coordinator.ExecutionAbsent}, nil
	case e.s.without("describe"):
		return coordinator.ExecutionState{Status: coordinator.ExecutionRunning}, nil
	case r.over():
		err, cause := r.x.Failure()
		return coordinator.ExecutionState{Status: coordinator.ExecutionEnded, Error: text(err), Cause: text(cause)}, nil
	}
	return coordinator.ExecutionState{Status: coordinator.ExecutionRunning}, nil
}

type tokens struct{ s *Sim }

// Succeed completes a token's task.
func (k tokens) Succeed(_ context.Context, token string, output json.RawMessage) error {
	return k.answer(token, asl.Event{Kind: asl.TaskSucceeded, Output: output})
}

// Fail completes a token's task with an error.
func (k tokens) Fail(_ context.Context, token, errorName, cause string) error {
	return k.answer(token, asl.Event{Kind: asl.TaskFailed, Error: &errorName, Cause: &cause})
}

func (k tokens) answer(token string, ev asl.Event) error {
	s := k.s
	s.wait(s.latency())
	at, known := s.tokens[token]
	if !known {
		return coordinator.ErrTokenGone
	}
	switch op := s.cur.op; {
	case s.without("token"):
		return nil
	case op == "settle" && s.window("settled / answer lost with no retry left"):
		s.after(0, func() { s.apply(at.run, asl.Event{Kind: asl.TaskTimedOut, Task: at.task}) })
		panic(died{})
	case s.draw(TokenLost, 30):
		return errors.New("the engine did not answer")
	case s.draw(CrashAtEngine, 60):
		panic(died{})
	}
	delete(s.tokens, token)
	ev.Task = at.task
	s.log("  token of %s completed: %s %s", at.run.name, ev.Kind, text(ev.Error))
	s.after(s.latency(), func() { s.apply(at.run, ev) })
	if s.cur.op == "settle" && s.window("settle committed / answer lost") {
		panic(died{})
	}
	return nil
}

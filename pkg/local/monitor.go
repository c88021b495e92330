package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/gate"
	"github.com/outerloop-dev/outerloop/pkg/loop"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// monitors ask the loops' probes when they are due. When that is follows from
// what the coordinator has kept, so that a restart neither loses nor repeats a look.
type monitors struct {
	e *Engine

	mu      sync.Mutex
	looking map[string]bool
	looks   sync.WaitGroup
}

// look starts the looks that are due and answers when the next one is.
func (m *monitors) look(ctx context.Context, now time.Time) (next time.Time, err error) {
	for _, l := range m.e.cfg.Loops {
		name := l.Definition.Loop.Name
		for i := range l.Definition.Triggers {
			trigger := &l.Definition.Triggers[i]
			if trigger.Kind != loop.TriggerMonitor {
				continue
			}
			due, err := m.e.coord.MonitorDue(ctx, name, i)
			if err != nil {
				return next, fmt.Errorf("looking for monitor %d of %s: %w", i+1, name, err)
			}
			if !due.After(now) {
				m.start(ctx, l.Definition, i)
				due = now.Add(trigger.Monitor.Every)
			}
			if next.IsZero() || due.Before(next) {
				next = due
			}
		}
	}
	return next, nil
}

// start looks once in the background; while a look is under way there is no other.
func (m *monitors) start(ctx context.Context, def *loop.Definition, trigger int) {
	key := fmt.Sprintf("%s/%d", def.Loop.Name, trigger)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.looking[key] {
		return
	}
	if m.looking == nil {
		m.looking = map[string]bool{}
	}
	m.looking[key] = true
	m.looks.Go(func() {
		if err := m.e.Look(ctx, def.Loop.Name, trigger); err != nil && ctx.Err() == nil {
			m.e.cfg.Log.Error("a monitor could not look", "loop", def.Loop.Name, "trigger", trigger+1, "error", err)
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.looking, key)
	})
}

// Look asks the probe of a loop's monitor once, whether or not it is due, and
// starts what its conditions call for. trigger is the monitor's number among
// the loop's triggers, from 0. A probe that fails is asked again with the next
// look. Errors: those of coordinator.Observe, the probe's, and
// coordinator.ErrNoLoop.
func (e *Engine) Look(ctx context.Context, loopName string, trigger int) error {
	for _, l := range e.cfg.Loops {
		if l.Definition.Loop.Name != loopName {
			continue
		}
		if trigger < 0 || trigger >= len(l.Definition.Triggers) || l.Definition.Triggers[trigger].Probe == nil {
			return fmt.Errorf("trigger %d of %s: %w", trigger, loopName, coordinator.ErrNotPossible)
		}
		seen := coordinator.Observation{Loop: loopName, Trigger: trigger, At: e.cfg.Clock.Now().Truncate(time.Second)} // people read it in subjects
		var failed error
		if seen.Output, failed = e.probe(ctx, l.Definition, l.Definition.Triggers[trigger].Probe); failed != nil {
			return errors.Join(failed, e.coord.Unseen(ctx, seen))
		}
		_, err := e.coord.Observe(ctx, seen)
		e.kick(ctx)
		return err
	}
	return fmt.Errorf("%w: %q", coordinator.ErrNoLoop, loopName)
}

// probe runs a worker outside of any run: it has no step, so it may do no
// action and its result is checked by the monitor alone.
func (e *Engine) probe(ctx context.Context, def *loop.Definition, probe *loop.Worker) (json.RawMessage, error) {
	name := probe.Charter.Worker
	p := e.byName[name]
	if p == nil {
		return nil, fmt.Errorf("this process has no worker %s", name)
	}
	now := e.cfg.Clock.Now()
	g := &probeGate{task: gate.Task{
		Run: "monitor", Loop: def.Loop.Name, Step: "monitor", Visit: 1, Attempt: 1, Fence: 1, Worker: name,
		AsOf: now, Deadline: now.Add(p.Timeout), Lease: now.Add(p.Timeout), Charter: probe.Document, Input: json.RawMessage("{}"),
	}}
	_, err := worker.Handle(ctx, worker.Invocation{
		Worker: p.Code, Gate: worker.InProcess(g), Delivery: gate.Delivery{Run: "monitor", Gen: 1, Step: "monitor"},
		Request: e.id(), Limit: now.Add(p.Timeout),
		Env: worker.Env{Clock: e.cfg.Clock, Files: e.files, Connections: p.Connections, Log: e.cfg.Log},
	})
	switch {
	case err != nil:
		return nil, fmt.Errorf("asking the probe %s: %w", name, err)
	case g.settled.Failure != nil:
		return nil, fmt.Errorf("probe %s: %s: %s", name, g.settled.Failure.Class.ErrorName(), g.settled.Failure.Message)
	case g.settled.Result == nil:
		return nil, fmt.Errorf("probe %s gave no result", name)
	}
	return g.settled.Result.Output, nil
}

// probeGate admits one probe and takes its result.
type probeGate struct {
	task    gate.Task
	settled gate.SettleRequest
}

var errProbe = errors.New("a probe does no actions")

// Admit lets the probe look.
func (g *probeGate) Admit(context.Context, gate.AdmitRequest) (gate.AdmitAnswer, error) {
	return gate.AdmitAnswer{Decision: gate.Go, Task: &g.task}, nil
}

// Begin refuses every action.
func (g *probeGate) Begin(context.Context, gate.BeginRequest) (gate.BeginAnswer, error) {
	return gate.BeginAnswer{Claim: gate.ClaimRefused, Class: outerloop.ClassRefused, Reason: errProbe.Error()}, nil
}

// Report has nothing to record.
func (g *probeGate) Report(context.Context, gate.ReportRequest) (gate.ReportAnswer, error) {
	return gate.ReportAnswer{}, errProbe
}

// Settle takes the result.
func (g *probeGate) Settle(_ context.Context, req gate.SettleRequest) (gate.SettleAnswer, error) {
	g.settled = req
	done := outerloop.OutcomeCompleted
	return gate.SettleAnswer{Answered: true, Verdict: gate.Verdict{Note: gate.Note{Outcome: &done}}}, nil
}

// Heartbeat never stops it before its time.
func (g *probeGate) Heartbeat(context.Context, gate.HeartbeatRequest) (gate.HeartbeatAnswer, error) {
	return gate.HeartbeatAnswer{Lease: g.task.Deadline}, nil
}

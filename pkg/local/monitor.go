package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/coordinator"
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
	probed, err := worker.Probe(ctx, worker.Invocation{
		Worker: p.Code, Request: e.id(), Limit: now.Add(p.Timeout),
		Env: worker.Env{Clock: e.cfg.Clock, Files: e.files, Connections: p.Connections, Log: e.cfg.Log},
	}, coordinator.ProbeTask(def, probe, now, now.Add(p.Timeout)))
	return probed.Output, err
}

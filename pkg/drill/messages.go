package drill

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
	"github.com/outerloop-dev/outerloop/pkg/schedule"
	"github.com/outerloop-dev/outerloop/pkg/store"
	"github.com/outerloop-dev/outerloop/pkg/store/sqlitestore"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// queuePart is the partition of the store that holds a worker's messages in the
// embedded engine.
func queuePart(name string) string { return "QUEUE#" + name }

// runs counts the loop's runs.
func (w *world) runs(ctx context.Context) (int, error) {
	list, err := w.engine.Coordinator().Runs(ctx, coordinator.RunsQuery{Loop: w.d.report.Loop, Limit: 100})
	return len(list), err
}

// waiting drives a world that lacks a worker until a message for it waits.
func (w *world) waiting(ctx context.Context, name string) error {
	if err := w.start(ctx); err != nil {
		return err
	}
	end, err := w.horizon(ctx)
	if err != nil {
		return err
	}
	for step := time.Minute; w.clock.Now().Before(end); step *= 2 {
		if err := w.until(ctx, w.clock.Now().Add(step)); err != nil {
			return err
		}
		page, err := w.engine.Store().List(ctx, store.Query{Part: queuePart(name), Limit: 1})
		if err != nil || len(page.Items) > 0 {
			return err
		}
	}
	return fmt.Errorf("no message for %s: %w", name, ErrUnreached)
}

// lostMessage takes a worker's messages out of its queue. The machine's own
// time-out finds that, where it ends before the run must; else the owner is told
// of the stall, and the run fails at its deadline.
func lostMessage(ctx context.Context, d *driller, p place) (outcome, error) {
	e := expect(p.node, outerloop.ClassTimeout, 1)
	e.text = "the machine's time-out finds it; " + e.text
	e.most++
	name := p.node.Worker.Charter.Worker
	return d.in(ctx, nil, func(w *world) (outcome, error) {
		out := outcome{expected: e.text}
		if err := w.without(ctx, name); err != nil {
			return out, err
		}
		if err := w.waiting(ctx, name); err != nil {
			return out, err
		}
		if err := errors.Join(w.close(), loseMessages(ctx, w, name)); err != nil {
			return out, err
		}
		if err := w.without(ctx); err != nil {
			return out, err
		}
		end, err := w.horizon(ctx)
		if err != nil {
			return out, err
		}
		if w.clock.Now().Add(d.timeout(p)).Before(end) {
			if err := w.settle(ctx); err != nil {
				return out, err
			}
			return w.verdict(ctx, p, e)
		}
		return w.stalls(ctx, p, end.Add(2*time.Minute))
	})
}

// stalls drives a world to the end of its run, with somebody looking meanwhile.
func (w *world) stalls(ctx context.Context, p place, end time.Time) (outcome, error) {
	limit := p.loop.Loop.Alert.Stalled
	out := outcome{expected: fmt.Sprintf("%s is told once after %s; the run's deadline comes before the machine's time-out, and is told too",
		p.loop.Loop.Alert.To, schedule.FormatDuration(limit))}
	for at := w.clock.Now().Add(limit + time.Minute); at.Before(end); at = at.Add(limit) {
		if err := w.until(ctx, at); err != nil {
			return out, err
		}
	}
	if err := w.until(ctx, end); err != nil {
		return out, err
	}
	got, err := w.look(ctx, p)
	stalled, late := w.count(coordinator.KindStalled), w.count(coordinator.KindDeadline)
	out.happened = fmt.Sprintf("%s of the stall, %s of the deadline, the run is %s", plural(stalled, "alert"), plural(late, "alert"), got.status)
	out.held = stalled == 1 && late >= 1 && got.status == string(outerloop.StatusFailed)
	if err != nil {
		return out, err
	}
	return out, w.sound(ctx, &out)
}

// timeout is the time-out of a step's state in the compiled machine.
func (d *driller) timeout(p place) time.Duration {
	for _, l := range d.loops() {
		if l.Definition.Loop.Name == p.loop.Loop.Name {
			var machine any
			if json.Unmarshal(l.Machine, &machine) == nil {
				return time.Duration(stateTimeout(machine, p.node.Path)) * time.Second
			}
		}
	}
	return 0
}

// stateTimeout finds a state by its name, at any depth.
func stateTimeout(at any, name string) float64 {
	fields, ok := at.(map[string]any)
	if !ok {
		if list, ok := at.([]any); ok {
			for _, one := range list {
				if found := stateTimeout(one, name); found > 0 {
					return found
				}
			}
		}
		return 0
	}
	if states, ok := fields["States"].(map[string]any); ok {
		if state, ok := states[name].(map[string]any); ok {
			seconds, _ := state["TimeoutSeconds"].(float64)
			return seconds
		}
	}
	for _, one := range fields {
		if found := stateTimeout(one, name); found > 0 {
			return found
		}
	}
	return 0
}

// without opens the world's engine without some workers.
func (w *world) without(ctx context.Context, names ...string) error {
	w.absent = names
	return errors.Join(w.close(), w.open(ctx))
}

// loseMessages removes what is in a queue, behind everybody's back.
func loseMessages(ctx context.Context, w *world, name string) error {
	s, err := sqlitestore.Open(w.file(), sqlitestore.Options{Now: w.clock.Now})
	if err != nil {
		return err
	}
	page, err := s.List(ctx, store.Query{Part: queuePart(name)})
	for _, item := range page.Items {
		err = errors.Join(err, s.Write(ctx, "lost "+item.Sort, store.Remove(item.Key, item.Version)))
	}
	return errors.Join(err, s.Close())
}

// deadQueue leaves a worker's queue unread until the owner is told, then lets the worker come back.
func deadQueue(ctx context.Context, d *driller, p place) (outcome, error) {
	limit := p.loop.Loop.Alert.Stalled
	name := p.node.Worker.Charter.Worker
	text := fmt.Sprintf("nothing is lost, %s is told once after %s, and the step is done when the worker is back",
		p.loop.Loop.Alert.To, schedule.FormatDuration(limit))
	return d.in(ctx, nil, func(w *world) (outcome, error) {
		out := outcome{expected: text}
		if err := w.without(ctx, name); err != nil {
			return out, err
		}
		if err := w.waiting(ctx, name); err != nil {
			return out, err
		}
		end, err := w.horizon(ctx)
		if err != nil {
			return out, err
		}
		quiet := w.clock.Now().Add(limit)
		tells := quiet.Add(2 * time.Minute).Before(end)
		if !tells {
			out.expected = fmt.Sprintf("nothing is lost, and the step is done when the worker is back (the run's deadline comes before %s)", schedule.FormatDuration(limit))
			quiet = w.clock.Now()
		}
		for range 4 { // the watch looks again and again, and tells once
			if err := w.until(ctx, quiet.Add(time.Minute)); err != nil {
				return out, err
			}
			if _, err := w.engine.Coordinator().Watch(ctx); err != nil {
				return out, err
			}
		}
		alerts := w.count(coordinator.KindStalled)
		if err := w.without(ctx); err != nil {
			return out, err
		}
		if err := w.settle(ctx); err != nil {
			return out, err
		}
		got, err := w.verdict(ctx, p, expectation{outcome: outerloop.OutcomeCompleted, most: 1 + retries(p.node, outerloop.ClassTimeout)})
		out.happened, out.held = plural(alerts, "alert")+", then "+got.happened, got.held && (alerts == 1) == tells
		return out, err
	})
}

// doubled delivers a step's message a second time: while the first is worked on, and after.
func doubled(ctx context.Context, d *driller, p place) (outcome, error) {
	m := &copying{at: of(p, nil)}
	out, err := d.in(ctx, m, func(w *world) (outcome, error) {
		m.world = w
		out := outcome{expected: "the copy waits while the step is worked on, then gets its recorded answer; one attempt"}
		if err := w.start(ctx); err != nil {
			return out, err
		}
		if err := w.settle(ctx); err != nil {
			return out, err
		}
		got, err := w.verdict(ctx, p, expectation{outcome: outerloop.OutcomeCompleted, most: 1})
		if err != nil {
			return out, err
		}
		later, err := m.copy(ctx, "after")
		out.happened = fmt.Sprintf("the copy was told %q, then %q; %s", m.during, later, got.happened)
		out.held = got.held && m.during == string(gate.Later) && later == string(gate.Answered)
		return out, err
	})
	return out, err
}

// copying brings a delivery to the gate once more.
type copying struct {
	at
	world    *world
	once     sync.Once
	delivery gate.Delivery
	during   string
}

func (m *copying) before(ctx context.Context, t call) (worker.Result[json.RawMessage], error, bool) {
	if m.hits(t) {
		m.once.Do(func() {
			m.delivery = gate.Delivery{Run: t.Run, Gen: 1, Step: t.Step, Item: t.Item}
			m.during, _ = m.copy(ctx, "during")
		})
	}
	return worker.Result[json.RawMessage]{}, nil, false
}

// copy asks for admission as another delivery of the same message would.
func (m *copying) copy(ctx context.Context, nonce string) (string, error) {
	out, err := m.world.engine.Coordinator().For(m.worker).Admit(ctx, gate.AdmitRequest{Call: gate.Call{Delivery: m.delivery, Nonce: "copy-" + nonce + "/1"}})
	return string(out.Decision), err
}

package drill

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/local"
)

// clock is moved by hand. What waits for it waits for good, but for what is no
// time at all: then whoever waits goes on.
type clock struct{ now atomic.Int64 }

// Now is the time that was set last.
func (c *clock) Now() time.Time { return time.Unix(0, c.now.Load()).UTC() }

// After sends only where no time passes.
func (c *clock) After(d time.Duration) <-chan time.Time {
	ch := make(chan time.Time, 1)
	if d <= time.Nanosecond {
		ch <- c.Now()
	}
	return ch
}

// world is one engine with scripted workers, a temporary store and a clock.
type world struct {
	d      *driller
	dir    string
	clock  *clock
	begun  time.Time
	cast   *cast
	ledger *ledger
	engine *local.Engine
	// absent are workers that this program lacks.
	absent []string
	run    string
	// in is the run's input.
	in json.RawMessage

	mu     sync.Mutex
	alerts []coordinator.Alert
}

// newWorld opens an engine on an empty store.
func (d *driller) newWorld(ctx context.Context, s script, m meddling) (*world, error) {
	d.worlds++
	w := &world{d: d, dir: filepath.Join(d.dir, fmt.Sprint(d.worlds)), clock: &clock{}, begun: d.cfg.Now, ledger: newLedger()}
	w.clock.now.Store(d.cfg.Now.UnixNano())
	w.cast = &cast{script: s, world: w, meddle: m}
	return w, w.open(ctx)
}

func (w *world) open(ctx context.Context) error {
	workers := slices.DeleteFunc(w.cast.workers(w.d.loops()), func(x local.Worker) bool { return slices.Contains(w.absent, x.Code.Name()) })
	e, err := local.Open(ctx, local.Config{
		State: w.file(), Clock: w.clock, Patience: -1, Grace: time.Nanosecond,
		Loops: w.d.loops(), Workers: workers, Notify: w.told,
	})
	w.engine = e
	return err
}

func (w *world) file() string { return filepath.Join(w.dir, "state.db") }

func (w *world) close() error {
	if w.engine == nil {
		return nil
	}
	err := w.engine.Close()
	w.engine = nil
	return err
}

func (w *world) told(_ context.Context, a coordinator.Alert) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.alerts = append(w.alerts, a)
}

// count counts the alerts of a kind.
func (w *world) count(kind string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, a := range w.alerts {
		if a.Kind == kind {
			n++
		}
	}
	return n
}

// input makes the input of the loop's run.
func (w *world) input(ctx context.Context) (json.RawMessage, error) {
	ref, err := w.engine.Store().PutBlob(ctx, []byte("made for a drill\n"))
	if err != nil {
		return nil, err
	}
	in := w.d.cfg.Loop.Definition.Input
	raw, fits := example(in, wish{variant: w.cast.script[inputName], now: w.begun, file: ref})
	w.in = raw
	if !fits {
		return nil, fmt.Errorf("no value fits the input's schema %s: %w", in.Name(), ErrUnreached)
	}
	return raw, nil
}

// inputName is the loop's input in a script.
const inputName = ""

// start starts the loop's run.
func (w *world) start(ctx context.Context) error {
	if err := w.seed(ctx); err != nil {
		return err
	}
	in, err := w.input(ctx)
	if err != nil {
		return err
	}
	out, err := w.engine.Coordinator().Start(ctx, coordinator.StartRequest{Loop: w.d.report.Loop, Input: in, AsOf: w.begun, Trigger: "manual", By: "drill"})
	w.run = out.Run
	return err
}

// factName is a fact in a script.
func factName(name string) string { return "fact " + name }

// seed writes the facts that the loops read and that have a name of their own.
func (w *world) seed(ctx context.Context) error {
	for _, p := range w.d.places() {
		for _, read := range p.node.Reads {
			name := p.loop.DeclaredFact(read.Fact)
			if name == "" || strings.Contains(name, "*") {
				continue
			}
			items, err := w.engine.Store().Get(ctx, record.FactKey(name))
			if err != nil {
				return err
			}
			if items[0] != nil {
				continue
			}
			raw, _ := example(read.Schema, wish{variant: w.cast.script[factName(name)], now: w.begun})
			fact := &record.Fact{Name: name, Value: record.Payload(raw), At: w.begun, Run: "drill", Step: "drill", ApprovedBy: "drill"}
			if err := w.engine.Store().Write(ctx, "seed "+name, fact.Put()); err != nil {
				return err
			}
		}
	}
	return nil
}

// rounds bounds a world: a loop that never comes to rest is one that does not hold.
const rounds = 3000

// errRestless says that a world did not come to rest.
var errRestless = errors.New("it does not come to rest")

// until lets everything happen that is due up to a time, zero: up to the horizon;
// people approve what they are asked. It stops early when the run has ended.
func (w *world) until(ctx context.Context, end time.Time) error {
	for range rounds {
		idle, err := w.engine.RunUntilIdle(ctx)
		if err != nil {
			return err
		}
		tick, err := w.engine.Coordinator().Watch(ctx)
		if err != nil {
			return err
		}
		decided, err := w.decide(ctx)
		if err != nil {
			return err
		}
		ended, err := w.ended(ctx)
		if err != nil || ended {
			return err
		}
		limit := end
		if limit.IsZero() {
			if limit, err = w.horizon(ctx); err != nil {
				return err
			}
		}
		next := idle.Next
		if next.IsZero() || !tick.Next.IsZero() && tick.Next.Before(next) {
			next = tick.Next
		}
		switch {
		case len(tick.Repaired) > 0 || decided:
		case next.IsZero() && end.IsZero():
			return nil
		case next.IsZero() || next.After(limit):
			w.clock.now.Store(max(limit.UnixNano(), w.clock.now.Load()))
			return nil
		case next.After(w.clock.Now()):
			w.clock.now.Store(next.UnixNano())
		default:
			w.clock.now.Add(int64(time.Second))
		}
	}
	return errRestless
}

// ended tells whether the run is closed or blocked.
func (w *world) ended(ctx context.Context) (bool, error) {
	if w.run == "" {
		return false, nil
	}
	view, err := w.engine.Coordinator().Run(ctx, w.run)
	return err == nil && (view.Status.Closed() || view.Status == outerloop.StatusBlocked), err
}

// horizon is how far a world is driven: to the last minute of the open run that
// must end first.
func (w *world) horizon(ctx context.Context) (time.Time, error) {
	end := w.clock.Now().Add(365 * 24 * time.Hour)
	for _, l := range w.d.loops() {
		runs, err := w.engine.Coordinator().Runs(ctx, coordinator.RunsQuery{Loop: l.Definition.Loop.Name, Open: true, Limit: 100})
		if err != nil {
			return end, err
		}
		for _, run := range runs {
			if run.Deadline != nil && run.Deadline.Add(-time.Minute).Before(end) {
				end = run.Deadline.Add(-time.Minute)
			}
		}
	}
	return end, nil
}

// settle drives the run as far as it comes.
func (w *world) settle(ctx context.Context) error { return w.until(ctx, time.Time{}) }

// decide approves what waits for a person; false: nothing did.
func (w *world) decide(ctx context.Context) (bool, error) {
	list, err := w.engine.Coordinator().Approvals(ctx, coordinator.ApprovalsQuery{})
	if err != nil {
		return false, err
	}
	decided := false
	for _, a := range list {
		for _, who := range w.people(a.Approvers) {
			_, err := w.engine.Coordinator().Decide(ctx, coordinator.DecideRequest{Approval: a.ID, Verdict: coordinator.Approve, By: who, Reason: "a drill"})
			decided = decided || err == nil
		}
	}
	return decided, nil
}

// people are the members of groups.
func (w *world) people(groups []string) []string {
	var out []string
	p := w.d.cfg.Loop.Definition.Project
	for _, name := range groups {
		if g, known := p.Group(name); known {
			out = append(out, g.Members...)
		}
	}
	return out
}

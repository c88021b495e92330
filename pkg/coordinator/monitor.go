package coordinator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/loop"
)

// Observation is what a monitor's probe put out.
type Observation struct {
	Loop string
	// Trigger is the monitor's number among the loop's triggers, from 0.
	Trigger int
	Output  json.RawMessage
	// At is when the probe looked; zero: now.
	At time.Time
}

// MonitorDue tells when a monitor is to look next: its interval after the last
// look, which is kept. Errors: ErrNoLoop, ErrNotPossible.
func (c *Coordinator) MonitorDue(ctx context.Context, loopName string, trigger int) (time.Time, error) {
	t, err := c.monitor(ctx, loopName, trigger)
	if err != nil {
		return time.Time{}, err
	}
	m, err := one(ctx, c, record.MonitorKey(loopName, trigger), record.DecodeMonitor)
	if err != nil || m == nil {
		return c.now(), err
	}
	return m.Looked.Add(t.Monitor.Every), nil
}

func (c *Coordinator) monitor(ctx context.Context, loopName string, trigger int) (*loop.TriggerRule, error) {
	def, _, err := c.latest(ctx, loopName)
	if err != nil {
		return nil, err
	}
	if trigger < 0 || trigger >= len(def.Triggers) || def.Triggers[trigger].Kind != loop.TriggerMonitor {
		return nil, fmt.Errorf("trigger %d of %s is no monitor: %w", trigger, loopName, ErrNotPossible)
	}
	return &def.Triggers[trigger], nil
}

// seen is one condition of an observation.
type seen struct {
	key  string
	item any
}

// Observe takes what a probe saw (R6). A condition starts a run once: not again
// until it was clear, and not within the cool-down of its key; one that began
// within the cool-down and still holds at its end starts one then. The run's
// as_of is when the condition began, so that looking again after a crash starts
// no second run. A paused loop starts nothing, and what holds when it is
// resumed then does. Errors: *InputError where a rule of the monitor or the
// probe's output is wrong; starts that failed, joined: they are tried with the
// next look.
func (c *Coordinator) Observe(ctx context.Context, o Observation) ([]Fired, error) {
	t, err := c.monitor(ctx, o.Loop, o.Trigger)
	if err != nil {
		return nil, err
	}
	if o.At.IsZero() {
		o.At = c.now()
	}
	output, err := checked("output of the probe "+t.Monitor.Probe, t.Probe.Output, o.Output)
	if err != nil {
		return nil, err
	}
	now, err := conditions(ctx, t, output)
	if err != nil {
		return nil, &InputError{What: "monitor of " + o.Loop, Faults: []string{err.Error()}}
	}
	return deciding(ctx, c, "observing for "+o.Loop, func(ctx context.Context) ([]Fired, error) {
		m, err := one(ctx, c, record.MonitorKey(o.Loop, o.Trigger), record.DecodeMonitor)
		if err != nil {
			return nil, err
		}
		if m == nil {
			m = &record.Monitor{Loop: o.Loop, Trigger: o.Trigger}
		}
		m.Looked = o.At.UTC()
		fired, failed := c.fireConditions(ctx, t, m, looked{o: o, output: output, seen: now})
		if err := c.write(ctx, m.Put()); err != nil {
			return nil, err
		}
		return fired, errors.Join(failed...)
	})
}

// conditions are the items of an output for which the monitor's rule holds.
func conditions(ctx context.Context, t *loop.TriggerRule, output any) ([]seen, error) {
	items := []any{nil}
	if t.Each != nil {
		value, err := t.Each.Eval(ctx, map[string]any{"output": output})
		if err != nil {
			return nil, err
		}
		list, ok := value.([]any)
		if !ok {
			return nil, fmt.Errorf("%s is not a list", t.Each.Source())
		}
		items = list
	}
	var out []seen
	for _, item := range items {
		vars := triggerVars(t, FireRequest{Output: output, Item: item}, time.Time{})
		if t.When != nil {
			yes, err := t.When.EvalBool(ctx, vars)
			if err != nil {
				return nil, err
			}
			if !yes {
				continue
			}
		}
		key := ""
		if t.Key != nil {
			var err error
			if key, err = t.Key.Eval(ctx, vars); err != nil {
				return nil, err
			}
		} else if t.Each != nil {
			key = asText(item)
		}
		if !slices.ContainsFunc(out, func(s seen) bool { return s.key == key }) {
			out = append(out, seen{key: key, item: item})
		}
	}
	return out, nil
}

// looked is one look of a monitor.
type looked struct {
	o      Observation
	output any
	seen   []seen
}

// fireConditions starts what is due and notes what it saw.
func (c *Coordinator) fireConditions(ctx context.Context, t *loop.TriggerRule, m *record.Monitor, l looked) ([]Fired, []error) {
	before := m.Conditions
	m.Conditions = map[string]record.Condition{}
	fired, failed := []Fired{}, []error{}
	for _, s := range l.seen {
		known := before[s.key]
		if !known.Holds {
			known = record.Condition{Began: l.o.At.UTC(), Holds: true, Fired: known.Fired}
		}
		if !known.Done && (known.Fired.IsZero() || !l.o.At.Before(known.Fired.Add(t.Monitor.CoolDown))) {
			out, err := c.Fire(ctx, FireRequest{
				Loop: l.o.Loop, Trigger: l.o.Trigger, Output: l.output, Item: s.item, At: known.Began, By: "monitor " + t.Monitor.Probe + " " + s.key,
			})
			switch err := c.unlessRefused(ctx, err, l.o.Loop, occurrence{"monitor " + t.Monitor.Probe, s.key + " " + known.Began.Format(time.RFC3339), nil}); {
			case err != nil:
				failed = append(failed, err)
			case out.NotDue == "":
				known.Done, known.Fired = true, l.o.At.UTC()
				fired = append(fired, out)
			}
		}
		m.Conditions[s.key] = known
	}
	for key, old := range before { // what is clear is remembered for its cool-down
		if _, holds := m.Conditions[key]; !holds && !old.Fired.IsZero() && l.o.At.Before(old.Fired.Add(t.Monitor.CoolDown)) {
			m.Conditions[key] = record.Condition{Began: old.Began, Fired: old.Fired}
		}
	}
	return fired, failed
}

// Unseen notes a look whose probe failed: what it saw before stays, and the
// next look is due after the interval.
func (c *Coordinator) Unseen(ctx context.Context, o Observation) error {
	if _, err := c.monitor(ctx, o.Loop, o.Trigger); err != nil {
		return err
	}
	_, err := deciding(ctx, c, "observing for "+o.Loop, func(ctx context.Context) (struct{}, error) {
		m, err := one(ctx, c, record.MonitorKey(o.Loop, o.Trigger), record.DecodeMonitor)
		if err != nil {
			return struct{}{}, err
		}
		if m == nil {
			m = &record.Monitor{Loop: o.Loop, Trigger: o.Trigger}
		}
		m.Looked = o.At.UTC()
		return struct{}{}, c.write(ctx, m.Put())
	})
	return err
}

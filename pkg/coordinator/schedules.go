package coordinator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/loop"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// lateAfter is how late a schedule's fire may be before it counts as missed: a
// scheduler outside is a minute exact, and its calls are repeated for a while.
const lateAfter = 5 * time.Minute

// ahead is how far before its nominal time a fire may come: clocks differ.
const ahead = time.Minute

// lastFire is what is kept of a schedule.
type lastFire struct {
	Last time.Time `json:"last"`
}

func scheduleKey(loopName string, t *loop.TriggerRule) store.Key {
	return store.Key{Part: "SCHEDULE", Sort: loopName + "/" + t.Schedule.String()}
}

// FireSchedule is the fire of a schedule as a scheduler outside tells it: At is
// the nominal time, never the arrival, so that a fire which is told twice is
// one run. A time that is missing or to come is refused: with it every later
// fire would be a duplicate. What is refused for good (the input, an open run)
// is told to people and answers without an error. Errors: *InputError for the
// time; those of Fire that may pass.
func (c *Coordinator) FireSchedule(ctx context.Context, req FireRequest) (Fired, error) {
	def, t, err := c.scheduled(ctx, req.Loop, req.Trigger)
	if err != nil {
		return Fired{}, err
	}
	if req.At.IsZero() || req.At.After(c.now().Add(ahead)) {
		return Fired{}, &InputError{What: "fire of " + req.Loop, Faults: []string{"its time is missing or to come: " + req.At.UTC().Format(time.RFC3339)}}
	}
	out, err := c.Fire(ctx, req)
	if !c.forGood(err) {
		return out, err
	}
	if err != nil {
		c.missed(ctx, def, t, req.At, err.Error())
		out.NotDue = err.Error()
	}
	if out.NotDue == pausedNow {
		return out, nil // made up for, within its policy, when the loop goes on
	}
	return out, c.noteFire(ctx, req.Loop, t, req.At)
}

// forGood tells whether a fire led to something that trying again does not change.
func (c *Coordinator) forGood(err error) bool {
	return err == nil || errors.Is(err, ErrInput) || errors.Is(err, ErrOtherInput) || errors.Is(err, ErrOverlap) || errors.Is(err, ErrNotPossible)
}

func (c *Coordinator) scheduled(ctx context.Context, name string, number int) (*loop.Definition, *loop.TriggerRule, error) {
	def, _, err := c.latest(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	if number < 0 || number >= len(def.Triggers) || def.Triggers[number].Schedule == nil {
		return nil, nil, fmt.Errorf("trigger %d of %s is no schedule: %w", number, name, ErrNotPossible)
	}
	return def, &def.Triggers[number], nil
}

// readFire reads what is kept of a schedule; nil: nothing yet.
func (c *Coordinator) readFire(ctx context.Context, key store.Key) (*lastFire, *store.Item, error) {
	items, err := c.cfg.Store.Get(ctx, key)
	if err != nil || items[0] == nil {
		return nil, nil, err
	}
	last := &lastFire{}
	if err := json.Unmarshal(items[0].Body, last); err != nil {
		return nil, nil, fmt.Errorf("reading the last fire of %s: %w", key.Sort, err)
	}
	return last, items[0], nil
}

// noteFire notes that a schedule has fired for a time, unless it has for a later one.
func (c *Coordinator) noteFire(ctx context.Context, name string, t *loop.TriggerRule, at time.Time) error {
	key := scheduleKey(name, t)
	_, err := deciding(ctx, c, "noting a fire of "+name, func(ctx context.Context) (struct{}, error) {
		var none struct{}
		last, item, err := c.readFire(ctx, key)
		if err != nil || last != nil && !last.Last.Before(at) {
			return none, err
		}
		body, err := json.Marshal(lastFire{Last: at.UTC()})
		if err != nil {
			return none, err
		}
		op := store.Create(store.Item{Key: key, Body: body})
		if item != nil {
			op = store.Replace(store.Item{Key: key, Version: item.Version, Body: body})
		}
		return none, c.write(ctx, op)
	})
	return err
}

// CatchUp makes up for the fires that a scheduler outside did not tell in time,
// within each schedule's policy, and tells people of every gap (R58). files is
// FireRequest's, of the loop that is named; nil: files stay as they are. A schedule that is seen for the first time has missed
// nothing; what a paused loop misses waits until it goes on. Errors are joined;
// what failed is tried with the next call.
func (c *Coordinator) CatchUp(ctx context.Context, files func(ctx context.Context, loopName string, input json.RawMessage) (json.RawMessage, error)) ([]Fired, error) {
	if c.cfg.Loops == nil {
		return nil, nil
	}
	names, err := c.cfg.Loops(ctx)
	if err != nil {
		return nil, fmt.Errorf("listing the loops: %w", err)
	}
	var fired []Fired
	var failed []error
	for _, name := range names {
		def, _, err := c.latest(ctx, name)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		for number := range def.Triggers {
			if def.Triggers[number].Schedule == nil {
				continue
			}
			req := FireRequest{Loop: name, Trigger: number, By: "watch: missed fire"}
			if files != nil {
				req.Files = func(ctx context.Context, input json.RawMessage) (json.RawMessage, error) {
					return files(ctx, name, input)
				}
			}
			more, err := c.catchUp(ctx, def, req)
			fired, failed = append(fired, more...), append(failed, err)
		}
	}
	return fired, errors.Join(failed...)
}

func (c *Coordinator) catchUp(ctx context.Context, def *loop.Definition, req FireRequest) ([]Fired, error) {
	t := &def.Triggers[req.Trigger]
	last, _, err := c.readFire(ctx, scheduleKey(req.Loop, t))
	switch {
	case err != nil:
		return nil, err
	case last == nil:
		return nil, c.noteFire(ctx, req.Loop, t, c.now())
	}
	horizon := c.now().Add(-lateAfter)
	backlog := t.Schedule.Missed(last.Last, horizon, max(t.CatchUp, 0))
	if len(backlog.Due)+backlog.Dropped == 0 {
		return nil, nil
	}
	if paused, err := c.paused(ctx, req.Loop); err != nil || paused {
		return nil, err
	}
	c.missed(ctx, def, t, last.Last, fmt.Sprintf("%d fires did not come; %d are made up for now", len(backlog.Due)+backlog.Dropped, len(backlog.Due)))
	var fired []Fired
	for _, due := range backlog.Due {
		req.At = due.At
		out, err := c.FireSchedule(ctx, req)
		if err != nil {
			return fired, err
		}
		fired = append(fired, out)
	}
	return fired, c.noteFire(ctx, req.Loop, t, horizon)
}

// missed tells people that a schedule did not start what it should have.
func (c *Coordinator) missed(ctx context.Context, def *loop.Definition, t *loop.TriggerRule, since time.Time, why string) {
	c.cfg.Notify(ctx, Alert{
		To: told(def), Kind: KindMissed, ID: scheduleKey(def.Loop.Name, t).Sort, Loop: def.Loop.Name, Since: since.UTC(),
		Text: fmt.Sprintf("%s of %s: %s", t.Schedule, def.Loop.Name, why),
	})
}

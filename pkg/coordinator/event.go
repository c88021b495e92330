package coordinator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/loop"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// PublishRequest is an event from outside.
type PublishRequest struct {
	// Event is the declared name.
	Event string
	// ID makes it one event however often it is told; empty: told once.
	ID   string
	Data json.RawMessage
	// At is when it happened; zero: now.
	At time.Time
}

// Published says what became of an event.
type Published struct {
	ID string `json:"id"`
	// Duplicate: it had been told before.
	Duplicate bool `json:"duplicate"`
}

// Publish records an event from outside (R11) and hands it to the waits and
// triggers that it concerns; what fails there is tried again by the watch.
// Data is checked by the event's schema where a loop of the catalogue listens.
// Errors: *InputError.
func (c *Coordinator) Publish(ctx context.Context, req PublishRequest) (Published, error) {
	if req.Event == "" || strings.Contains(req.Event, ":") {
		return Published{}, &InputError{What: "event", Faults: []string{"has no name"}}
	}
	for what, text := range map[string]string{"name": req.Event, "id": req.ID} {
		if why := notKey("its "+what, text); why != "" {
			return Published{}, &InputError{What: "event", Faults: []string{why}}
		}
	}
	data, err := parse("event "+req.Event, orNull(req.Data))
	if err != nil {
		return Published{}, err
	}
	raw, err := canonical(data)
	if err != nil {
		return Published{}, err
	}
	if err := c.checkEvent(ctx, req.Event, raw); err != nil {
		return Published{}, err
	}
	e := &record.Event{Name: req.Event, Data: raw, At: req.At.UTC().Truncate(time.Millisecond), ID: req.ID}
	if req.At.IsZero() {
		e.At = c.now()
	}
	if req.ID == "" {
		e.ID = record.ShortID("published", c.cfg.IDs())
	}
	return c.tell(ctx, e, req.ID != "")
}

// tell writes an event from outside; marked: its id is remembered.
func (c *Coordinator) tell(ctx context.Context, e *record.Event, marked bool) (Published, error) {
	var ops []store.Op
	if marked {
		ops = append(ops, store.Create(store.Item{Key: record.EventMark(e.Name, e.ID), Body: []byte(`{}`), Expires: e.At.Add(eventMarks).Unix()}))
	}
	err := c.write(ctx, append(ops, e.Put())...)
	if errors.Is(err, store.ErrCondition) {
		return Published{ID: e.ID, Duplicate: true}, nil
	}
	if err != nil {
		return Published{}, fmt.Errorf("recording event %s: %w", e.Name, err)
	}
	return Published{ID: e.ID}, nil
}

// checkEvent checks an event's data by its schema, which a loop that listens has.
func (c *Coordinator) checkEvent(ctx context.Context, name string, raw json.RawMessage) error {
	if c.cfg.Loops == nil {
		return nil
	}
	names, err := c.cfg.Loops(ctx)
	if err != nil {
		return fmt.Errorf("listing the loops: %w", err)
	}
	for _, loopName := range names {
		def, _, err := c.latest(ctx, loopName)
		if err != nil {
			return err
		}
		if s := def.Events[name]; s != nil {
			_, err := checked("event "+name, s, raw)
			return err
		}
	}
	return nil
}

// eventMarks is how long the id of an event from outside is known.
const eventMarks = 400 * 24 * time.Hour

func orNull(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage("null")
	}
	return raw
}

// draining marks a context in which events are being handed out.
type draining struct{}

// raises tells whether a write brings an event.
func raises(ops []store.Op) bool {
	for _, op := range ops {
		if op.Kind == store.KindCreate && strings.HasPrefix(op.Item.Part, record.EventsPart("")) {
			return true
		}
	}
	return false
}

// drain hands out what is due, in the order of the events. What fails is left
// to the watch: the write that brought the event has been done.
func (c *Coordinator) drain(ctx context.Context) {
	if ctx.Value(draining{}) != nil {
		return
	}
	if _, err := c.handOut(context.WithValue(ctx, draining{}, true)); err != nil {
		c.cfg.Log.Warn("events not handed out yet, the watch will", "err", err)
	}
}

// handOut gives every due event to its waits and triggers, oldest first. Behind
// one that could not be handed out the later ones of its name wait (R11: in order).
func (c *Coordinator) handOut(ctx context.Context) (taken []string, err error) {
	for {
		var keys []store.Key
		q := store.Query{Index: store.ByDue, Part: record.DuePart, To: store.TimeKey(c.now().Add(time.Millisecond))}
		if err := c.each(ctx, q, func(item *store.Item) error {
			if strings.HasPrefix(item.Part, record.EventsPart("")) {
				keys = append(keys, item.Key)
			}
			return nil
		}); err != nil {
			return taken, err
		}
		before := len(taken)
		held := map[string]bool{}
		var failed []error
		for _, key := range keys {
			if held[key.Part] {
				continue
			}
			done, err := c.takeEvent(ctx, key)
			if err != nil || !done {
				held[key.Part] = true
				failed = append(failed, err)
				continue
			}
			taken = append(taken, key.Part+"/"+key.Sort)
		}
		if len(taken) == before { // nothing moves, or nothing is left
			return taken, errors.Join(failed...)
		}
	}
}

// watchEvents hands out what was not.
func (c *Coordinator) watchEvents(ctx context.Context, tick *Tick) error {
	taken, err := c.handOut(context.WithValue(ctx, draining{}, true))
	for _, event := range taken {
		tick.repaired("event %s: handed out", event)
	}
	return err
}

// takeEvent gives one event to whom it concerns; false: a paused loop has yet to take it.
func (c *Coordinator) takeEvent(ctx context.Context, key store.Key) (bool, error) {
	e, err := one(ctx, c, key, record.DecodeEvent)
	if err != nil || e == nil || e.Taken {
		return true, err
	}
	var waiters []store.Key
	if err := c.each(ctx, store.Query{Part: record.WaitersPart(e.Name)}, func(item *store.Item) error {
		waiters = append(waiters, item.Key)
		return nil
	}); err != nil {
		return false, err
	}
	for _, waiter := range waiters {
		if err := c.offer(ctx, waiter, e); err != nil {
			return false, err
		}
	}
	if all, err := c.trigger(ctx, e); err != nil || !all {
		return false, err
	}
	e.Taken = true
	if err := c.write(ctx, e.Put()); err != nil && !errors.Is(err, store.ErrCondition) {
		return false, err
	}
	return true, nil
}

// trigger starts what subscribes to an event. A start that is refused for good
// holds nothing up (unlessRefused); false: a loop is paused.
func (c *Coordinator) trigger(ctx context.Context, e *record.Event) (all bool, err error) {
	all = true
	subscribed, err := c.subscribers(ctx, func(t *loop.TriggerRule) bool {
		switch t.Kind {
		case loop.TriggerEvent:
			return t.Name == e.Name
		case loop.TriggerAfter:
			return record.AfterRun(t.Name) == e.Name
		case loop.TriggerWebhook:
			return record.Webhooked(t.Name) == e.Name
		}
		return false
	})
	if err != nil {
		return false, err
	}
	for _, s := range subscribed {
		paused, err := c.paused(ctx, s.loop)
		if err != nil {
			return false, err
		}
		if paused {
			all = false
			continue
		}
		data, err := parse("event "+e.Name, e.Data)
		if err != nil {
			return false, err
		}
		_, err = c.Fire(ctx, FireRequest{Loop: s.loop, Trigger: s.number, Event: data, At: e.At, By: "event " + e.Name + " " + e.ID})
		if err := c.unlessRefused(ctx, err, s.loop, occurrence{"event " + e.Name, e.ID, e.Data}); err != nil {
			return false, err
		}
	}
	return all, nil
}

// subscriber is a trigger of the catalogue: the loop and the trigger's number.
type subscriber struct {
	loop   string
	number int
}

// subscribers are the triggers of the latest loops that a test wants.
func (c *Coordinator) subscribers(ctx context.Context, wanted func(*loop.TriggerRule) bool) ([]subscriber, error) {
	if c.cfg.Loops == nil {
		return nil, nil
	}
	names, err := c.cfg.Loops(ctx)
	if err != nil {
		return nil, fmt.Errorf("listing the loops: %w", err)
	}
	var out []subscriber
	for _, name := range names {
		def, _, err := c.latest(ctx, name)
		if err != nil {
			return nil, err
		}
		for i := range def.Triggers {
			if wanted(&def.Triggers[i]) {
				out = append(out, subscriber{loop: name, number: i})
			}
		}
	}
	return out, nil
}

// latest is the definition that a new run of the loop pins.
func (c *Coordinator) latest(ctx context.Context, name string) (*loop.Definition, string, error) {
	hash, err := c.cfg.Definitions.Latest(ctx, name)
	if err != nil {
		return nil, "", err
	}
	def, err := c.cfg.Definitions.Definition(ctx, hash)
	return def, hash, err
}

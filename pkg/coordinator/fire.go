package coordinator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/loop"
	"github.com/outerloop-dev/outerloop/pkg/rule"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// FireRequest is one fire of a declared trigger.
type FireRequest struct {
	Loop string
	// Trigger is its number in the loop's file, from 0.
	Trigger int
	// Event is what the trigger's rules see as `event`: of a webhook {body,
	// headers}, of an event its data, of a followed run {output, subject}.
	Event any
	// Output and Item are what a monitor's rules see: the probe's output and
	// one of its items.
	Output, Item any
	// At is the nominal time, the arrival, or when the condition began.
	At time.Time
	// By is who or what fired, for the log.
	By string
	// Files replaces fields of the input that name files by references of
	// blobs; nil: Config.Files does.
	Files func(ctx context.Context, input json.RawMessage) (json.RawMessage, error)
}

// Fired says what a fire led to.
type Fired struct {
	Started
	// NotDue says why nothing was started: the trigger's `when`, or a pause.
	NotDue string `json:"not_due,omitempty"`
}

// Fire starts a run as a trigger says: its `when` decides, `input` and `as_of`
// make the run's. This is the one place where triggers of every kind become
// runs; each kind finds out elsewhere that it fires. Errors: those of Start,
// and *InputError where a rule of the trigger cannot be computed.
func (c *Coordinator) Fire(ctx context.Context, req FireRequest) (Fired, error) {
	def, _, err := c.latest(ctx, req.Loop)
	if err != nil {
		return Fired{}, err
	}
	if req.Trigger < 0 || req.Trigger >= len(def.Triggers) {
		return Fired{}, fmt.Errorf("loop %s has no trigger %d: %w", req.Loop, req.Trigger, ErrNotPossible)
	}
	if paused, err := c.paused(ctx, req.Loop); err != nil || paused {
		return Fired{NotDue: pausedNow}, err
	}
	trigger := &def.Triggers[req.Trigger]
	start, notDue, err := c.firing(ctx, def, trigger, req)
	if err != nil || notDue != "" {
		return Fired{NotDue: notDue}, err
	}
	if start.Input, err = c.files(ctx, req, start.Input); err != nil {
		return Fired{}, err
	}
	started, err := c.Start(ctx, start)
	return Fired{Started: started}, err
}

// files keeps what an input names, by the fire's own way or the configured one.
func (c *Coordinator) files(ctx context.Context, req FireRequest, input json.RawMessage) (json.RawMessage, error) {
	switch {
	case req.Files != nil:
		return req.Files(ctx, input)
	case c.cfg.Files != nil:
		return c.cfg.Files(ctx, req.Loop, input)
	}
	return input, nil
}

// pausedNow is why a paused loop starts nothing.
const pausedNow = "the loop is paused"

// firing evaluates a trigger's rules.
func (c *Coordinator) firing(ctx context.Context, def *loop.Definition, t *loop.TriggerRule, req FireRequest) (StartRequest, string, error) {
	at := req.At
	if at.IsZero() {
		at = c.now()
	}
	vars := triggerVars(t, req, at)
	said := func(what string, err error) error {
		return &InputError{What: fmt.Sprintf("%s of the trigger %s of %s", what, t.Kind, req.Loop), Faults: []string{err.Error()}}
	}
	// Of a monitor the rule has chosen the item before.
	if t.When != nil && t.Kind != loop.TriggerMonitor {
		decision, err := t.When.Decide(ctx, vars)
		if err != nil {
			return StartRequest{}, "", said("when", err)
		}
		if !decision.Result {
			return StartRequest{}, "when: " + ruleText(decision), nil
		}
	}
	out := StartRequest{Loop: def.Loop.Name, AsOf: at, Trigger: string(t.Kind), By: req.By}
	if t.AsOf != nil {
		source, err := t.AsOf.EvalTime(ctx, vars)
		if err != nil {
			return StartRequest{}, "", said("as_of", err)
		}
		out.AsOf = source
		vars["run"] = map[string]any{"as_of": source}
	}
	if t.Input != nil {
		value, err := t.Input.Eval(ctx, vars)
		if err != nil {
			return StartRequest{}, "", said("input", err)
		}
		if out.Input, err = canonical(value); err != nil {
			return StartRequest{}, "", err
		}
	}
	return out, "", nil
}

func triggerVars(t *loop.TriggerRule, req FireRequest, at time.Time) rule.Vars {
	vars := rule.Vars{"event": req.Event, "output": req.Output, "run": map[string]any{"as_of": at}}
	if t.Monitor != nil && t.Monitor.As != "" {
		vars[t.Monitor.As] = req.Item
	}
	return vars
}

// Webhook starts what listens to a webhook whose signature the caller has
// verified: body and headers as they came. Nothing may listen. Errors: those of
// Fire, joined; a start that is refused for good among them.
func (c *Coordinator) Webhook(ctx context.Context, name string, body json.RawMessage, headers map[string]string) ([]Fired, error) {
	content, err := parse("webhook "+name, body)
	if err != nil {
		return nil, err
	}
	named := map[string]any{}
	for key, value := range headers {
		named[key] = value
	}
	subscribed, err := c.subscribers(ctx, func(t *loop.TriggerRule) bool { return t.Kind == loop.TriggerWebhook && t.Name == name })
	if err != nil {
		return nil, err
	}
	out := []Fired{}
	var failed []error
	for _, s := range subscribed {
		fired, err := c.Fire(ctx, FireRequest{
			Loop: s.loop, Trigger: s.number, Event: map[string]any{"body": content, "headers": named}, By: "webhook " + name,
		})
		out, failed = append(out, fired), append(failed, err)
	}
	return out, errors.Join(failed...)
}

// WebhookRequest is a webhook's delivery whose signature was verified.
type WebhookRequest struct {
	Name    string
	Body    json.RawMessage
	Headers map[string]string
	// ID makes it one delivery however often it comes: the sender's, else of its
	// signature. At is when it first came.
	ID string
	At time.Time
}

// Accept records a webhook's delivery as an event, for triggers that listen: it
// waits while a loop is paused, is handed out in order, and a delivery that
// comes again is the one that was accepted before. Errors: *InputError.
func (c *Coordinator) Accept(ctx context.Context, req WebhookRequest) (Published, error) {
	content, err := parse("webhook "+req.Name, req.Body)
	if err != nil {
		return Published{}, err
	}
	if req.ID == "" || req.Name == "" {
		return Published{}, &InputError{What: "webhook", Faults: []string{"has no name or no id"}}
	}
	if err := c.checkWebhook(ctx, req); err != nil {
		return Published{}, err
	}
	headers := map[string]any{}
	for key, value := range req.Headers {
		headers[key] = value
	}
	data, err := canonical(map[string]any{"body": content, "headers": headers})
	if err != nil {
		return Published{}, err
	}
	return c.tell(ctx, &record.Event{
		Name: record.Webhooked(req.Name), Data: data, ID: record.ShortID("webhook", req.ID), At: req.At.UTC().Truncate(time.Millisecond),
	}, true)
}

// checkWebhook checks a body by the schema that its declaration gives, where a
// loop of the catalogue listens.
func (c *Coordinator) checkWebhook(ctx context.Context, req WebhookRequest) error {
	subscribed, err := c.subscribers(ctx, func(t *loop.TriggerRule) bool { return t.Kind == loop.TriggerWebhook && t.Name == req.Name })
	if err != nil {
		return err
	}
	for _, s := range subscribed {
		def, _, err := c.latest(ctx, s.loop)
		if err != nil {
			return err
		}
		if body := def.Webhooks[req.Name]; body != nil {
			_, err := checked("webhook "+req.Name, body, req.Body)
			return err
		}
	}
	return nil
}

func (c *Coordinator) paused(ctx context.Context, name string) (bool, error) {
	slot, err := one(ctx, c, record.LoopKey(name), record.DecodeLoop)
	if err != nil {
		return false, fmt.Errorf("reading the slot of %s: %w", name, err)
	}
	return slot != nil && slot.Paused, nil
}

// Pause lets triggers start nothing of a loop until it is resumed; events wait
// meanwhile, missed schedules are made up for within their policy, and runs
// that are open go on. A start by hand is still possible.
func (c *Coordinator) Pause(ctx context.Context, name string) error {
	return c.setPaused(ctx, name, true)
}

// Resume lets triggers start runs of a loop again, and hands out the events
// that waited.
func (c *Coordinator) Resume(ctx context.Context, name string) error {
	if err := c.setPaused(ctx, name, false); err != nil {
		return err
	}
	c.drain(ctx)
	return nil
}

func (c *Coordinator) setPaused(ctx context.Context, name string, paused bool) error {
	if _, err := c.cfg.Definitions.Latest(ctx, name); err != nil {
		return err
	}
	_, err := deciding(ctx, c, "pausing "+name, func(ctx context.Context) (struct{}, error) {
		slot, err := one(ctx, c, record.LoopKey(name), record.DecodeLoop)
		if err != nil {
			return struct{}{}, err
		}
		if slot == nil {
			slot = &record.Loop{Name: name}
		}
		if slot.Paused == paused {
			return struct{}{}, nil
		}
		slot.Paused = paused
		return struct{}{}, c.write(ctx, []store.Op{slot.Put()}...)
	})
	return err
}

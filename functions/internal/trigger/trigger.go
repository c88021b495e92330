// Package trigger is the function that starts runs: for the fires of schedules,
// the looks of monitors, events of the bus, accepted webhooks from its queue,
// and starts by hand.
package trigger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/functions/internal/boot"
	"github.com/outerloop-dev/outerloop/functions/internal/gatewire"
	"github.com/outerloop-dev/outerloop/functions/internal/hook"
	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/loop"
)

// Config is what the function is made of; all but Uses and Log is required.
type Config struct {
	Coordinator *coordinator.Coordinator
	Definitions coordinator.Definitions
	// Files keeps the files that an input of a loop names.
	Files func(ctx context.Context, loop string, input json.RawMessage) (json.RawMessage, error)
	// Probe asks a worker for a monitor, Surroundings says what it may use.
	Probe        func(ctx context.Context, worker string, probe gatewire.Probe) (json.RawMessage, error)
	Surroundings func(def *loop.Definition, worker string) *gatewire.Surroundings
	// Uses serves starts by hand and what else people bring in.
	Uses func(ctx context.Context, use json.RawMessage) (json.RawMessage, error)
	Now  func() time.Time
	Log  *slog.Logger
}

// Function serves what starts runs.
type Function struct{ cfg Config }

// New makes the function.
func New(cfg Config) *Function {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	return &Function{cfg}
}

// event is any of what arrives; which one it is, its fields say.
type event struct {
	Use     string              `json:"use"`
	Trigger *fire               `json:"trigger"`
	Records []events.SQSMessage `json:"Records"`
	// An event of the bus.
	DetailType string          `json:"detail-type"`
	ID         string          `json:"id"`
	Time       time.Time       `json:"time"`
	Detail     json.RawMessage `json:"detail"`
}

// fire is a schedule's, as the scheduler tells it.
type fire struct {
	Loop  string `json:"loop"`
	Index int    `json:"index"`
	// Scheduled is the nominal time; a placeholder that was not filled in is none.
	Scheduled string `json:"scheduled"`
}

// Handle serves one event.
func (f *Function) Handle(ctx context.Context, raw json.RawMessage) (any, error) {
	var e event
	if err := json.Unmarshal(raw, &e); err != nil {
		return nil, boot.Named(outerloop.ErrorFatal, "the event is no JSON object of a known form")
	}
	switch {
	case e.Trigger != nil:
		return f.fired(ctx, *e.Trigger)
	case len(e.Records) > 0:
		return f.batch(ctx, e.Records), nil
	case e.Use != "" && f.cfg.Uses != nil:
		return f.cfg.Uses(ctx, raw)
	case e.DetailType != "":
		return f.published(ctx, e)
	}
	return nil, boot.Named(outerloop.ErrorFatal, "the event is of no known form")
}

// fired serves the fire of a schedule or a monitor. What failed and may pass is
// an error, upon which Lambda tries again; what it then still was, the watch
// makes up for.
func (f *Function) fired(ctx context.Context, t fire) (any, error) {
	log := f.cfg.Log.With("loop", t.Loop, "trigger", t.Index, "scheduled", t.Scheduled)
	def, err := f.definition(ctx, t.Loop)
	if err != nil {
		return nil, err
	}
	if t.Index < 0 || t.Index >= len(def.Triggers) {
		log.ErrorContext(ctx, "the loop has no such trigger any more: its schedule is of an older deployment")
		return coordinator.Fired{NotDue: "no such trigger"}, nil
	}
	if def.Triggers[t.Index].Kind == loop.TriggerMonitor {
		return f.look(ctx, def, t.Index)
	}
	at, err := time.Parse(time.RFC3339, t.Scheduled)
	if err != nil {
		log.ErrorContext(ctx, "the fire has no time, so that every later one would be its duplicate")
		return nil, boot.Named(outerloop.ErrorFatal, fmt.Sprintf("the fire's time %q is none", t.Scheduled))
	}
	out, err := f.cfg.Coordinator.FireSchedule(ctx, coordinator.FireRequest{
		Loop: t.Loop, Trigger: t.Index, At: at, By: "schedule " + def.Triggers[t.Index].Name, Files: f.filesOf(t.Loop),
	})
	if err != nil {
		log.ErrorContext(ctx, "the schedule's run was not started", "error", err)
		return nil, err
	}
	log.InfoContext(ctx, "schedule fired", "run", out.Run, "duplicate", out.Duplicate, "not_due", out.NotDue)
	return out, nil
}

func (f *Function) filesOf(name string) func(context.Context, json.RawMessage) (json.RawMessage, error) {
	return func(ctx context.Context, input json.RawMessage) (json.RawMessage, error) {
		return f.cfg.Files(ctx, name, input)
	}
}

func (f *Function) definition(ctx context.Context, name string) (*loop.Definition, error) {
	hash, err := f.cfg.Definitions.Latest(ctx, name)
	if err != nil {
		return nil, err
	}
	return f.cfg.Definitions.Definition(ctx, hash)
}

// probeTime is how long a monitor's probe may take where its charter says nothing.
const probeTime = time.Minute

// look asks a monitor's probe if a look is due: a monitor that is looked at
// twice in its interval asks once.
func (f *Function) look(ctx context.Context, def *loop.Definition, number int) (any, error) {
	name, now := def.Loop.Name, f.cfg.Now()
	due, err := f.cfg.Coordinator.MonitorDue(ctx, name, number)
	if err != nil || due.After(now.Add(early)) {
		return []coordinator.Fired{}, err
	}
	worker := def.Triggers[number].Probe
	limit := worker.Charter.Dispatch.Timeout
	if limit == 0 {
		limit = probeTime
	}
	seen := coordinator.Observation{Loop: name, Trigger: number, At: now.Truncate(time.Second)}
	seen.Output, err = f.cfg.Probe(ctx, worker.Charter.Worker, gatewire.Probe{
		Task: coordinator.ProbeTask(def, worker, now, now.Add(limit)), With: *f.cfg.Surroundings(def, worker.Charter.Worker),
	})
	if err != nil {
		f.cfg.Log.ErrorContext(ctx, "a monitor could not look", "loop", name, "trigger", number, "error", err)
		return []coordinator.Fired{}, f.cfg.Coordinator.Unseen(ctx, seen)
	}
	return f.cfg.Coordinator.Observe(ctx, seen)
}

// early is how much before its interval has passed a look may come: schedules
// are a minute exact.
const early = 30 * time.Second

// published serves an event of the bus: its detail type is the declared name.
func (f *Function) published(ctx context.Context, e event) (any, error) {
	out, err := f.cfg.Coordinator.Publish(ctx, coordinator.PublishRequest{Event: e.DetailType, ID: e.ID, Data: e.Detail, At: e.Time})
	log := f.cfg.Log.With("event", e.DetailType, "id", e.ID)
	switch {
	case errors.Is(err, coordinator.ErrInput):
		log.ErrorContext(ctx, "an event is refused", "error", err)
		return nil, boot.Named("Outerloop.EventRefused", err.Error())
	case err != nil:
		return nil, err
	}
	log.InfoContext(ctx, "event taken", "duplicate", out.Duplicate)
	return out, nil
}

// batch serves accepted webhooks. One that cannot be recorded fails alone, and
// ends in the dead-letter queue with its body.
func (f *Function) batch(ctx context.Context, records []events.SQSMessage) events.SQSEventResponse {
	answer := events.SQSEventResponse{BatchItemFailures: []events.SQSBatchItemFailure{}}
	for _, record := range records {
		if err := f.accept(ctx, record); err != nil {
			f.cfg.Log.ErrorContext(ctx, "a webhook is not recorded", "message", record.MessageId, "error", err)
			answer.BatchItemFailures = append(answer.BatchItemFailures, events.SQSBatchItemFailure{ItemIdentifier: record.MessageId})
		}
	}
	return answer
}

func (f *Function) accept(ctx context.Context, record events.SQSMessage) error {
	var message hook.Message
	if err := json.Unmarshal([]byte(record.Body), &message); err != nil {
		return fmt.Errorf("reading the message: %w", err)
	}
	d := message.Webhook
	out, err := f.cfg.Coordinator.Accept(ctx, coordinator.WebhookRequest{Name: d.Name, Body: d.Body, Headers: d.Headers, ID: d.ID, At: d.At})
	if err == nil {
		f.cfg.Log.InfoContext(ctx, "webhook taken", "webhook", d.Name, "id", out.ID, "duplicate", out.Duplicate)
	}
	return err
}

// Package watch is the function that looks around every minute: it repairs what
// disagrees, makes up for fires that did not come, answers what queues have
// given up on, sends what people are to be told, and measures. An event about an
// execution's status makes it look at that run at once.
package watch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/outerloop-dev/outerloop/functions/internal/boot"
	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/telemetry"
)

// Coordinator is what the watch asks of *coordinator.Coordinator.
type Coordinator interface {
	Watch(ctx context.Context) (coordinator.Tick, error)
	WatchRun(ctx context.Context, run string) (coordinator.Tick, error)
	CatchUp(ctx context.Context, files func(context.Context, string, json.RawMessage) (json.RawMessage, error)) ([]coordinator.Fired, error)
	Beat(ctx context.Context, tick coordinator.Tick, failed error) error
}

// Config is what the function is made of; Coordinator, Gauge and Metrics are required.
type Config struct {
	Coordinator Coordinator
	// Gauge reads what is measured besides the round itself.
	Gauge func(ctx context.Context) ([]telemetry.Metric, error)
	// DeadLetters answers what queues have given up on, and tells how much is
	// left there; nil: there are no queues.
	DeadLetters func(ctx context.Context) (left int, err error)
	// Tell sends what people are to be told; nil: it is sent elsewhere.
	Tell func(ctx context.Context) error
	// Files keeps the files that the input of a loop's schedule names.
	Files   func(ctx context.Context, loop string, input json.RawMessage) (json.RawMessage, error)
	Metrics telemetry.EMF
	// Project is the dimension of the metrics.
	Project string
	Now     func() time.Time
	Log     *slog.Logger
}

// Function serves rounds.
type Function struct{ cfg Config }

// New makes the function.
func New(cfg Config) *Function {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	return &Function{cfg}
}

// event is a status change of an execution; any other event is a round.
type event struct {
	Source string `json:"source"`
	Detail struct {
		Name   string `json:"name"`
		Status string `json:"status"`
	} `json:"detail"`
}

// Round is what a round came to.
type Round struct {
	Looked   int      `json:"looked"`
	Repaired []string `json:"repaired"`
	Caught   int      `json:"caught_up"`
}

// Handle serves one event. What failed in a round is an error of the function,
// and is tried again by the next round: nothing is to be repeated for it.
func (f *Function) Handle(ctx context.Context, raw json.RawMessage) (any, error) {
	var e event
	if json.Unmarshal(raw, &e) == nil && e.Source == "aws.states" {
		return f.status(ctx, e)
	}
	return f.round(ctx)
}

// status looks at the run of an execution that has ended. Child executions of a
// distributed map are no runs.
func (f *Function) status(ctx context.Context, e event) (any, error) {
	i := strings.LastIndex(e.Detail.Name, "-g")
	if i < 0 || e.Detail.Status == "RUNNING" {
		return Round{Repaired: []string{}}, nil
	}
	tick, err := f.cfg.Coordinator.WatchRun(ctx, e.Detail.Name[:i])
	return f.told(ctx, tick), err
}

func (f *Function) told(ctx context.Context, tick coordinator.Tick) Round {
	for _, repaired := range tick.Repaired {
		f.cfg.Log.InfoContext(ctx, "repaired", "what", repaired)
	}
	return Round{Looked: tick.Looked, Repaired: tick.Repaired}
}

// queuesEvery is how often dead-letter queues are looked into: each look costs a
// request for each queue.
const queuesEvery = 5 * time.Minute

func (f *Function) round(ctx context.Context) (any, error) {
	tick, err := f.cfg.Coordinator.Watch(ctx)
	failed := []error{err}
	out := f.told(ctx, tick)
	metrics := []telemetry.Metric{{Name: "Watched", Unit: telemetry.Count, Value: 1}}
	caught, err := f.cfg.Coordinator.CatchUp(ctx, f.cfg.Files)
	failed, out.Caught = append(failed, err), len(caught)
	if f.cfg.DeadLetters != nil && f.cfg.Now().Truncate(time.Minute).Equal(f.cfg.Now().Truncate(queuesEvery)) {
		left, err := f.cfg.DeadLetters(ctx)
		failed = append(failed, err)
		metrics = append(metrics, telemetry.Metric{Name: "DeadLetters", Unit: telemetry.Count, Value: float64(left)})
	}
	if f.cfg.Tell != nil {
		failed = append(failed, f.cfg.Tell(ctx))
	}
	measured, err := f.cfg.Gauge(ctx)
	failed = append(failed, err)
	all := errors.Join(failed...)
	if all != nil {
		f.cfg.Log.ErrorContext(ctx, "the round is not whole", "error", all)
	}
	all = errors.Join(all, f.cfg.Coordinator.Beat(ctx, tick, all))
	// What no alarm and no graph reads is a property of the line: a metric costs each month.
	properties := map[string]any{"looked": tick.Looked, "repaired": len(tick.Repaired), "caught_up": out.Caught}
	all = errors.Join(all, f.cfg.Metrics.Emit(map[string]string{"Project": f.cfg.Project}, properties, append(metrics, measured...)...))
	if all != nil {
		return nil, boot.Named("Outerloop.RoundFailed", fmt.Sprint(all))
	}
	return out, nil
}

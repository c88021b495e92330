package watch

import (
	"context"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/outerloop-dev/outerloop/functions/internal/boot"
	"github.com/outerloop-dev/outerloop/functions/internal/core"
	"github.com/outerloop-dev/outerloop/functions/internal/secret"
	"github.com/outerloop-dev/outerloop/pkg/alert"
	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/registry"
	"github.com/outerloop-dev/outerloop/pkg/telemetry"
)

// Namespace is the metrics' in CloudWatch.
const Namespace = "Outerloop"

// Open makes the function of its surroundings.
func Open(_ context.Context, f *boot.Function) (boot.Handler, error) {
	c, err := core.Open(f)
	if err != nil {
		return nil, err
	}
	letters := &DeadLetters{
		Client: sqs.NewFromConfig(f.AWS), Name: f.DeadLetters, Triggers: f.DeadLetters(triggers), Take: c.Undeliverable, Log: f.Log,
		Workers: func(ctx context.Context) ([]string, error) { return queued(ctx, c.Definitions.Loops, c.Definitions) },
	}
	secrets := &secret.Store{Client: secretsmanager.NewFromConfig(f.AWS), Name: f.Secret, Now: f.Now}
	c.Alerts.Channels = func(p *registry.Project) map[string]alert.Channel { return channels(f, p, secrets) }
	return New(Config{
		Coordinator: c.Coordinator, Files: c.Files.Keep, DeadLetters: letters.Look, Gauge: Gauge{c.Coordinator}.Read,
		Tell:    func(ctx context.Context) error { return c.Alerts.Send(ctx, c.Coordinator) },
		Metrics: telemetry.EMF{Out: f.Out, Namespace: Namespace, Now: f.Now}, Project: f.Project, Now: f.Now, Log: f.Log,
	}).Handle, nil
}

// triggers is the queue of webhooks and events, which the trigger's function empties.
const triggers = "trigger"

// patience bounds the reading of a secret.
const patience = 10 * time.Second

// channels are those that the project's groups name. What cannot be opened is
// told, and its messages go to the log.
func channels(f *boot.Function, p *registry.Project, secrets *secret.Store) map[string]alert.Channel {
	open, faults := alert.Channels(p, alert.With{Log: f.Log, Clock: f.Now, Secret: func(name string) (string, error) {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		return secrets.Value(ctx, name)
	}})
	for _, fault := range faults {
		f.Log.Warn("a channel of alerts", "error", fault)
	}
	return open
}

// Measured is what the gauges read of *coordinator.Coordinator.
type Measured interface {
	ExceptionsPage(ctx context.Context, q coordinator.ExceptionsQuery) (coordinator.Page[coordinator.ExceptionView], error)
	Breakers(ctx context.Context) ([]coordinator.BreakerView, error)
	Budgets(ctx context.Context) ([]coordinator.BudgetView, error)
}

// Gauge reads what the alarms look at.
type Gauge struct{ From Measured }

// counted is how many open exceptions are counted at most.
const counted = 100

// Read reads the gauges: open exceptions (at most 100 are counted), workers
// whose breaker is open, and how much of the month's money is drawn.
func (g Gauge) Read(ctx context.Context) ([]telemetry.Metric, error) {
	open, err := g.From.ExceptionsPage(ctx, coordinator.ExceptionsQuery{Limit: counted})
	if err != nil {
		return nil, err
	}
	breakers, err := g.From.Breakers(ctx)
	if err != nil {
		return nil, err
	}
	budgets, err := g.From.Budgets(ctx)
	if err != nil {
		return nil, err
	}
	opened, used := 0, 0.0
	for _, b := range breakers {
		if b.State != "closed" {
			opened++
		}
	}
	for _, b := range budgets {
		if strings.HasPrefix(b.ID, "month/") && b.Limit > 0 {
			used = max(used, 100*(b.Limit-b.Left)/b.Limit)
		}
	}
	return []telemetry.Metric{
		{Name: "OpenExceptions", Unit: telemetry.Count, Value: float64(len(open.Items))},
		{Name: "BreakersOpen", Unit: telemetry.Count, Value: float64(opened)},
		{Name: "BudgetUsed", Unit: telemetry.Percent, Value: used},
	}, nil
}

// Package agent is the worker behind every charter of kind agent: it asks a
// language model with the charter's prompt and hands over what the model
// answers in the charter's form. A new agent is a charter, a prompt and two
// schemas, and no Go code.
//
// What the model says is a proposal: the gate checks the output's schema,
// evidence and limits as for any worker, and asks people where it must.
package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	llm "github.com/outerloop-dev/outerloop/pkg/agent"
	"github.com/outerloop-dev/outerloop/pkg/gate"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// Task is what the worker is given; its input is any JSON.
type Task = worker.Task[json.RawMessage]

// Options are what an agent needs beside its charter.
type Options struct {
	// Model is asked at Price. Needed unless Open is given; a model without a
	// price is never called.
	Model llm.Model
	Price llm.Price
	// Open opens the model that a task brings, which is then asked at the
	// task's price in place of Model: a run keeps the model of its start.
	Open func(gate.Model) (llm.Model, error)
	// Prompt replaces the prompt that the run has pinned: for trying another
	// one. Empty: the pinned one.
	Prompt string
	// Contract is the charter's contract number; 0: 1.
	Contract int
	// Temperature is left to the provider where it is nil.
	Temperature *float64
	// Timeout bounds each model call; 0: the attempt's time alone.
	Timeout time.Duration
	// MaxContext bounds instructions and data in bytes; 0: 400,000.
	MaxContext int
	// Tools makes the tool calls of a task; nil: the task's gate does.
	Tools func(Task) llm.Tools
	// Log gets repairs and figures, never data; nil: discarded.
	Log *slog.Logger
}

// New makes the worker of a charter. The error says what is missing or wrong
// in the options.
func New(charter string, o Options) (worker.Worker, error) {
	if o.Model == nil && o.Open == nil {
		return worker.Worker{}, errors.New("agent " + charter + ": a model is needed")
	}
	if err := o.Price.Known(); err != nil && o.Model != nil {
		return worker.Worker{}, fmt.Errorf("agent %s: %w", charter, err)
	}
	if o.Prompt != "" {
		if _, err := llm.ParsePrompt(o.Prompt); err != nil {
			return worker.Worker{}, err
		}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return worker.New(charter, max(o.Contract, 1), o.work), nil
}

// work does one attempt.
func (o Options) work(ctx context.Context, t Task) (worker.Result[json.RawMessage], error) {
	o, err := o.pinned(t.Agent)
	if err != nil {
		return worker.Result[json.RawMessage]{}, err
	}
	a, err := o.prepare(ctx, t)
	if err != nil {
		return worker.Result[json.RawMessage]{}, err
	}
	report, err := a.exchange.Run(ctx, a.prompt)
	o.log(ctx, t.Task, report, err)
	res := worker.Result[json.RawMessage]{Tokens: report.Usage, Cost: report.Cost}
	if err != nil {
		return res, err
	}
	work := report.Work
	res.Output, res.Confidence, res.Reason = work.Output, work.Confidence, work.Reason
	res.Evidence, res.Unresolved = work.Evidence, work.Unresolved
	res.Decisions = append(report.Said(a.prompt, o.Price), work.Decisions...)
	return res, nil
}

func (o Options) log(ctx context.Context, t gate.Task, r llm.Report, err error) {
	level, outcome := slog.LevelInfo, "answered"
	if err != nil {
		level, outcome = slog.LevelWarn, string(worker.FailureOf(err).Class)
	}
	coerced := make([]string, 0, len(r.Reading.Coercions))
	for _, c := range r.Reading.Coercions {
		coerced = append(coerced, c.Path)
	}
	o.Log.Log(ctx, level, "model asked", "run", t.Run, "step", t.Step, "item", t.Item, "attempt", t.Attempt, "worker", t.Worker,
		"outcome", outcome, "model", r.Usage.Model, "turns", r.Turns, "tool_calls", len(r.Calls), "tokens_in", r.Usage.Input, "tokens_out", r.Usage.Output,
		"cache_read", r.Usage.CacheRead, "cache_write", r.Usage.CacheWrite, "cost_micro", r.Cost, "estimated", r.Estimated,
		"repairs", r.Reading.Repairs, "coerced", coerced)
}

// pinned are the options with the model that the task brings.
func (o Options) pinned(a *gate.Agent) (Options, error) {
	if o.Open == nil || a == nil || a.Model == nil {
		return o, nil
	}
	model, err := o.Open(*a.Model)
	var classed *worker.Error
	switch {
	case errors.As(err, &classed):
		return o, err
	case err != nil:
		return o, worker.Fatal("%w", err)
	}
	o.Model, o.Price = model, llm.Price(a.Model.Price)
	return o, nil
}

// Package cost computes, from declarations alone, what a loop costs on AWS: per
// run from the states of its compiled machine, per month from its triggers. It
// also advises whether a loop needs a coordinator, and several workers, at all.
//
// Estimates are for runs in which all goes well; what a retry, a revision and a
// question to a person add is listed beside them. Amounts are US dollars from a
// dated price list, free tiers left out.
package cost

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/charter"
	"github.com/outerloop-dev/outerloop/pkg/loop"
)

// Question is what an estimate is made of. Loop is required.
type Question struct {
	Loop *loop.Definition
	// Loops are all loops of the project, for triggers that follow another loop.
	Loops map[string]*loop.Definition
	// Prices is the price list; nil: the program's own.
	Prices *Table
	// Items are how many items a block has, by its path; Each holds for the
	// others, 20 if 0. Never more than the block's max_items.
	Items map[string]int
	Each  int
	// Runs is how many runs a month a trigger starts whose number nobody can
	// know from the declarations (a webhook, an event, a monitor, by hand); 100 if 0.
	Runs float64
	// From is where the year begins in which the schedules' fires are counted.
	From time.Time
}

type estimator struct {
	Question
	*Table
	assumed []string
	// within are the loops that are being estimated, against circles.
	within []string
}

// Of estimates a loop. It fails only where the loop cannot be compiled.
func Of(q Question) (*Estimate, error) {
	e := newEstimator(q)
	run, counts, err := e.run(q.Loop)
	if err != nil {
		return nil, err
	}
	t := e.Table
	out := &Estimate{
		ID: q.Loop.Loop.Name, Version: q.Loop.Loop.Version, Prices: PriceSource{t.AsOf, t.Region, t.Source},
		Run: run, Counts: counts, Budget: q.Loop.Loop.Budget.Cost.String(), Warnings: []string{},
	}
	out.Triggers = e.triggers(run.Total)
	for _, share := range out.Triggers {
		out.Runs += share.Runs
		out.Month.Other += share.Watching.Other
		out.Month.Lambda += share.Watching.Lambda
		out.Month.DynamoDB += share.Watching.DynamoDB
	}
	out.Month.add(run, out.Runs)
	out.Month.Fixed, out.Stack = e.fixed(), e.stack()
	out.Month.sum()
	out.Savings = e.savings(out.Triggers, run.Total)
	out.Extras = e.extras()
	out.warn(q.Loop)
	out.Assumed = e.assumptions()
	out.round()
	return out, nil
}

func newEstimator(q Question) *estimator {
	if q.Prices == nil {
		q.Prices = Prices()
	}
	if q.Each <= 0 {
		q.Each = 20
	}
	if q.Runs <= 0 {
		q.Runs = 100
	}
	return &estimator{Question: q, Table: q.Prices}
}

// run is one run's cost, sub-loops included.
func (e *estimator) run(def *loop.Definition) (Split, Counts, error) {
	used, err := walk(def, func(block string) float64 { return e.itemsOf(def, block) })
	if err != nil {
		return Split{}, Counts{}, err
	}
	var s Split
	counts := Counts{Transitions: used.Transitions}
	s.Transitions = e.of("transition", used.Transitions)
	for _, step := range used.Steps {
		counts.Steps += step.Times
		e.step(def, step, &s, &counts)
	}
	gate := counts.Steps*e.quantity("gate_calls_a_step") + used.Coordinator + 1 // the start
	s.Lambda += e.lambda(gate, gate*e.quantity("gate_seconds"), "gate_gb")
	s.DynamoDB = e.of("write_unit", counts.Steps*e.quantity("write_units_a_step")+e.quantity("write_units_a_run")) +
		e.of("read_unit", counts.Steps*e.quantity("read_units_a_step"))
	s.SQS = e.of("queue_request", used.Queued*e.quantity("queue_requests_a_step"))
	s.Other = e.of("log_gb", (counts.Steps+1)*e.quantity("log_kb_a_step")/(1<<20))
	for _, child := range used.Children {
		part, more, err := e.run(child.Loop)
		if err != nil {
			return Split{}, Counts{}, err
		}
		s.add(part, child.Times)
		counts.add(more, child.Times)
	}
	s.sum()
	return s, counts, nil
}

func (e *estimator) lambda(calls, seconds float64, memory string) float64 {
	return e.of("lambda_request", calls) + e.of("lambda_gb_second", seconds*e.quantity(memory))
}

// itemsOf is how many items a block is assumed to have.
func (e *estimator) itemsOf(def *loop.Definition, block string) float64 {
	n := e.Each
	if given, ok := e.Items[block]; ok {
		n = given
	} else {
		e.assume(fmt.Sprintf("%s: %s has %d items (--items %s=N)", def.Loop.Name, block, n, block))
	}
	if node, ok := def.Node(block); ok && node.Each != nil {
		n = min(n, node.Each.MaxItems)
	}
	return float64(n)
}

func (e *estimator) assume(text string) {
	if !slices.Contains(e.assumed, text) {
		e.assumed = append(e.assumed, text)
	}
}

// step adds one step's worker and its model.
func (e *estimator) step(def *loop.Definition, use stepUse, s *Split, counts *Counts) {
	w := def.Workers[use.Worker]
	if w == nil {
		return
	}
	seconds := e.quantity("worker_seconds_other")
	switch w.Charter.Kind {
	case charter.KindGo:
		seconds = e.quantity("worker_seconds_go")
	case charter.KindAgent:
		seconds = e.quantity("worker_seconds_agent") * e.rounds(w)
		e.tokens(def, w, use, s, counts)
	}
	s.Lambda += e.lambda(use.Times, use.Times*seconds, "worker_gb")
}

// rounds is how often an agent asks its model: once, and once more for each of
// its tools.
func (e *estimator) rounds(w *loop.Worker) float64 {
	a := w.Charter.Agent
	calls := len(a.Calls)
	if a.MaxCalls > 0 {
		calls = min(calls, a.MaxCalls)
	}
	return float64(1 + calls)
}

// tokens estimates a model's work: every round sends the prompt, the input and
// what was said before; every answer is as long as it may be.
func (e *estimator) tokens(def *loop.Definition, w *loop.Worker, use stepUse, s *Split, counts *Counts) {
	a, rounds := w.Charter.Agent, e.rounds(w)
	base := math.Ceil(float64(len(w.Prompt))/e.quantity("bytes_a_token")) + e.quantity("model_input_tokens")
	output := float64(a.MaxTokens) * rounds
	grown := (float64(a.MaxTokens) + e.quantity("model_tool_tokens")) * rounds * (rounds - 1) / 2
	input := base*rounds + grown
	counts.ModelCalls += rounds * use.Times
	counts.InputTokens += input * use.Times
	counts.OutputTokens += output * use.Times
	model, ok := def.Project.Model(a.Model)
	if !ok {
		return
	}
	if cur := model.Price.Input.Currency; cur != "USD" {
		e.assume(fmt.Sprintf("the model %s is priced in %s: its tokens are not added", a.Model, cur))
		return
	}
	e.assume(fmt.Sprintf("model %s: prices of %s; %.0f tokens of input beside the prompt; answers as long as max_tokens allows", a.Model, model.Price.AsOf, e.quantity("model_input_tokens")))
	const micro, million = 1e6, 1e6
	s.Tokens += use.Times * (input*float64(model.Price.Input.Micro) + output*float64(model.Price.Output.Micro)) / micro / million
}

// stack is what a deployment costs in a month whatever its loops do.
func (e *estimator) stack() Stack {
	rounds := e.quantity("watch_rounds_a_month")
	s := Stack{
		Alarms: e.of("alarm_month", e.quantity("alarms_a_stack")), Metrics: e.of("metric_month", e.quantity("metrics_a_stack")),
		Watch: e.lambda(rounds, rounds*e.quantity("watch_seconds"), "watch_gb") + e.of("schedule_fire", rounds) +
			e.of("read_unit", rounds*e.quantity("watch_read_units")) + e.of("write_unit", rounds*e.quantity("watch_write_units")),
	}
	s.Total = s.Alarms + s.Metrics + s.Watch
	return s
}

// fixed is what a loop costs in a month in which nothing runs: the polling of
// its workers' queues.
func (e *estimator) fixed() float64 {
	queues := map[string]bool{}
	add := func(w *loop.Worker, mode charter.Mode) {
		if w != nil && mode == charter.ModeQueue {
			queues[w.Charter.Worker] = true
		}
	}
	for _, n := range e.Loop.Nodes {
		add(n.Worker, n.Mode)
		add(n.Backup, n.Mode)
		if n.Review != nil {
			add(n.Review.Worker, n.Review.Mode)
		}
		for _, row := range n.Routes {
			add(row.Worker, row.Mode)
			add(row.Backup, row.Mode)
		}
	}
	if len(queues) > 0 {
		e.assume(fmt.Sprintf("fixed: an idle queue is polled %.0f times a month, for each of %d workers with a queue", e.quantity("idle_receives_a_queue"), len(queues)))
	}
	return e.of("queue_request", float64(len(queues))*e.quantity("idle_receives_a_queue"))
}

// extras are what less smooth runs pay on top.
func (e *estimator) extras() []Extra {
	again := func(states float64, calls float64) float64 {
		return e.of("transition", states) + e.lambda(calls, calls*e.quantity("gate_seconds"), "gate_gb") +
			e.of("write_unit", e.quantity("write_units_a_step")) +
			e.lambda(1, e.quantity("worker_seconds_go"), "worker_gb")
	}
	return []Extra{
		{"retry", again(1, 2), "a retry of a step without a model: its state is entered again"},
		{"approval", again(2, 3), "a question to a person: the waiting state and the step's state again"},
		{"revision", again(2, 4), "a draft that a review sends back: the step's and the review's state again, without their models"},
	}
}

func (e *estimator) assumptions() []string {
	out := slices.Clone(e.assumed)
	out = append(out,
		"every run goes the longest way, without retries, revisions or questions to people",
		fmt.Sprintf("a worker in Go runs %gs, an agent %gs for each round, others %gs, with %g MB", e.quantity("worker_seconds_go"), e.quantity("worker_seconds_agent"), e.quantity("worker_seconds_other"), e.quantity("worker_gb")*1024),
		fmt.Sprintf("a step writes %g units, reads %g and calls its gate %g times", e.quantity("write_units_a_step"), e.quantity("read_units_a_step"), e.quantity("gate_calls_a_step")))
	return out
}

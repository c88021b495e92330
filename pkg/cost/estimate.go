package cost

import (
	"fmt"
	"math"
	"strings"

	"github.com/outerloop-dev/outerloop/pkg/loop"
)

// Split is an amount by what it is paid for, in US dollars.
type Split struct {
	Transitions float64 `json:"transitions"`
	Lambda      float64 `json:"lambda"`
	DynamoDB    float64 `json:"dynamodb"`
	SQS         float64 `json:"sqs"`
	Tokens      float64 `json:"model_tokens"`
	// Other are logs and schedules.
	Other float64 `json:"other"`
	// Fixed is paid per month, whether anything runs or not.
	Fixed float64 `json:"fixed"`
	Total float64 `json:"total"`
}

// Stack is what a deployment costs in a month whatever its loops do, once for all
// of them: it is in no loop's month.
type Stack struct {
	Alarms  float64 `json:"alarms"`
	Metrics float64 `json:"metrics"`
	// Watch is the watch's function, its schedule and its look at the table.
	Watch float64 `json:"watch"`
	Total float64 `json:"total"`
}

// Counts is what one run uses.
type Counts struct {
	Transitions float64 `json:"transitions"`
	Steps       float64 `json:"steps"`
	ModelCalls  float64 `json:"model_calls"`
	InputTokens float64 `json:"input_tokens"`
	// OutputTokens are at their declared bound.
	OutputTokens float64 `json:"output_tokens"`
}

// Extra is what something that went less than well adds to a run.
type Extra struct {
	ID  string  `json:"id"`
	USD float64 `json:"usd"`
	Say string  `json:"say"`
}

// Estimate is the answer.
type Estimate struct {
	// ID is the loop's name.
	ID       string         `json:"id"`
	Version  int            `json:"version"`
	Prices   PriceSource    `json:"prices"`
	Counts   Counts         `json:"counts"`
	Run      Split          `json:"run"`
	Month    Split          `json:"month"`
	Runs     float64        `json:"runs_a_month"`
	Stack    Stack          `json:"stack"`
	Triggers []TriggerShare `json:"triggers"`
	Savings  []Saving       `json:"savings"`
	Extras   []Extra        `json:"extras"`
	// Budget is the loop's bound for a run, as declared; Warnings say where the
	// estimate is above a bound.
	Budget   string   `json:"budget"`
	Warnings []string `json:"warnings"`
	// Assumed says what was not in the declarations.
	Assumed []string `json:"assumed"`
}

// PriceSource names the price list.
type PriceSource struct {
	AsOf   string `json:"as_of"`
	Region string `json:"region"`
	Source string `json:"source"`
}

func (s *Split) add(o Split, times float64) {
	s.Transitions += o.Transitions * times
	s.Lambda += o.Lambda * times
	s.DynamoDB += o.DynamoDB * times
	s.SQS += o.SQS * times
	s.Tokens += o.Tokens * times
	s.Other += o.Other * times
}

func (s *Split) sum() {
	s.Total = s.Transitions + s.Lambda + s.DynamoDB + s.SQS + s.Tokens + s.Other + s.Fixed
}

func (c *Counts) add(o Counts, times float64) {
	c.Transitions += o.Transitions * times
	c.Steps += o.Steps * times
	c.ModelCalls += o.ModelCalls * times
	c.InputTokens += o.InputTokens * times
	c.OutputTokens += o.OutputTokens * times
}

// warn compares the estimate with the declared bounds.
func (o *Estimate) warn(d *loop.Definition) {
	const micro = 1e6
	if bound := d.Loop.Budget.Cost; bound.Currency == "USD" && o.Run.Tokens > float64(bound.Micro)/micro {
		o.Warnings = append(o.Warnings, fmt.Sprintf("a run's model tokens may cost %s; its budget is %s: it would stop or ask", Dollars(o.Run.Tokens), bound))
	}
	if bound := d.Project.PerMonth; bound.Currency == "USD" && bound.Micro > 0 && o.Month.Total > float64(bound.Micro)/micro {
		o.Warnings = append(o.Warnings, fmt.Sprintf("a month may cost %s; the project's budget is %s", Dollars(o.Month.Total), bound))
	}
}

// round cuts amounts to a billionth, so that sums of fractions print the same everywhere.
func (o *Estimate) round() {
	for _, s := range []*Split{&o.Run, &o.Month} {
		for _, v := range []*float64{&s.Transitions, &s.Lambda, &s.DynamoDB, &s.SQS, &s.Tokens, &s.Other, &s.Fixed, &s.Total} {
			*v = billionth(*v)
		}
	}
	for _, v := range []*float64{&o.Stack.Alarms, &o.Stack.Metrics, &o.Stack.Watch, &o.Stack.Total} {
		*v = billionth(*v)
	}
	for i := range o.Triggers {
		t := &o.Triggers[i]
		t.Runs, t.USD = billionth(t.Runs), billionth(t.USD)
	}
	for i := range o.Savings {
		s := &o.Savings[i]
		s.Runs, s.USD = billionth(s.Runs), billionth(s.USD)
	}
	for i := range o.Extras {
		o.Extras[i].USD = billionth(o.Extras[i].USD)
	}
	o.Runs = billionth(o.Runs)
}

func billionth(v float64) float64 { return math.Round(v*1e9) / 1e9 }

// Dollars writes an amount with as many decimals as it needs to say something.
func Dollars(v float64) string {
	switch {
	case v == 0:
		return "$0"
	case v < 0.000001:
		return "<$0.000001"
	case v < 0.1:
		return "$" + strings.TrimRight(fmt.Sprintf("%.6f", v), "0")
	}
	return fmt.Sprintf("$%.2f", v)
}

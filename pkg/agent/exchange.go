package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/gate"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// Exchange is one attempt's talk with a model. It ends (R50): with an answer,
// after MaxCalls tool calls and one model call more, at its budget, at the end
// of its context, or at a stall.
//
// An answer that is not valid ends it too, as a failure of class invalid_output
// with its faults: the gate counts the attempts, keeps the faults and gives
// them to the next attempt as feedback, within the step's declared retries. So
// retries are counted and paid for in one place.
type Exchange struct {
	Model Model
	// Price is needed: a model without one is not called.
	Price Price
	Form  *AnswerForm
	// Tools are what the model may call, Caller calls them; none: no calls.
	Tools  []ToolWorker
	Caller Tools
	// MaxCalls bounds the tool calls, MaxTokens each answer.
	MaxCalls, MaxTokens int
	Temperature         *float64
	// Timeout bounds each model call; 0: the context alone.
	Timeout time.Duration
	// Budget is what the gate has reserved for the attempt, in micro-units. The
	// first call is paid for by the reservation itself; each further call is
	// made only if its estimate still fits. A first call that costs more than
	// was reserved is recorded as it is. 0: the attempt has no money, and only
	// a model that costs nothing is asked.
	Budget int64
}

// Report is what an exchange came to. With an error, Usage, Cost and Calls
// still hold what was used and done.
type Report struct {
	Work    Work
	Reading Reading
	// Usage is of all calls together. Where a provider did not report, or
	// reported what cannot be, it is the estimate, and Estimated is true.
	Usage     gate.Tokens
	Estimated bool
	// Cost is Usage at the price, in micro-units.
	Cost int64
	// Turns counts the model calls.
	Turns int
	Calls []Made
}

// running is an exchange in progress.
type running struct {
	Exchange
	tools  *toolbox
	req    Request
	report Report
}

// Run asks the model until it answers. Errors have a class.
func (e Exchange) Run(ctx context.Context, prompt Rendered) (Report, error) {
	r, err := e.begin(prompt)
	if err != nil {
		return Report{}, err
	}
	for {
		answer, err := r.turn(ctx)
		if err != nil {
			return r.report, err
		}
		if len(answer.Calls) > 0 && (answer.Stop == StopTools || answer.Stop == StopEnd) {
			if err := r.call(ctx, answer); err != nil {
				return r.report, err
			}
			continue
		}
		r.report.Work, r.report.Reading, err = e.Form.Read(answer)
		if err == nil {
			err = cited(r.report.Work.Evidence, prompt, r.report.Calls)
		}
		return r.report, err
	}
}

func (e Exchange) begin(prompt Rendered) (*running, error) {
	if err := e.Price.Known(); err != nil {
		return nil, worker.Fatal("preparing the model call: %w", err)
	}
	switch {
	case e.Model == nil || e.Form == nil || e.MaxTokens < 1:
		return nil, worker.Fatal("preparing the model call: a model, the answer's form and max_tokens are needed")
	case len(e.Tools) > 0 && (e.Caller == nil || e.MaxCalls < 1):
		return nil, worker.Fatal("preparing the model call: tools need max_calls and a runtime that can make the calls")
	}
	tools, err := newToolbox(e.Tools)
	if err != nil {
		return nil, worker.Fatal("preparing the model call: %w", err)
	}
	return &running{Exchange: e, tools: tools, req: Request{
		System: prompt.System, Messages: []Message{{Role: RoleUser, Text: prompt.User}}, Tools: tools.order,
		Output: e.Form.Form(), MaxTokens: e.MaxTokens, Temperature: e.Temperature, Timeout: e.Timeout,
	}}, nil
}

// turn makes one model call, if it can be paid for, and books it.
func (r *running) turn(ctx context.Context) (Answer, error) {
	if ctx.Err() != nil {
		return Answer{}, fmt.Errorf("asking the model: %w", context.Cause(ctx))
	}
	if err := r.affords(); err != nil {
		return Answer{}, err
	}
	r.report.Turns++
	answer, err := r.Model.Ask(ctx, r.req)
	if err != nil {
		if errors.Is(err, ErrUsageUnknown) {
			return Answer{}, errors.Join(err, r.book(estimated(r.req), true))
		}
		return Answer{}, err
	}
	used, guessed := usage(r.req, answer)
	return answer, r.book(used, guessed)
}

// affords tells whether the next call fits into what is left of the budget.
func (r *running) affords() error {
	need, err := r.Price.Estimate(r.req)
	if err != nil {
		return worker.Fatal("estimating the model call: %w", err)
	}
	switch {
	case need == 0:
		return nil
	case r.Budget <= 0:
		return worker.Refused("the attempt has no budget, and the model call may cost %s", r.money(need))
	case r.report.Turns > 0 && r.report.Cost+need > r.Budget:
		return worker.Refused("the attempt's budget is %s, %s are spent, and the next model call may cost %s",
			r.money(r.Budget), r.money(r.report.Cost), r.money(need))
	}
	return nil
}

func (r *running) money(micro int64) string {
	return fmt.Sprintf("%d.%06d %s", micro/perMillion, micro%perMillion, r.Price.Currency)
}

// book adds a call's usage; the cost is always the price of all of it.
func (r *running) book(used gate.Tokens, guessed bool) error {
	r.report.Usage = sum(r.report.Usage, used)
	r.report.Estimated = r.report.Estimated || guessed
	cost, err := r.Price.Cost(r.report.Usage)
	if err != nil {
		return worker.Fatal("pricing the model call: %w", err)
	}
	r.report.Cost = cost
	return nil
}

// call makes the tool calls of an answer and adds their results to the request.
func (r *running) call(ctx context.Context, answer Answer) error {
	left := r.MaxCalls - len(r.report.Calls)
	if left <= 0 {
		return Failed(outerloop.ClassToolFailed, time.Time{}, "the model asked for another tool call after all %d were made", r.MaxCalls)
	}
	results := make([]Returned, 0, len(answer.Calls))
	for _, call := range answer.Calls {
		result, err := r.callOne(ctx, call)
		if err != nil {
			return err
		}
		results = append(results, result)
	}
	r.req.Messages = append(r.req.Messages,
		Message{Role: RoleModel, Text: answer.Text, Calls: answer.Calls}, Message{Role: RoleUser, Results: results})
	return nil
}

func (r *running) callOne(ctx context.Context, call ToolCall) (Returned, error) {
	if len(r.report.Calls) >= r.MaxCalls {
		text := returned{NotDone: CallRefused, Says: "No calls are left. Answer with what you have."}.text()
		return Returned{ID: call.ID, Text: text, Failed: true}, nil
	}
	if ctx.Err() != nil {
		return Returned{}, fmt.Errorf("calling %s: %w", call.Name, context.Cause(ctx))
	}
	input, says := r.tools.input(call)
	if says != "" {
		input = []byte(call.Input)
	}
	name := printable(call.Name, longestName)
	if stalled(r.report.Calls, name, input) {
		return Returned{}, Failed(outerloop.ClassToolFailed, time.Time{}, "stalled: the model makes the same call of %s again, which gave the same %d times", name, identical)
	}
	if says != "" {
		return r.made(call, input, WorkerAnswer{Outcome: CallRefused, Says: says}), nil
	}
	if err := r.affords(); err != nil { // the result could not be read
		return Returned{}, err
	}
	answer, err := r.Caller.Call(ctx, WorkerCall{Worker: call.Name, Input: input, Number: len(r.report.Calls) + 1})
	if err != nil {
		return Returned{}, fmt.Errorf("calling %s: %w", call.Name, err)
	}
	return r.made(call, input, answer), nil
}

// made books a tool call and writes its result.
func (r *running) made(call ToolCall, input []byte, answer WorkerAnswer) Returned {
	m := Made{Worker: printable(call.Name, longestName), Outcome: answer.Outcome, Says: answer.Says, input: string(input)}
	out := returned{Output: answer.Output}
	if answer.Outcome != CallDone {
		out = returned{NotDone: answer.Outcome, Says: answer.Says}
	}
	m.answer = out.text()
	r.report.Calls = append(r.report.Calls, m)
	out.CallsLeft = r.MaxCalls - len(r.report.Calls)
	return Returned{ID: call.ID, Text: out.text(), Failed: answer.Outcome != CallDone}
}

// Said is what an exchange decided, in lines for the record: without data.
func (r Report) Said(prompt Rendered, price Price) []string {
	calls := "1 call"
	if r.Turns != 1 {
		calls = fmt.Sprintf("%d calls", r.Turns)
	}
	tokens := fmt.Sprintf("%d tokens in, %d out", r.Usage.Input, r.Usage.Output)
	if cached := r.Usage.CacheRead + r.Usage.CacheWrite; cached > 0 {
		tokens += fmt.Sprintf(", %d from and %d to a cache", r.Usage.CacheRead, r.Usage.CacheWrite)
	}
	if r.Estimated {
		tokens += " (estimated in part: the provider did not report, or what cannot be)"
	}
	lines := []string{
		fmt.Sprintf("Asked %s with prompt %s: %s, %s, %d.%06d %s at the prices of %s.", orUnnamed(r.Usage.Model), short(prompt.Version),
			calls, tokens, r.Cost/perMillion, r.Cost%perMillion, price.Currency, price.AsOf),
		fmt.Sprintf("Sent %d bytes of context (about %d tokens); left out %d bytes (about %d tokens) that the prompt does not name.",
			prompt.Sent.Bytes, prompt.Sent.Tokens, prompt.Pruned.Bytes, prompt.Pruned.Tokens),
	}
	for _, repair := range r.Reading.Repairs {
		lines = append(lines, "Repaired the answer: "+string(repair)+".")
	}
	for _, c := range r.Reading.Coercions {
		lines = append(lines, fmt.Sprintf("Read %s, a %s, as %s.", c.Path, c.From, c.To))
	}
	for _, call := range r.Calls {
		lines = append(lines, call.String())
	}
	return lines
}

func orUnnamed(model string) string {
	if model == "" {
		return "a model that does not name itself"
	}
	return model
}

func short(version string) string { return version[:min(12, len(version))] }

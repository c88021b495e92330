package agent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/functions/workers/agent"
	llm "github.com/outerloop-dev/outerloop/pkg/agent"
	"github.com/outerloop-dev/outerloop/pkg/agent/scripted"
	"github.com/outerloop-dev/outerloop/pkg/gate"
	"github.com/outerloop-dev/outerloop/pkg/worker"
	"github.com/outerloop-dev/outerloop/pkg/worker/workertest"
)

const charter = `{"worker": "refund-agent", "objective": "Answer the customer.", "kind": "agent", "evidence": "required",
	"escalate": [{"rule": "\"legal\" in output.topics", "to": "legal", "say": "Legal topics go to a person."}],
	"agent": {"model": "default", "prompt": "prompts/refund.md", "calls": ["order-lookup"], "max_calls": 2, "max_tokens": 300}}`

const record = `{"objective": "Help.", "constraints": ["input.amount <= 200 (otherwise approve)"], "decisions": ["The author thought hard."],
	"required_output": {"type": "object", "additionalProperties": false, "required": ["reply"], "properties": {"reply": {"type": "string"}}}}`

func task() *gate.Task {
	return &gate.Task{
		Run: "r1", Loop: "support", Step: "answer", Visit: 1, Attempt: 1, Fence: 1, Worker: "refund-agent", Budget: 1_000_000,
		Charter: json.RawMessage(charter), Handoff: json.RawMessage(record),
		Input: json.RawMessage(`{"mail": "Where is my order?", "order": "A-7", "file": "terms", "secret": "none of your business"}`),
		Agent: &gate.Agent{Prompt: "Answer ${input.mail} about ${input.order}.", Calls: []gate.Callable{{
			Worker: "order-lookup", Objective: "Finds an order.", Input: json.RawMessage(`{"type":"object","properties":{"order":{"type":"string"}},"required":["order"],"additionalProperties":false}`),
		}}},
	}
}

var price = llm.Price{Input: 3_000_000, Output: 15_000_000, Currency: "USD", AsOf: "2026-11-01"}

const answer = `{"output": {"reply": "It is on its way."}, "confidence": "high", "reason": "The order says so.",
	"evidence": [{"claim": "on its way", "source": "input.order", "at": ""}], "decisions": ["Answered from the order."], "unresolved": ["Is A-7 paid?"]}`

func said(text string) llm.Answer {
	return llm.Answer{Text: text, Stop: llm.StopEnd, Usage: gate.Tokens{Input: 400, Output: 40, Model: "small-1"}}
}

// lookup is a gate of tool calls that finds every order.
type lookup struct{ asked []string }

func (l *lookup) Call(_ context.Context, call llm.WorkerCall) (llm.WorkerAnswer, error) {
	l.asked = append(l.asked, call.Worker+string(call.Input))
	return llm.WorkerAnswer{Outcome: llm.CallDone, Output: json.RawMessage(`{"state":"sent"}`)}, nil
}

type setup struct {
	model  scripted.Func
	change func(*gate.Task, *agent.Options)
}

// attempt takes one task through the worker behind a gate.
func attempt(t *testing.T, s setup) gate.SettleRequest {
	t.Helper()
	job := task()
	o := agent.Options{Model: s.model, Price: price, Tools: func(agent.Task) llm.Tools { return &lookup{} }}
	if s.change != nil {
		s.change(job, &o)
	}
	w, err := agent.New("refund-agent", o)
	if err != nil {
		t.Fatal(err)
	}
	g := &workertest.Gate{Task: job}
	_, err = worker.Handle(t.Context(), worker.Invocation{
		Worker: w, Gate: worker.InProcess(g), Request: t.Name(), Delivery: gate.Delivery{Run: job.Run, Gen: 1, Step: job.Step},
		Env: worker.Env{Files: &worker.BlobFiles{Get: func(_ context.Context, ref string) ([]byte, error) {
			content, found := map[string]string{"terms": "30 days", "image": "\xff\xd8"}[ref]
			if !found {
				return nil, errors.New("no such blob")
			}
			return []byte(content), nil
		}}},
	})
	if err != nil || len(g.Settled) != 1 {
		t.Fatalf("%d settled, %v", len(g.Settled), err)
	}
	return g.Settled[0]
}

func TestAnswerBecomesAResult(t *testing.T) {
	t.Parallel()
	var requests []llm.Request
	tools, logged := &lookup{}, &bytes.Buffer{}
	settled := attempt(t, setup{
		model: func(_ context.Context, req llm.Request) (llm.Answer, error) {
			requests = append(requests, req)
			if len(requests) == 1 {
				a := said("")
				a.Stop, a.Calls = llm.StopTools, []llm.ToolCall{{ID: "1", Name: "order-lookup", Input: `{"order": "A-7"}`}}
				return a, nil
			}
			return said("```json\n" + answer + "\n```"), nil
		},
		change: func(_ *gate.Task, o *agent.Options) {
			o.Tools = func(agent.Task) llm.Tools { return tools }
			o.Log = slog.New(slog.NewTextHandler(logged, nil))
		},
	})
	r := settled.Result
	if r == nil {
		t.Fatalf("it failed: %+v", settled.Failure)
	}
	if string(r.Output) != `{"reply":"It is on its way."}` || r.Confidence != outerloop.ConfidenceHigh || r.Reason != "The order says so." ||
		r.Evidence[0] != (gate.Evidence{Claim: "on its way", Source: "input.order"}) || !slices.Equal(r.Unresolved, []string{"Is A-7 paid?"}) {
		t.Errorf("%+v", r)
	}
	if r.Tokens != (gate.Tokens{Input: 800, Output: 80, Model: "small-1"}) || r.Cost != 3600 {
		t.Errorf("%+v cost %d", r.Tokens, r.Cost)
	}
	decisions := strings.Join(r.Decisions, "\n")
	for _, want := range []string{"Asked small-1 with prompt ", "2 calls", "Called order-lookup: done.", "took the fence off", "Answered from the order."} {
		if !strings.Contains(decisions, want) {
			t.Errorf("the record lacks %q:\n%s", want, decisions)
		}
	}
	if !slices.Equal(tools.asked, []string{`order-lookup{"order":"A-7"}`}) {
		t.Errorf("tools asked %v", tools.asked)
	}
	if text := logged.String(); !strings.Contains(text, "cost_micro=3600") || strings.Contains(text, "on its way") {
		t.Errorf("the log says %s", text)
	}
	sends(t, requests[0])
}

// sends checks what the model is told: what the prompt names, the rules, and
// neither other fields nor the reasoning of others.
func sends(t *testing.T, req llm.Request) {
	t.Helper()
	for _, want := range []string{"Answer [input.mail] about [input.order].", "input.amount <= 200 (otherwise approve)", "Legal topics go to a person.",
		"Your objective: Answer the customer.", `under "evidence"`} {
		if !strings.Contains(req.System, want) {
			t.Errorf("the instructions lack %q", want)
		}
	}
	for _, absent := range []string{"none of your business", "thought hard", "30 days"} {
		if strings.Contains(req.System+req.Messages[0].Text, absent) {
			t.Errorf("%q was sent", absent)
		}
	}
	if req.MaxTokens != 300 || req.Tools[0].Says != "Finds an order." {
		t.Errorf("%+v", req)
	}
}

// An attempt after an invalid answer is given the faults; the failure of the
// first carries its cost.
func TestInvalidAnswerIsRetriedWithItsFaults(t *testing.T) {
	t.Parallel()
	model := func(_ context.Context, req llm.Request) (llm.Answer, error) {
		if strings.Contains(req.Messages[0].Text, "/output/reply is required, but missing") && strings.Contains(req.System, "# Feedback") {
			return said(answer), nil
		}
		return said(strings.Replace(answer, `"reply"`, `"answer"`, 1)), nil
	}
	first := attempt(t, setup{model: model})
	f := first.Failure
	if f == nil || f.Class != outerloop.ClassInvalidOutput || f.Cost != 1800 || f.Tokens.Output != 40 || !strings.Contains(f.Message, "/output/answer is not a known field") {
		t.Fatalf("%+v", f)
	}
	second := attempt(t, setup{model: model, change: func(job *gate.Task, _ *agent.Options) {
		job.Attempt, job.Feedback = 2, []gate.Feedback{{From: "gate", Faults: []string{f.Message}}}
	}})
	if second.Result == nil {
		t.Errorf("the second attempt failed: %+v", second.Failure)
	}
}

func TestWhatStopsAnAttempt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*gate.Task, *agent.Options)
		class  outerloop.Class
		says   string
	}{
		"no money":          {func(job *gate.Task, _ *agent.Options) { job.Budget = 0 }, outerloop.ClassRefused, "no budget"},
		"no prompt":         {func(job *gate.Task, _ *agent.Options) { job.Agent = nil }, outerloop.ClassFatal, "the prompt: it is empty"},
		"no tools brought":  {func(job *gate.Task, _ *agent.Options) { job.Agent.Calls = nil }, outerloop.ClassFatal, "order-lookup"},
		"no runtime":        {func(_ *gate.Task, o *agent.Options) { o.Tools = nil }, outerloop.ClassFatal, "runtime"},
		"a field missing":   {func(job *gate.Task, _ *agent.Options) { job.Input = json.RawMessage(`{"mail": ""}`) }, outerloop.ClassMissingInput, "input.order"},
		"too much":          {func(_ *gate.Task, o *agent.Options) { o.MaxContext = 500 }, outerloop.ClassMissingInput, "500 are allowed"},
		"a charter unread":  {func(job *gate.Task, _ *agent.Options) { job.Charter = json.RawMessage(`[]`) }, outerloop.ClassFatal, "charter"},
		"no handoff record": {func(job *gate.Task, _ *agent.Options) { job.Handoff = json.RawMessage(`[]`) }, outerloop.ClassFatal, "handoff"},
		"no schema": {func(job *gate.Task, _ *agent.Options) {
			job.Handoff = json.RawMessage(`{"required_output": {"type": 7}}`)
		}, outerloop.ClassFatal, "schema"},
		"an image": {func(job *gate.Task, _ *agent.Options) {
			job.Files, job.Agent.Prompt = map[string]string{"file": "image"}, "See ${input.file}."
		}, outerloop.ClassMissingInput, "no UTF-8"},
		"no blob": {func(job *gate.Task, _ *agent.Options) {
			job.Files, job.Agent.Prompt = map[string]string{"file": "gone"}, "See ${input.file}."
		}, outerloop.ClassTransient, "no such blob"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked := 0
			settled := attempt(t, setup{change: c.change, model: func(context.Context, llm.Request) (llm.Answer, error) {
				asked++
				return said(answer), nil
			}})
			f := settled.Failure
			if f == nil || f.Class != c.class || !strings.Contains(f.Message, c.says) || asked != 0 || f.Cost != 0 {
				t.Errorf("asked %d times: %+v", asked, f)
			}
		})
	}
}

func TestFilesAreReadWhereThePromptNamesThem(t *testing.T) {
	t.Parallel()
	settled := attempt(t, setup{
		model: func(_ context.Context, req llm.Request) (llm.Answer, error) {
			if !strings.Contains(req.Messages[0].Text, `"30 days"`) {
				return said("no file"), nil
			}
			return said(strings.Replace(answer, "input.order", "input.file", 1)), nil
		},
		change: func(job *gate.Task, o *agent.Options) {
			job.Files = map[string]string{"file": "terms"}
			o.Prompt = "Use ${input.file}." // another prompt than the pinned one, for trying it
		},
	})
	if settled.Result == nil {
		t.Errorf("%+v", settled.Failure)
	}
}

func TestNewNeedsAModelAndItsPrice(t *testing.T) {
	t.Parallel()
	model := scripted.Func(func(context.Context, llm.Request) (llm.Answer, error) { return llm.Answer{}, nil })
	if _, err := agent.New("x", agent.Options{Price: price}); err == nil {
		t.Error("no model was needed")
	}
	if _, err := agent.New("x", agent.Options{Model: model}); !errors.Is(err, llm.ErrUnpriced) {
		t.Errorf("no price: %v", err)
	}
	if _, err := agent.New("x", agent.Options{Model: model, Price: price, Prompt: "${x}"}); err == nil {
		t.Error("a wrong prompt was taken")
	}
	w, err := agent.New("x", agent.Options{Model: model, Price: price, Contract: 3})
	if err != nil || w.Name() != "x" || w.Contract() != 3 {
		t.Errorf("%s %d, %v", w.Name(), w.Contract(), err)
	}
}

// Two versions of a prompt are compared on one recorded task, without acting.
func TestTryComparesPrompts(t *testing.T) {
	t.Parallel()
	model := scripted.Func(func(_ context.Context, req llm.Request) (llm.Answer, error) {
		a := said(answer)
		if strings.Contains(req.System, "Be brief.") {
			a.Usage.Output = 10
		}
		if len(req.Messages) == 1 {
			a.Stop, a.Calls = llm.StopTools, []llm.ToolCall{{ID: "1", Name: "order-lookup", Input: `{"order": "A-7"}`}}
		}
		return a, nil
	})
	costs := map[string]int64{}
	for name, text := range map[string]string{"pinned": "", "new": "Answer ${input.mail} about ${input.order}. Be brief."} {
		tried, err := agent.Try(t.Context(), agent.Options{Model: model, Price: price, Prompt: text}, *task(), nil)
		if err != nil || tried.Result == nil {
			t.Fatalf("%s: %+v, %v", name, tried.Failure, err)
		}
		costs[name] = tried.Result.Cost
		if said := strings.Join(tried.Result.Decisions, "\n"); !strings.Contains(said, "Called order-lookup: refused: This is a trial") {
			t.Errorf("%s: a tool was called:\n%s", name, said)
		}
	}
	if costs["pinned"] != 3600 || costs["new"] != 2700 {
		t.Errorf("costs %v", costs)
	}
	broken := *task()
	broken.Budget = 0
	if tried, err := agent.Try(t.Context(), agent.Options{Model: model, Price: price}, broken, nil); err != nil || tried.Failure == nil {
		t.Errorf("a trial without money: %+v, %v", tried, err)
	}
}

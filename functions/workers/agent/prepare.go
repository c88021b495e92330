package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	llm "github.com/outerloop-dev/outerloop/pkg/agent"
	"github.com/outerloop-dev/outerloop/pkg/gate"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// prepared is an attempt that is ready to ask.
type prepared struct {
	exchange llm.Exchange
	prompt   llm.Rendered
}

// document is what the worker reads of its charter.
type document struct {
	Objective string `json:"objective"`
	Evidence  string `json:"evidence"`
	Escalate  []struct {
		Rule string `json:"rule"`
		To   string `json:"to"`
		Say  string `json:"say"`
	} `json:"escalate"`
	Agent struct {
		Calls     []string `json:"calls"`
		MaxCalls  int      `json:"max_calls"`
		MaxTokens int      `json:"max_tokens"`
	} `json:"agent"`
}

// handoff is what the worker reads of the handoff record. Earlier decisions and
// their confidence stay out: a reviewer gets sources, not the author's reasoning.
type handoff struct {
	Constraints []string        `json:"constraints"`
	Required    json.RawMessage `json:"required_output"`
}

func (o Options) prepare(ctx context.Context, t Task) (prepared, error) {
	var charter document
	if err := json.Unmarshal(t.Charter, &charter); err != nil {
		return prepared{}, worker.Fatal("reading the charter: %w", err)
	}
	var record handoff
	if err := json.Unmarshal(t.Handoff, &record); err != nil {
		return prepared{}, worker.Fatal("reading the handoff record: %w", err)
	}
	form, err := llm.NewForm(t.Worker, record.Required)
	if err != nil {
		return prepared{}, worker.Fatal("%w", err)
	}
	prompt, err := o.promptOf(t)
	if err != nil {
		return prepared{}, err
	}
	texts, err := o.texts(ctx, t, prompt)
	if err != nil {
		return prepared{}, err
	}
	rendered, err := prompt.Render(form, llm.Brief{
		Worker: t.Worker, Objective: charter.Objective, Rules: rules(charter, record), Evidence: charter.Evidence == "required",
		Input: t.Task.Input, Facts: t.Facts, Texts: texts, Feedback: t.Feedback, Limit: o.MaxContext,
	})
	if err != nil {
		return prepared{}, err
	}
	exchange := llm.Exchange{
		Model: o.Model, Price: o.Price, Form: form, MaxCalls: charter.Agent.MaxCalls, MaxTokens: charter.Agent.MaxTokens,
		Temperature: o.Temperature, Timeout: o.Timeout, Budget: t.Budget, Tools: toolsOf(t.Agent),
	}
	if missing := unknownTools(charter.Agent.Calls, exchange.Tools); len(missing) > 0 {
		return prepared{}, worker.Fatal("the charter calls %s, but the task does not bring them", strings.Join(missing, ", "))
	}
	switch {
	case len(exchange.Tools) == 0:
	case o.Tools != nil:
		exchange.Caller = o.Tools(t)
	case t.CanCall():
		exchange.Caller = gateCalls{t}
	}
	return prepared{exchange, rendered}, nil
}

func (o Options) promptOf(t Task) (*llm.Prompt, error) {
	text := o.Prompt
	if text == "" && t.Agent != nil {
		text = t.Agent.Prompt
	}
	prompt, err := llm.ParsePrompt(text)
	if err != nil {
		return nil, worker.Fatal("%w", err)
	}
	return prompt, nil
}

// rules are the limits that hold, and what goes to people whatever the model thinks.
func rules(c document, h handoff) []string {
	out := slices.Clone(h.Constraints)
	for _, e := range c.Escalate {
		out = append(out, fmt.Sprintf("%s goes to %s: %s", e.Rule, e.To, e.Say))
	}
	return out
}

func toolsOf(a *gate.Agent) []llm.ToolWorker {
	if a == nil {
		return nil
	}
	var out []llm.ToolWorker
	for _, c := range a.Calls {
		out = append(out, llm.ToolWorker{Name: c.Worker, Objective: c.Objective, Input: c.Input})
	}
	return out
}

func unknownTools(names []string, have []llm.ToolWorker) []string {
	var missing []string
	for _, name := range names {
		if !slices.ContainsFunc(have, func(w llm.ToolWorker) bool { return w.Name == name }) {
			missing = append(missing, name)
		}
	}
	return missing
}

// defaultContext is the bound of a context, and so of a file in it.
const defaultContext = 400_000

// texts reads the file inputs that the prompt names, or all of them where it
// names nothing. A file that is no text, or too long, cannot be sent.
func (o Options) texts(ctx context.Context, t Task, p *llm.Prompt) (map[string]string, error) {
	limit := o.MaxContext
	if limit == 0 {
		limit = defaultContext
	}
	out := map[string]string{}
	for property := range t.Files {
		if names := p.Names(); len(names) > 0 && !slices.Contains(names, "input."+property) && !slices.Contains(names, "input") {
			continue
		}
		text, err := read(ctx, t, property, limit)
		if err != nil {
			return nil, err
		}
		out[property] = text
	}
	return out, nil
}

func read(ctx context.Context, t Task, property string, limit int) (string, error) {
	file, err := t.File(ctx, property)
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }()
	if file.Size() > int64(limit) {
		return "", worker.MissingInput("file %q has %d bytes, a context may have %d", property, file.Size(), limit)
	}
	raw, err := io.ReadAll(worker.Reader(file))
	if err != nil {
		return "", worker.Transient("reading file %q: %w", property, err)
	}
	if !utf8.Valid(raw) {
		return "", worker.MissingInput("file %q is no UTF-8 text", property)
	}
	return string(raw), nil
}

package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/outerloop-dev/outerloop/pkg/schema"
)

// Tools makes the tool calls of one attempt (R8). Each call is another worker's
// work under that worker's own charter: an implementation goes through the
// gate, which checks the schemas, limits, action key, budget and approvals as
// for a step, runs the worker and logs it. It identifies the calling attempt by
// its own nonce and fence, and a call by worker and canonical input within the
// step, so that an attempt that is repeated gets the recorded answers.
type Tools interface {
	// Call asks a worker and waits for what becomes of it. An error means that
	// the exchange must end: the attempt was stopped, or the gate gave no
	// answer. What the worker or a rule said is an outcome, not an error.
	Call(ctx context.Context, call WorkerCall) (WorkerAnswer, error)
}

// WorkerCall is one tool call.
type WorkerCall struct {
	Worker string
	// Input fits the worker's schema.
	Input json.RawMessage
	// Number counts the attempt's calls, from 1.
	Number int
}

// Outcome is what became of a tool call.
type Outcome string

// The outcomes.
const (
	// CallDone: Output is the worker's accepted output.
	CallDone Outcome = "done"
	// CallRefused: a limit, the budget or the worker itself refused; nothing was done.
	CallRefused Outcome = "refused"
	// CallWaiting: a person decides, later; nothing was done yet.
	CallWaiting Outcome = "waiting"
	// CallFailed: the worker failed after its own retries.
	CallFailed Outcome = "failed"
)

// WorkerAnswer is a tool call's outcome.
type WorkerAnswer struct {
	Outcome Outcome
	// Output is set when it is done.
	Output json.RawMessage
	// Says is why it is not done, in words for the model.
	Says string
}

// ToolWorker is a worker that the agent may call.
type ToolWorker struct {
	Name      string
	Objective string
	// Input is the JSON Schema of its input.
	Input json.RawMessage
}

// toolbox is what an exchange knows of its tools.
type toolbox struct {
	order   []Tool
	schemas map[string]*schema.Schema
}

func newToolbox(workers []ToolWorker) (*toolbox, error) {
	b := &toolbox{schemas: map[string]*schema.Schema{}}
	for _, w := range workers {
		compiled, err := schema.Compile(w.Name+" input", w.Input)
		if err != nil {
			return nil, fmt.Errorf("reading the input schema of tool %s: %w", w.Name, err)
		}
		b.order = append(b.order, Tool{Name: w.Name, Says: w.Objective, Input: compiled.Raw()})
		b.schemas[w.Name] = compiled
	}
	return b, nil
}

// input reads a call's input by its worker's schema, as an answer is read:
// strictly, but with numbers in quotes. says is why it cannot be, for the model.
func (b *toolbox) input(call ToolCall) (raw json.RawMessage, says string) {
	s := b.schemas[call.Name]
	if s == nil {
		names := make([]string, 0, len(b.order))
		for _, t := range b.order {
			names = append(names, t.Name)
		}
		return nil, fmt.Sprintf("There is no tool of this name. You have: %s.", strings.Join(names, ", "))
	}
	text := strings.TrimSpace(call.Input)
	if text == "" {
		text = "{}"
	}
	raw, _, faults := s.Coerce(json.RawMessage(text))
	if len(faults) == 0 {
		_, faults = s.Check(raw)
	}
	if len(faults) > 0 {
		return nil, (&InvalidAnswerError{Faults: faults}).Error()
	}
	return oneSpelling(raw), ""
}

// returned is what a model gets of a call: JSON on one line, like all data.
type returned struct {
	Output json.RawMessage `json:"output,omitempty"`
	// NotDone is the outcome when it is not CallDone.
	NotDone   Outcome `json:"not_done,omitempty"`
	Says      string  `json:"says,omitempty"`
	CallsLeft int     `json:"calls_left"`
}

func (r returned) text() string {
	raw, err := json.Marshal(r)
	if err != nil { // only an output that is no JSON
		return spelled(map[string]any{"not_done": CallFailed, "says": "The output was not usable.", "calls_left": r.CallsLeft})
	}
	v, err := decodedData(raw)
	if err != nil {
		return spelled(map[string]any{"not_done": CallFailed, "says": "The output was not usable.", "calls_left": r.CallsLeft})
	}
	return spelled(v)
}

// identical is how often the same call may give the same before it is a stall.
const identical = 2

// stalled tells whether a call was made before, as often as it takes, and gave
// the same each time.
func stalled(made []Made, worker string, input json.RawMessage) bool {
	var answers []string
	for _, m := range made {
		if m.Worker == worker && m.input == string(input) {
			answers = append(answers, m.answer)
		}
	}
	return len(answers) >= identical && len(slices.Compact(answers[len(answers)-identical:])) == 1
}

// Made is a tool call that was made.
type Made struct {
	Worker  string
	Outcome Outcome
	// Says is why it was not done.
	Says string

	input, answer string
}

// String says it for a log or a record: without the call's data.
func (m Made) String() string {
	if m.Says == "" {
		return fmt.Sprintf("Called %s: %s.", m.Worker, m.Outcome)
	}
	return fmt.Sprintf("Called %s: %s: %s", m.Worker, m.Outcome, m.Says)
}

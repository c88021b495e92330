package worker

import (
	"context"
	"encoding/json"

	"github.com/outerloop-dev/outerloop/pkg/gate"
)

// Task is one admitted attempt at a step: the gate's envelope with the input
// decoded. All that a worker may use is here (R20). It is valid until the
// worker's function returns.
type Task[In any] struct {
	// Task is the envelope: run, step, attempt, charter, facts, feedback,
	// deadline, and the input as JSON (Task.Task.Input).
	gate.Task
	// Input is the decoded input.
	Input In

	attempt *attempt
}

// Connection gives a connection that the runtime configured for this worker,
// by the name that the charter's `tools` use. An unknown name is a fatal error.
func (t Task[In]) Connection(name string) (Connection, error) {
	return t.attempt.inv.Env.connection(name)
}

// File opens an input that is kept as a file, by the name of its property at
// the top of the input. The caller closes it. A property without a file is a
// missing_input error, an unreadable one transient.
func (t Task[In]) File(ctx context.Context, property string) (File, error) {
	ref := t.Files[property]
	if ref == "" {
		var fields map[string]json.RawMessage
		if json.Unmarshal(t.Task.Input, &fields) == nil {
			_ = json.Unmarshal(fields[property], &ref)
		}
	}
	return t.attempt.inv.Env.open(ctx, property, ref)
}

// Do makes a business action: it claims the action at the gate, calls, and
// hands the outcome over with the work. payload is what the call will send
// (its JSON identifies the action together with its key), call sends it.
//
// What is promised: an action that was done before gives its recorded result
// and call does not run; call runs only while this attempt owns the step and
// before the action's time limit, and its context ends before that limit. An
// outcome that is unknown (call returned an error that does not say the effect
// is impossible) is never repeated blindly: the action's declared rule decides.
// What is not: a provider that acts after the time limit, or ignores its key,
// can still do it twice.
//
// Errors: whatever call returned; Transient when the action is being executed
// by another attempt or the time is up; the gate's class when it refuses
// (conflict, refused, …). Return them from the worker's function as they are.
func (t Task[In]) Do(ctx context.Context, action string, payload any, call ActionFunc) (Done, error) {
	return t.attempt.do(ctx, action, payload, call)
}

// Result is what a worker hands over. Only Output is required; with an error,
// only Tokens and Cost are used.
type Result[Out any] struct {
	Output Out
	// Confidence and its Reason: how sure the worker is; empty: it does not say.
	Confidence Confidence
	Reason     string
	// Evidence ties the output's claims to sources of the run.
	Evidence []Evidence
	// Decisions are what the worker decided, and by which rule.
	Decisions []string
	// Unresolved are questions for the step's owner.
	Unresolved []string
	Tokens     Tokens
	// Cost is in micro-units of the budget's currency.
	Cost int64
}

func (r Result[Out]) wire() gate.Result {
	return gate.Result{
		Confidence: r.Confidence, Reason: r.Reason, Evidence: r.Evidence, Decisions: r.Decisions,
		Unresolved: r.Unresolved, Tokens: r.Tokens, Cost: r.Cost,
	}
}

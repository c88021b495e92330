package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/gate"
)

// Func is a worker's work. It may be called more than once for the same step
// (delivery is at least once), so whatever must not happen twice belongs into
// Task.Do. It must return soon after ctx ends.
type Func[In, Out any] func(ctx context.Context, t Task[In]) (Result[Out], error)

// Worker is a named function with its types erased to JSON. It is immutable
// and safe for concurrent use. The zero Worker has no name and cannot run.
type Worker struct {
	name     string
	contract int
	run      func(ctx context.Context, a *attempt) (gate.Result, error)
	check    CheckFunc
	verify   VerifyFunc
}

// Option adds an ability to a worker.
type Option func(*Worker)

// New makes a worker of a function. The contract is the charter's contract
// number that this code speaks; the gate compares them at admit. It panics
// when name or function is missing or the contract is not positive, since that
// is a mistake in the program.
func New[In, Out any](name string, contract int, fn Func[In, Out], options ...Option) Worker {
	if name == "" || contract < 1 || fn == nil {
		panic(fmt.Sprintf("worker.New: name %q and contract %d (from 1) and a function are needed", name, contract))
	}
	w := Worker{name: name, contract: contract, run: erase(fn)}
	for _, option := range options {
		option(&w)
	}
	return w
}

// Name is the worker's name, as its charter gives it.
func (w Worker) Name() string { return w.name }

// Contract is the charter contract that the code speaks.
func (w Worker) Contract() int { return w.contract }

// OrModel gives a worker whose work a language model does where the run has
// chosen one for it, and its own code elsewhere. Name, contract, checks and
// verifier stay; asks is the worker that asks the model a task brings.
func (w Worker) OrModel(asks Worker) Worker {
	own := w.run
	w.run = func(ctx context.Context, a *attempt) (gate.Result, error) {
		if a.task.Agent != nil && asks.run != nil {
			return asks.run(ctx, a)
		}
		return own(ctx, a)
	}
	return w
}

// erase puts JSON on both sides of a typed function.
func erase[In, Out any](fn Func[In, Out]) func(context.Context, *attempt) (gate.Result, error) {
	return func(ctx context.Context, a *attempt) (gate.Result, error) {
		t := Task[In]{Task: a.task, attempt: a}
		if err := json.Unmarshal(a.task.Input, &t.Input); err != nil {
			return gate.Result{}, MissingInput("decoding the input: %w", err)
		}
		res, err := fn(ctx, t)
		out := res.wire()
		if err != nil {
			return out, err
		}
		if out.Output, err = json.Marshal(res.Output); err != nil {
			return out, InvalidOutput("encoding the output: %w", err)
		}
		return out, nil
	}
}

// CheckInput is a file that is about to become the input of a run.
type CheckInput struct {
	// Property is the property of the worker's input that the file fills.
	Property string
	// Name is the file's name as the user gave it, for messages.
	Name string
	// File is open for the duration of the call.
	File File
}

// CheckFunc looks at an input file before a run exists. Its error is shown to
// the user as it is, so it says what is wrong and what to give instead. It
// must bound what it reads into memory.
type CheckFunc func(ctx context.Context, in CheckInput) error

// WithCheck adds a check of input files. Without one every file is accepted.
func WithCheck(check CheckFunc) Option { return func(w *Worker) { w.check = check } }

// HasCheck tells whether the worker looks at input files before a run.
func (w Worker) HasCheck() bool { return w.check != nil }

// Check looks at an input file; a worker without a check accepts every file.
func (w Worker) Check(ctx context.Context, in CheckInput) error {
	if w.check == nil {
		return nil
	}
	return w.check(ctx, in)
}

// VerifyRequest asks what became of an action whose outcome is unknown.
type VerifyRequest struct {
	Action string
	// Entry is the action log entry, KEY:ACTION.
	Entry string
	// ProviderKey is the idempotency key that every call of the entry carries.
	ProviderKey string
	// Payload is what the call sent.
	Payload json.RawMessage
	// Task is the task of the attempt that asks.
	Task gate.Task

	env Env
}

// Connection gives a configured connection by name, as Task.Connection does.
func (r VerifyRequest) Connection(name string) (Connection, error) { return r.env.connection(name) }

// Finding is what a verifier can say.
type Finding string

// The findings. Anything but Found and NotFound leaves the outcome unknown.
const (
	// Found: the effect exists; the verifier gives the action's result.
	Found Finding = "found"
	// NotFound: the effect does not exist and will not come into being.
	NotFound Finding = "not_found"
	// Unsure: the provider cannot tell (yet).
	Unsure Finding = "unsure"
)

// Verification is a verifier's answer. Result is the action's result when the
// effect was found, the same that the call would have given.
type Verification struct {
	Finding Finding
	Result  any
}

// VerifyFunc asks the provider about an action of unknown outcome. It is
// called after the action's time limit and grace; its answer must be
// conclusive, or Unsure. It must not cause the effect.
type VerifyFunc func(ctx context.Context, req VerifyRequest) (Verification, error)

// WithVerify adds the verifier of the worker's actions. An action whose
// charter says `unknown: verify` needs it.
func WithVerify(verify VerifyFunc) Option { return func(w *Worker) { w.verify = verify } }

// HasVerify tells whether the worker can verify its actions.
func (w Worker) HasVerify() bool { return w.verify != nil }

// errNoWorker says that Handle was given the zero Worker.
var errNoWorker = errors.New("invocation has no worker")

// The words of the wire types, so that a worker's author needs one import.
type (
	// Evidence ties a claim of the output to a source of the run.
	Evidence = gate.Evidence
	// Tokens is a model's reported usage.
	Tokens = gate.Tokens
	// Feedback is why earlier work was not accepted.
	Feedback = gate.Feedback
	// Confidence is how sure a worker is of its output.
	Confidence = outerloop.Confidence
)

// The levels of confidence.
const (
	High   = outerloop.ConfidenceHigh
	Medium = outerloop.ConfidenceMedium
	Low    = outerloop.ConfidenceLow
)

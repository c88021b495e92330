// Package bridge is the worker behind every charter whose work is done
// elsewhere, in whatever language (R71): by an HTTPS endpoint, an existing
// Lambda function, or a program of this machine. It goes through the same gate
// as workers in Go: what is admitted, limited, approved, counted and recorded is
// so for a bridged worker too.
//
// The other side is sent the step's input and answers the output, or, with
// `payload: task`, gets a Document and answers an Answer. Beside the body come
// facts about the work (About): as headers over HTTP, as the client context of
// an invocation, as the environment of a program.
//
// Where the step has a business action, the call is the action: it is claimed at
// the gate before it is made, and its idempotency key is the same for every try.
// A call whose outcome is unknown is not made again; the action's declared rule
// decides. With `unknown: verify` the other side must take `payload: task`, and
// is asked with "do": "verify".
package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/outerloop-dev/outerloop/pkg/gate"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// Task is what the worker is given; its input is any JSON.
type Task = worker.Task[json.RawMessage]

// Request is one call.
type Request struct {
	Target
	// Secret is the connection's; empty: none.
	Secret string
	Body   []byte
	About  About
}

// Caller makes calls of one kind. Its errors are worker's classed errors; one
// made by worker.NotDone, Refused or RateLimited says that the other side
// certainly has done nothing. It bounds what it reads.
type Caller interface {
	Call(ctx context.Context, req Request) ([]byte, error)
}

// Callers are the ways out by kind. A kind without one is refused.
type Callers map[string]Caller

// MaxAnswer bounds what is read of an answer, in bytes: what a gate takes.
const MaxAnswer = 4 << 20

// New makes the worker of a charter, whose contract number it states.
func New(charter string, contract int, callers Callers) worker.Worker {
	return worker.New(charter, max(contract, 1), callers.work, worker.WithVerify(callers.verify))
}

func (c Callers) caller(kind string) (Caller, error) {
	if caller := c[kind]; caller != nil {
		return caller, nil
	}
	return nil, worker.Fatal("workers of kind %s cannot be called from here", kind)
}

// work does one attempt.
func (c Callers) work(ctx context.Context, t Task) (worker.Result[json.RawMessage], error) {
	none := worker.Result[json.RawMessage]{}
	to, err := targetOf(t.Charter)
	if err != nil {
		return none, err
	}
	call, err := c.prepare(ctx, t, to)
	if err != nil {
		return none, err
	}
	if t.Action == "" {
		answer, err := call.make(ctx, nil)
		return answer.result(), err
	}
	// The input is what the action's content is known by.
	done, err := t.Do(ctx, t.Action, t.Task.Input, func(ctx context.Context, a worker.Action) (any, error) {
		return call.make(ctx, &a)
	})
	if err != nil {
		return none, err
	}
	var answer Answer
	err = done.Decode(&answer)
	return answer.result(), err
}

// call is a call that is ready to be made.
type call struct {
	caller   Caller
	to       Target
	secret   string
	document Document
	task     gate.Task
}

// prepare reads what a task's call needs.
func (c Callers) prepare(ctx context.Context, t Task, to Target) (call, error) {
	made := call{to: to, task: t.Task}
	var err error
	if made.caller, err = c.caller(to.Kind); err != nil {
		return made, err
	}
	if to.Connection != "" {
		conn, err := t.Connection(to.Connection)
		if err != nil {
			return made, err
		}
		made.secret = conn.Setting("secret", "")
	}
	switch {
	case to.Task:
		made.document = documentOf(t.Task)
		made.document.Files, err = files(ctx, t)
	case len(t.Files) > 0:
		err = worker.Fatal("the input of %s has files, which only go along with `payload: task`", t.Worker)
	}
	return made, err
}

// make makes the call; of an action where one is given.
func (c call) make(ctx context.Context, action *worker.Action) (Answer, error) {
	req := Request{Target: c.to, Secret: c.secret, Body: c.task.Input, About: aboutOf(c.task)}
	if action != nil {
		req.About.Action, req.About.Key = action.Name, action.ProviderKey
	}
	if c.to.Task {
		c.document.act(action)
		var err error
		if req.Body, err = json.Marshal(c.document); err != nil {
			return Answer{}, worker.NotDone(worker.Fatal("writing the task: %w", err))
		}
	}
	raw, err := c.caller.Call(ctx, req)
	if err != nil {
		return Answer{}, err
	}
	return read(raw, c.to.Task)
}

// verify asks the other side what became of an action.
func (c Callers) verify(ctx context.Context, v worker.VerifyRequest) (worker.Verification, error) {
	unsure := worker.Verification{Finding: worker.Unsure}
	to, err := targetOf(v.Task.Charter)
	if err != nil {
		return unsure, err
	}
	if !to.Task {
		return unsure, worker.Fatal("%s cannot be asked what became of %s: its charter needs `payload: task`", v.Task.Worker, v.Entry)
	}
	caller, err := c.caller(to.Kind)
	if err != nil {
		return unsure, err
	}
	req := Request{Target: to, About: aboutOf(v.Task)}
	req.About.Action, req.About.Key = v.Action, v.ProviderKey
	if to.Connection != "" {
		conn, err := v.Connection(to.Connection)
		if err != nil {
			return unsure, err
		}
		req.Secret = conn.Setting("secret", "")
	}
	document := documentOf(v.Task)
	document.Do, document.Action = doVerify, &ActionDocument{Name: v.Action, Entry: v.Entry, Key: v.ProviderKey}
	if req.Body, err = json.Marshal(document); err != nil {
		return unsure, worker.Fatal("writing the question: %w", err)
	}
	raw, err := caller.Call(ctx, req)
	if err != nil {
		return unsure, err
	}
	return readFinding(raw)
}

// readFinding reads {"finding": …}, and beside found the Answer that the call
// would have had.
func readFinding(raw []byte) (worker.Verification, error) {
	var said struct {
		Finding worker.Finding  `json:"finding"`
		Answer  json.RawMessage `json:"answer"`
	}
	if err := json.Unmarshal(raw, &said); err != nil {
		return worker.Verification{Finding: worker.Unsure}, worker.ToolFailed("reading what became of the action: %w", err)
	}
	switch said.Finding {
	case worker.NotFound, worker.Unsure:
		return worker.Verification{Finding: said.Finding}, nil
	case worker.Found:
		answer, err := read(said.Answer, true)
		if err != nil {
			return worker.Verification{Finding: worker.Unsure}, fmt.Errorf("the action was found, but not its answer: %w", err)
		}
		return worker.Verification{Finding: worker.Found, Result: answer}, nil
	}
	return worker.Verification{Finding: worker.Unsure}, worker.ToolFailed("asked what became of the action, it says %q: found, not_found or unsure is known", said.Finding)
}

var errNoOutput = errors.New("it has neither output nor failure")

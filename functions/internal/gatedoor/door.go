// Package gatedoor is the function of one worker's gate: it takes the worker's
// calls, has the coordinator decide them, and gives an admitted task what its
// charter and input name. Which worker calls is the function's configuration,
// never the request: each gate is a function of its own, and only its worker
// may invoke it.
package gatedoor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"

	"github.com/outerloop-dev/outerloop/functions/internal/core"
	"github.com/outerloop-dev/outerloop/functions/internal/gatewire"
	"github.com/outerloop-dev/outerloop/pkg/gate"
	"github.com/outerloop-dev/outerloop/pkg/loop"
)

// Signer gives addresses in the bucket that are good for one attempt.
type Signer interface {
	// Fetch signs the address of a blob's content.
	Fetch(ctx context.Context, ref string) (gatewire.Fetch, error)
}

// Config is what a door is made of; all but Log is required.
type Config struct {
	// Worker is whose gate it is.
	Worker string
	// Gate is that worker's.
	Gate gate.Gate
	// Definition is what a run has pinned.
	Definition func(ctx context.Context, run string) (*loop.Definition, error)
	// Keep stores an answer that is too large for an invocation.
	Keep   func(ctx context.Context, content []byte) (ref string, err error)
	Signer Signer
	Log    *slog.Logger
}

// Door serves a gate's calls.
type Door struct{ cfg Config }

// New makes a door.
func New(cfg Config) *Door {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	return &Door{cfg}
}

// Handle serves one call. An error of the call is part of the answer: the
// worker asks again with the same nonce.
func (d *Door) Handle(ctx context.Context, event json.RawMessage) (any, error) {
	var req gatewire.Request
	if err := json.Unmarshal(event, &req); err != nil {
		return failed("malformed", fmt.Errorf("reading the call: %w", err)), nil //nolint:nilerr // it is the answer
	}
	serve, known := calls[req.Call]
	if !known {
		return failed("malformed", fmt.Errorf("there is no call %q", req.Call)), nil
	}
	answer, err := serve(ctx, d, req.Request)
	if err != nil {
		d.cfg.Log.WarnContext(ctx, "the gate gave no answer", "call", req.Call, "worker", d.cfg.Worker, "error", err)
		return failed("unavailable", err), nil
	}
	return answer, nil
}

func failed(name string, err error) gatewire.Answer {
	return gatewire.Answer{Error: &gatewire.Error{Name: name, Message: err.Error()}}
}

// calls are what a gate answers.
var calls = map[string]func(context.Context, *Door, json.RawMessage) (gatewire.Answer, error){
	gatewire.Admit: call((*Door).admit),
	gatewire.Begin: call(func(d *Door, ctx context.Context, req gate.BeginRequest) (gate.BeginAnswer, *gatewire.Surroundings, error) {
		answer, err := d.cfg.Gate.Begin(ctx, req)
		return answer, nil, err
	}),
	gatewire.Report: call(func(d *Door, ctx context.Context, req gate.ReportRequest) (gate.ReportAnswer, *gatewire.Surroundings, error) {
		answer, err := d.cfg.Gate.Report(ctx, req)
		return answer, nil, err
	}),
	gatewire.Settle: call(func(d *Door, ctx context.Context, req gate.SettleRequest) (gate.SettleAnswer, *gatewire.Surroundings, error) {
		answer, err := d.cfg.Gate.Settle(ctx, req)
		return answer, nil, err
	}),
	gatewire.Heartbeat: call(func(d *Door, ctx context.Context, req gate.HeartbeatRequest) (gate.HeartbeatAnswer, *gatewire.Surroundings, error) {
		answer, err := d.cfg.Gate.Heartbeat(ctx, req)
		return answer, nil, err
	}),
	gatewire.ToolCall: call((*Door).call),
}

type serving[Req, Ans any] func(*Door, context.Context, Req) (Ans, *gatewire.Surroundings, error)

// call puts the wire on both sides of a call.
func call[Req, Ans any](do serving[Req, Ans]) func(context.Context, *Door, json.RawMessage) (gatewire.Answer, error) {
	return func(ctx context.Context, d *Door, raw json.RawMessage) (gatewire.Answer, error) {
		var req Req
		if err := json.Unmarshal(raw, &req); err != nil {
			return gatewire.Answer{}, fmt.Errorf("reading the request: %w", err)
		}
		answer, with, err := do(d, ctx, req)
		if err != nil {
			return gatewire.Answer{}, err
		}
		text, err := json.Marshal(answer)
		if err != nil {
			return gatewire.Answer{}, err
		}
		return d.fit(ctx, gatewire.Answer{Answer: text, With: with})
	}
}

// room is what the envelope of an answer may take of the limit.
const room = 200_000

// fit lets an answer over the limit be fetched from the bucket.
func (d *Door) fit(ctx context.Context, answer gatewire.Answer) (gatewire.Answer, error) {
	if len(answer.Answer) <= gatewire.MaxPayload-room {
		return answer, nil
	}
	ref, err := d.cfg.Keep(ctx, answer.Answer)
	if err != nil {
		return answer, fmt.Errorf("keeping an answer of %d bytes: %w", len(answer.Answer), err)
	}
	at, err := d.cfg.Signer.Fetch(ctx, ref)
	answer.Answer, answer.AnswerAt = nil, &at
	return answer, err
}

func (d *Door) admit(ctx context.Context, req gate.AdmitRequest) (gate.AdmitAnswer, *gatewire.Surroundings, error) {
	answer, err := d.cfg.Gate.Admit(ctx, req)
	if err != nil || answer.Decision != gate.Go || answer.Task == nil {
		return answer, nil, err
	}
	with, err := d.surroundings(ctx, answer.Task)
	return answer, with, err
}

// surroundings are the files of a task and the connections of its charter's tools.
func (d *Door) surroundings(ctx context.Context, task *gate.Task) (*gatewire.Surroundings, error) {
	def, err := d.cfg.Definition(ctx, task.Run)
	if err != nil {
		return nil, fmt.Errorf("reading what %s may use: %w", task.Worker, err)
	}
	with := core.Surroundings(def, d.cfg.Worker)
	for _, ref := range task.Files {
		at, err := d.cfg.Signer.Fetch(ctx, ref)
		if err != nil {
			return nil, fmt.Errorf("signing the address of %s: %w", ref, err)
		}
		with.Files = append(with.Files, at)
	}
	return with, nil
}

func (d *Door) call(ctx context.Context, req gate.CallRequest) (gate.CallAnswer, *gatewire.Surroundings, error) {
	caller, ok := d.cfg.Gate.(gate.Caller)
	if !ok {
		return gate.CallAnswer{}, nil, errors.New("this gate makes no tool calls")
	}
	answer, err := caller.Call(ctx, req)
	return answer, nil, err
}

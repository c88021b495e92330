// Package lambdawork is a worker's function on AWS: its gate and its tools are
// functions that it invokes, its files and connections come with what the gate
// admits, and its messages' visibility is changed in SQS. It has no way to the
// table and links nothing that validates.
package lambdawork

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/functions/internal/gatewire"
	"github.com/outerloop-dev/outerloop/pkg/gate"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// Invoker is what is called of *lambda.Client.
type Invoker interface {
	Invoke(context.Context, *lambda.InvokeInput, ...func(*lambda.Options)) (*lambda.InvokeOutput, error)
}

// Gate is a worker's gate behind a function. A call without an answer is of
// unknown outcome: whoever made it repeats it with the same nonce.
type Gate struct {
	Client Invoker
	// Function is the gate's name or ARN.
	Function string
	// Get fetches an answer that was too large for an invocation.
	Get func(ctx context.Context, at gatewire.Fetch) ([]byte, error)
	// Took is told what an admitted task may use, before admit answers.
	Took  func(ctx context.Context, with gatewire.Surroundings)
	Clock worker.Clock
}

var (
	_ gate.Gate   = (*Gate)(nil)
	_ gate.Caller = (*Gate)(nil)
)

// admitPatience bounds how long a throttled admit is repeated: a message that
// cannot be admitted is better off in its queue than in a function that waits
// for another one. The other calls have work to lose.
const (
	admitPatience = 5 * time.Second
	patience      = 60 * time.Second
	// oneTry bounds one invocation: a gate's function ends before that.
	oneTry = 40 * time.Second
)

// Admit asks whether the delivery may run.
func (g *Gate) Admit(ctx context.Context, req gate.AdmitRequest) (gate.AdmitAnswer, error) {
	var out gate.AdmitAnswer
	with, err := g.ask(ctx, asked{gatewire.Admit, req, &out, admitPatience})
	if err == nil && g.Took != nil && out.Decision == gate.Go {
		if with == nil {
			with = &gatewire.Surroundings{}
		}
		g.Took(ctx, *with)
	}
	return out, err
}

// Begin claims an action.
func (g *Gate) Begin(ctx context.Context, req gate.BeginRequest) (gate.BeginAnswer, error) {
	var out gate.BeginAnswer
	_, err := g.ask(ctx, asked{gatewire.Begin, req, &out, patience})
	return out, err
}

// Report records an action's outcome.
func (g *Gate) Report(ctx context.Context, req gate.ReportRequest) (gate.ReportAnswer, error) {
	var out gate.ReportAnswer
	_, err := g.ask(ctx, asked{gatewire.Report, req, &out, patience})
	return out, err
}

// Settle hands over the work. A result that an invocation cannot carry becomes
// a failure of the step that says so: no further try could hand it over.
func (g *Gate) Settle(ctx context.Context, req gate.SettleRequest) (gate.SettleAnswer, error) {
	var out gate.SettleAnswer
	_, err := g.ask(ctx, asked{gatewire.Settle, req, &out, patience})
	if errors.Is(err, gatewire.ErrTooLarge) && req.Result != nil {
		req.Failure = &gate.Failure{
			Class: outerloop.ClassFatal, Tokens: req.Result.Tokens, Cost: req.Result.Cost,
			Message: fmt.Sprintf("%v: write what is large to a connection and hand over where it is", err),
		}
		req.Result = nil
		_, err = g.ask(ctx, asked{gatewire.Settle, req, &out, patience})
	}
	return out, err
}

// Heartbeat extends the lease.
func (g *Gate) Heartbeat(ctx context.Context, req gate.HeartbeatRequest) (gate.HeartbeatAnswer, error) {
	var out gate.HeartbeatAnswer
	_, err := g.ask(ctx, asked{gatewire.Heartbeat, req, &out, admitPatience})
	return out, err
}

// Call makes a tool call.
func (g *Gate) Call(ctx context.Context, req gate.CallRequest) (gate.CallAnswer, error) {
	var out gate.CallAnswer
	_, err := g.ask(ctx, asked{gatewire.ToolCall, req, &out, patience})
	return out, err
}

// asked is one call: its name, request, where the answer goes, and how long it
// is repeated while the gate is throttled.
type asked struct {
	call     string
	request  any
	answer   any
	patience time.Duration
}

func (g *Gate) ask(ctx context.Context, a asked) (*gatewire.Surroundings, error) {
	request, err := json.Marshal(a.request)
	if err != nil {
		return nil, fmt.Errorf("encoding %s: %w", a.call, err)
	}
	payload, err := json.Marshal(gatewire.Request{Call: a.call, Request: request})
	if err != nil {
		return nil, fmt.Errorf("encoding %s: %w", a.call, err)
	}
	if len(payload) > gatewire.MaxPayload {
		return nil, fmt.Errorf("%w: %s has %d bytes, at most %d pass the gate", gatewire.ErrTooLarge, a.call, len(payload), gatewire.MaxPayload)
	}
	raw, err := g.invoke(ctx, payload, a.patience)
	if err != nil {
		return nil, fmt.Errorf("asking the gate to %s: %w", a.call, err)
	}
	return g.read(ctx, a, raw)
}

func (g *Gate) read(ctx context.Context, a asked, raw []byte) (*gatewire.Surroundings, error) {
	var answer gatewire.Answer
	if err := json.Unmarshal(raw, &answer); err != nil {
		return nil, fmt.Errorf("reading the gate's answer to %s: %w", a.call, err)
	}
	if answer.Error != nil {
		return nil, fmt.Errorf("asking the gate to %s: %w", a.call, answer.Error)
	}
	if answer.AnswerAt != nil {
		content, err := g.Get(ctx, *answer.AnswerAt)
		if err != nil {
			return nil, fmt.Errorf("fetching the gate's answer to %s: %w", a.call, err)
		}
		answer.Answer = content
	}
	if len(answer.Answer) == 0 {
		return nil, fmt.Errorf("the gate's answer to %s is empty", a.call)
	}
	if err := json.Unmarshal(answer.Answer, a.answer); err != nil {
		return nil, fmt.Errorf("reading the gate's answer to %s: %w", a.call, err)
	}
	return answer.With, nil
}

const (
	firstPause   = 100 * time.Millisecond
	longestPause = 3 * time.Second
)

// invoke repeats what was throttled, with full jitter, within its patience and
// the context's deadline: a throttled invocation has certainly not happened.
func (g *Gate) invoke(ctx context.Context, payload []byte, patience time.Duration) ([]byte, error) {
	end := g.Clock.Now().Add(patience)
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		out, err := g.once(ctx, payload)
		if err == nil || !throttled(err) {
			return out, err
		}
		wait := rand.N(pause) + pause/10
		if g.Clock.Now().Add(wait).After(end) {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%w (%w)", err, context.Cause(ctx))
		case <-g.Clock.After(wait):
		}
	}
}

func (g *Gate) once(ctx context.Context, payload []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, oneTry)
	defer cancel()
	out, err := g.Client.Invoke(ctx, &lambda.InvokeInput{FunctionName: &g.Function, Payload: payload})
	if err != nil {
		return nil, err
	}
	if out.FunctionError != nil {
		return nil, gatewire.FunctionError(out.Payload)
	}
	return out.Payload, nil
}

func throttled(err error) bool {
	var many *types.TooManyRequestsException
	return errors.As(err, &many)
}

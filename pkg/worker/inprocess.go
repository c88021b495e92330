package worker

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/outerloop-dev/outerloop/pkg/gate"
)

// InProcess is a gate in the same process, reached as over the network: every
// request and answer goes through JSON, so that nothing is shared and what
// does not survive encoding shows at once.
func InProcess(g gate.Gate) gate.Gate { return inProcess{g} }

type inProcess struct{ gate gate.Gate }

func overJSON[Req, Ans any](ctx context.Context, req Req, call func(context.Context, Req) (Ans, error)) (out Ans, err error) {
	sent, err := copied(req)
	if err != nil {
		return out, fmt.Errorf("encoding a gate request: %w", err)
	}
	answer, err := call(ctx, sent)
	if err != nil {
		return out, err
	}
	if out, err = copied(answer); err != nil {
		return out, fmt.Errorf("encoding a gate answer: %w", err)
	}
	return out, nil
}

func copied[T any](value T) (out T, err error) {
	raw, err := json.Marshal(value)
	if err != nil {
		return out, err
	}
	return out, json.Unmarshal(raw, &out)
}

// Admit sends admit.
func (p inProcess) Admit(ctx context.Context, req gate.AdmitRequest) (gate.AdmitAnswer, error) {
	return overJSON(ctx, req, p.gate.Admit)
}

// Begin sends begin.
func (p inProcess) Begin(ctx context.Context, req gate.BeginRequest) (gate.BeginAnswer, error) {
	return overJSON(ctx, req, p.gate.Begin)
}

// Report sends report.
func (p inProcess) Report(ctx context.Context, req gate.ReportRequest) (gate.ReportAnswer, error) {
	return overJSON(ctx, req, p.gate.Report)
}

// Settle sends settle.
func (p inProcess) Settle(ctx context.Context, req gate.SettleRequest) (gate.SettleAnswer, error) {
	return overJSON(ctx, req, p.gate.Settle)
}

// Call sends a tool call; a gate without tool calls gives an error.
func (p inProcess) Call(ctx context.Context, req gate.CallRequest) (gate.CallAnswer, error) {
	caller, ok := p.gate.(gate.Caller)
	if !ok {
		return gate.CallAnswer{}, errNoCalls
	}
	return overJSON(ctx, req, caller.Call)
}

// Heartbeat sends a heartbeat.
func (p inProcess) Heartbeat(ctx context.Context, req gate.HeartbeatRequest) (gate.HeartbeatAnswer, error) {
	return overJSON(ctx, req, p.gate.Heartbeat)
}

package console

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/outerloop-dev/outerloop/pkg/coordinator/remote"
)

// StartBody asks for a run of a loop.
type StartBody = remote.Start

// PersonBody is who acts on a run and why.
type PersonBody struct {
	By     string `json:"by"`
	Reason string `json:"reason"`
}

// DecisionBody is a person's word on a request for approval.
type DecisionBody struct {
	// Verdict is approve or reject.
	Verdict string `json:"verdict"`
	By      string `json:"by"`
	Reason  string `json:"reason"`
	// Edit replaces the content that is approved; absent: as it stands.
	Edit json.RawMessage `json:"edit,omitempty"`
}

// ResolutionBody is a person's answer to an exception.
type ResolutionBody struct {
	// Way is one of the exception's ways.
	Way    string `json:"way"`
	By     string `json:"by"`
	Reason string `json:"reason"`
	// Value is the new input of the step (edit) or its output (substitute).
	Value json.RawMessage `json:"value,omitempty"`
	// Outcome says what became of an action of unknown outcome: done or failed.
	Outcome string `json:"outcome,omitempty"`
}

// forwarding reads a use's body, adds what the address names, and forwards it.
func forwarding(use string) serve {
	return func(a *api, ctx context.Context, r *request) (any, error) {
		body, err := r.use(use)
		if err != nil {
			return nil, err
		}
		return a.do(ctx, use, body)
	}
}

// use is the request of a use as package remote has it.
func (r *request) use(use string) (any, error) {
	switch use {
	case remote.UseStart:
		return body[StartBody](r)
	case remote.UseDecide:
		b, err := body[DecisionBody](r)
		if string(b.Edit) == "null" {
			b.Edit = nil
		}
		return remote.Decide{Approval: r.path["approval"], Verdict: b.Verdict, By: b.By, Reason: b.Reason, Edit: b.Edit}, err
	case remote.UseResolve:
		b, err := body[ResolutionBody](r)
		return remote.Resolve{
			Exception: r.path["exception"], Way: b.Way, By: b.By, Reason: b.Reason, Value: b.Value, Outcome: b.Outcome,
		}, err
	case remote.UseCancel, remote.UseRedrive, remote.UseRollback:
		b, err := body[PersonBody](r)
		return remote.Person{Run: r.path["run"], By: b.By, Reason: b.Reason}, err
	case remote.UsePause, remote.UseResume:
		_, err := body[struct{}](r)
		return remote.Loop{Loop: r.path["loop"]}, err
	case remote.UsePublish:
		return body[remote.Publish](r)
	case remote.UseBlob:
		return body[remote.Blob](r)
	case remote.UseUpload:
		return body[remote.Upload](r)
	case remote.UsePrune:
		return body[remote.Prune](r)
	case remote.UseStage:
		return body[remote.Stage](r)
	case remote.UseDid:
		return body[remote.Did](r)
	}
	return nil, fmt.Errorf("%w: there is no use %q", remote.ErrRequest, use)
}

func body[T any](r *request) (T, error) {
	var out T
	err := r.decode(&out)
	return out, err
}

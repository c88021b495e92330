package console

import (
	"context"
	"encoding/json"

	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/remote"
)

// RunReader reads runs.
type RunReader interface {
	RunsPage(ctx context.Context, q coordinator.RunsQuery) (coordinator.Page[coordinator.RunView], error)
	Find(ctx context.Context, beginning string) ([]string, error)
	Run(ctx context.Context, run string) (coordinator.RunView, error)
	Show(ctx context.Context, run string) (coordinator.ShowView, error)
	Log(ctx context.Context, run string) ([]coordinator.LogView, error)
	Outputs(ctx context.Context, run, step string) ([]coordinator.OutputView, error)
}

// WorkReader reads what waits for people and what was done outside.
type WorkReader interface {
	ApprovalsPage(ctx context.Context, q coordinator.ApprovalsQuery) (coordinator.Page[coordinator.ApprovalView], error)
	Approval(ctx context.Context, id string) (coordinator.ApprovalView, error)
	ExceptionsPage(ctx context.Context, q coordinator.ExceptionsQuery) (coordinator.Page[coordinator.ExceptionView], error)
	Exception(ctx context.Context, id string) (coordinator.ExceptionView, error)
	ActionsPage(ctx context.Context, q coordinator.ActionsQuery) (coordinator.Page[coordinator.ActionView], error)
}

// StateReader reads what runs share.
type StateReader interface {
	Loops(ctx context.Context) ([]coordinator.LoopView, error)
	Budgets(ctx context.Context) ([]coordinator.BudgetView, error)
	Breakers(ctx context.Context) ([]coordinator.BreakerView, error)
	Fact(ctx context.Context, name string) (coordinator.FactView, error)
	LastBeat(ctx context.Context) (coordinator.BeatView, error)
}

// TrustReader reads how far workers are trusted, and what they only proposed.
type TrustReader interface {
	Trusted(ctx context.Context, worker string) ([]coordinator.AutonomyView, error)
	Proposals(ctx context.Context, worker string) ([]coordinator.ProposalView, error)
}

// Readers is all that the API reads. *coordinator.Coordinator is one.
type Readers interface {
	RunReader
	WorkReader
	StateReader
	TrustReader
}

// Forward does what people ask for, elsewhere. remote.Uses is one in process.
// Its errors are those of the coordinator and of package remote; remote.ErrUnknown
// where no answer came.
type Forward interface {
	Do(ctx context.Context, call remote.Call) (json.RawMessage, error)
}

// Config is what the API is made of. Readers is required.
type Config struct {
	Readers Readers
	// Forward does the writes; nil: the API is read-only, and they are refused.
	Forward Forward
	// Project and Version are told to whoever asks for the status.
	Project string
	Version string
}

// StatusView says what answers, and when the watch last went round.
type StatusView struct {
	Project string               `json:"project"`
	Version string               `json:"version,omitempty"`
	Watch   coordinator.BeatView `json:"watch"`
}

// List is one page of a list on the wire.
type List[T any] struct {
	Items []T `json:"items"`
	// Next is the "after" of the following page; absent on the last one.
	Next string `json:"next,omitempty"`
}

// RunDocument is a run with its steps, or the first page of them: Next is then
// the "after" of the next page of GET /v1/runs/{run}/steps.
type RunDocument struct {
	coordinator.ShowView
	Next string `json:"next,omitempty"`
}

// ErrorDocument is the body of every answer that is no success.
type ErrorDocument struct {
	Error *remote.Error `json:"error"`
}

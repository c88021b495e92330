package cli

import (
	"context"
	"errors"

	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/local"
)

// reader is what commands that look read of the shared state.
type reader interface {
	Runs(ctx context.Context, q coordinator.RunsQuery) ([]coordinator.RunView, error)
	Show(ctx context.Context, run string) (coordinator.ShowView, error)
	Log(ctx context.Context, run string) ([]coordinator.LogView, error)
	Approvals(ctx context.Context, q coordinator.ApprovalsQuery) ([]coordinator.ApprovalView, error)
	Exceptions(ctx context.Context, q coordinator.ExceptionsQuery) ([]coordinator.ExceptionView, error)
	Actions(ctx context.Context, q coordinator.ActionsQuery) ([]coordinator.ActionView, error)
}

// reading lets f read the state file as it is on the disk, beside whoever owns
// it; nothing is created or changed. Error: local.ErrNoState.
func (a *app) reading(ctx context.Context, f func(reader) error) error {
	return a.readingFile(ctx, func(r *local.Reader) error { return f(r.Coordinator()) })
}

func (a *app) readingFile(ctx context.Context, f func(*local.Reader) error) error {
	r, err := local.OpenReader(ctx, a.stateFile())
	if err != nil {
		return err
	}
	return also(f(r), r.Close())
}

// fact reads a fact; its value is nil where it was never written.
func (a *app) fact(ctx context.Context, name string) (fact local.Fact, err error) {
	err = a.readingFile(ctx, func(r *local.Reader) error {
		fact, err = r.Fact(ctx, name)
		return err
	})
	if errors.Is(err, local.ErrNoState) {
		return local.Fact{}, nil
	}
	return fact, err
}

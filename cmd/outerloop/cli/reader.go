package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/local"
)

// runReader reads runs.
type runReader interface {
	Runs(ctx context.Context, q coordinator.RunsQuery) ([]coordinator.RunView, error)
	Find(ctx context.Context, beginning string) ([]string, error)
	Show(ctx context.Context, run string) (coordinator.ShowView, error)
	Log(ctx context.Context, run string) ([]coordinator.LogView, error)
	Outputs(ctx context.Context, run, step string) ([]coordinator.OutputView, error)
}

// workReader reads what waits for people, what was done, and what runs share.
type workReader interface {
	Approvals(ctx context.Context, q coordinator.ApprovalsQuery) ([]coordinator.ApprovalView, error)
	Exceptions(ctx context.Context, q coordinator.ExceptionsQuery) ([]coordinator.ExceptionView, error)
	Actions(ctx context.Context, q coordinator.ActionsQuery) ([]coordinator.ActionView, error)
	Loops(ctx context.Context) ([]coordinator.LoopView, error)
	Breakers(ctx context.Context) ([]coordinator.BreakerView, error)
	Fact(ctx context.Context, name string) (coordinator.FactView, error)
}

// reader is what commands that look read of the shared state, wherever it is.
type reader interface {
	runReader
	workReader
}

// reading lets f read the state file as it is on the disk, beside whoever owns
// it, or a deployment; nothing is created or changed. Error: local.ErrNoState.
func (a *app) reading(ctx context.Context, f func(reader) error) error {
	if a.far() {
		c, err := a.console(ctx)
		if err != nil {
			return err
		}
		return f(c)
	}
	return a.readingFile(ctx, func(r *local.Reader) error { return f(r.Coordinator()) })
}

func (a *app) readingFile(ctx context.Context, f func(*local.Reader) error) error {
	r, err := local.OpenReader(ctx, a.stateFile())
	if err != nil {
		return err
	}
	return also(f(r), r.Close())
}

// revealFlag lets a command show sensitive fields.
func revealFlag(cmd *cobra.Command, reveal *bool) {
	cmd.Flags().BoolVar(reveal, "reveal", false, "also what the project marks sensitive, from a state file of this machine")
}

// revealing lets readers show sensitive fields. A deployment hands them out to
// nobody who asks from outside.
func (a *app) revealing(ctx context.Context, reveal bool) (context.Context, error) {
	switch {
	case !reveal:
		return ctx, nil
	case a.far():
		return ctx, usage("--reveal shows what a state file of this machine holds; a deployment's console answers nobody with sensitive fields",
			"without --reveal everything else is shown; who may read the table or the bucket reads them there")
	}
	return coordinator.Reveal(ctx), nil
}

// fact reads a fact; its value is nil where it was never written.
func (a *app) fact(ctx context.Context, name string) (fact coordinator.FactView, err error) {
	err = a.reading(ctx, func(r reader) error {
		fact, err = r.Fact(ctx, name)
		return err
	})
	if errors.Is(err, local.ErrNoState) || string(fact.Value) == "null" {
		return coordinator.FactView{}, nil
	}
	return fact, err
}

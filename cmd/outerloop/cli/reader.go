package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/local"
	"github.com/outerloop-dev/outerloop/pkg/loop"
	"github.com/outerloop-dev/outerloop/pkg/store"
	"github.com/outerloop-dev/outerloop/pkg/store/sqlitestore"
)

// reader is what commands that look read of the shared state.
type reader interface {
	Runs(ctx context.Context, q coordinator.RunsQuery) ([]coordinator.RunView, error)
	Show(ctx context.Context, run string) (coordinator.ShowView, error)
	Log(ctx context.Context, run string) ([]coordinator.LogView, error)
	Approvals(ctx context.Context, run string) ([]coordinator.ApprovalView, error)
	Exceptions(ctx context.Context, run string) ([]coordinator.ExceptionView, error)
	Actions(ctx context.Context, key string) ([]coordinator.ActionView, error)
}

// reading lets f read the state file as it is on the disk, beside whoever owns
// it; nothing is created or changed. Error: local.ErrNoState.
func (a *app) reading(f func(reader) error) error {
	return a.readingStore(func(db *sqlitestore.Store) error {
		c, err := coordinator.New(coordinator.Config{
			Store: db, Blobs: db, Definitions: onlyReading{}, Executions: onlyReading{}, Tokens: onlyReading{},
			Clock: a.Now, IDs: func() string { return "reader" },
		})
		if err != nil {
			return err
		}
		return f(c)
	})
}

func (a *app) readingStore(f func(*sqlitestore.Store) error) error {
	file := a.stateFile()
	if err := local.State(file); err != nil {
		return err
	}
	db, err := sqlitestore.OpenReadOnly(file)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %s", local.ErrNoState, file)
	}
	if err != nil {
		return fmt.Errorf("reading %s: %w", a.here(file), err)
	}
	return errors.Join(f(db), db.Close())
}

// fact reads a fact's value; nil where it was never written.
func (a *app) fact(ctx context.Context, name string) (json.RawMessage, error) {
	var value json.RawMessage
	err := a.readingStore(func(db *sqlitestore.Store) error {
		items, err := db.Get(ctx, record.FactKey(name))
		if err != nil || items[0] == nil {
			return err
		}
		fact, err := record.DecodeFact(items[0])
		if err != nil {
			return err
		}
		if value = fact.Value.Inline; value == nil && fact.Value.Ref != "" {
			value, err = db.GetBlob(ctx, fact.Value.Ref)
		}
		return err
	})
	if errors.Is(err, local.ErrNoState) {
		return nil, nil
	}
	return value, err
}

// onlyReading are the ports of a coordinator that only reads: whatever would
// move a run is refused.
type onlyReading struct{}

// Definition is not needed to read.
func (onlyReading) Definition(context.Context, string) (*loop.Definition, error) {
	return nil, store.ErrReadOnly
}

// Latest is not needed to read.
func (onlyReading) Latest(context.Context, string) (string, error) { return "", store.ErrReadOnly }

// Start is refused.
func (onlyReading) Start(context.Context, coordinator.Execution) error { return store.ErrReadOnly }

// Stop is refused.
func (onlyReading) Stop(context.Context, string, string, string) error { return store.ErrReadOnly }

// Describe is refused.
func (onlyReading) Describe(context.Context, string) (coordinator.ExecutionState, error) {
	return coordinator.ExecutionState{}, store.ErrReadOnly
}

// Succeed is refused.
func (onlyReading) Succeed(context.Context, string, json.RawMessage) error { return store.ErrReadOnly }

// Fail is refused.
func (onlyReading) Fail(context.Context, string, string, string) error { return store.ErrReadOnly }

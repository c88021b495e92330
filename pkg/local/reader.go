package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/asl"
	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/local/durable"
	"github.com/outerloop-dev/outerloop/pkg/store"
	"github.com/outerloop-dev/outerloop/pkg/store/sqlitestore"
)

// Reader reads a state file, also beside its owner. It changes nothing.
type Reader struct {
	store *sqlitestore.Store
	coord *coordinator.Coordinator
}

// OpenReader opens a state file for reading. loops spare it reading definitions
// that the caller has; none are needed. Error: ErrNoState when there is none.
func OpenReader(_ context.Context, state string, loops ...Loop) (*Reader, error) {
	db, err := sqlitestore.OpenReadOnly(state)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %s", ErrNoState, state)
	}
	if err != nil {
		return nil, err
	}
	coord, err := coordinator.New(coordinator.Config{
		Store: db, Blobs: db, Definitions: newDefinitions(db, loops),
		Executions: noEngine{}, Tokens: noEngine{}, Clock: time.Now, IDs: func() string { return "reader" },
	})
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &Reader{store: db, coord: coord}, nil
}

// Coordinator gives the readers of the coordinator; its other use cases answer
// store.ErrReadOnly.
func (r *Reader) Coordinator() *coordinator.Coordinator { return r.coord }

// Store is the store, for reading.
func (r *Reader) Store() *sqlitestore.Store { return r.store }

// Close closes the file.
func (r *Reader) Close() error { return r.store.Close() }

// Fact is a fact as it was last written: its value and the run that wrote it.
type Fact struct {
	Value json.RawMessage
	Run   string
}

// Fact reads a fact; its value is nil when it was never written.
func (r *Reader) Fact(ctx context.Context, name string) (Fact, error) {
	items, err := r.store.Get(ctx, record.FactKey(name))
	if err != nil {
		return Fact{}, fmt.Errorf("reading fact %s: %w", name, err)
	}
	fact, err := record.DecodeFact(items[0])
	if err != nil || fact == nil {
		return Fact{}, err
	}
	written := Fact{Value: fact.Value.Inline, Run: fact.Run}
	if fact.Value.Ref != "" {
		written.Value, err = r.store.GetBlob(ctx, fact.Value.Ref)
	}
	return written, err
}

// History reads the history of each execution of a run, in the order of its
// generations; children of Maps follow their parent by the child's number. What
// was pruned is left out, and what the project marks sensitive is hidden
// (coordinator.Reveal). Error: durable.ErrAbsent when nothing is there.
func (r *Reader) History(ctx context.Context, run string) ([]ExecutionHistory, error) {
	all, err := r.histories(ctx, run)
	if err != nil {
		return nil, err
	}
	hide, err := r.coord.Hiding(ctx, run)
	if err != nil {
		return nil, fmt.Errorf("hiding what is sensitive in the history: %w", err)
	}
	raw, err := json.Marshal(all)
	if err != nil {
		return nil, err
	}
	if hidden := hide(string(raw)); hidden != string(raw) {
		all = nil
		err = json.Unmarshal([]byte(hidden), &all)
	}
	return all, err
}

func (r *Reader) histories(ctx context.Context, run string) ([]ExecutionHistory, error) {
	var all []ExecutionHistory
	for gen := 1; ; gen++ {
		name := fmt.Sprintf("%s-g%d", run, gen)
		found, err := r.execution(ctx, name)
		if errors.Is(err, durable.ErrAbsent) && gen > 1 {
			return all, nil
		}
		if errors.Is(err, durable.ErrAbsent) {
			later, err := r.store.Get(ctx, record.RunKey(run))
			if err != nil {
				return nil, err
			}
			if known, err := record.DecodeRun(later[0]); err != nil || known == nil || known.Gen < 2 {
				return nil, errors.Join(fmt.Errorf("%w: %s", durable.ErrAbsent, name), err)
			}
			continue
		}
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
}

// ExecutionHistory is what happened in one execution, as
// `aws stepfunctions get-execution-history` prints it.
type ExecutionHistory struct {
	Execution string             `json:"execution"`
	Events    []asl.HistoryEvent `json:"events"`
}

// execution reads an execution's history and, after it, those of its children.
func (r *Reader) execution(ctx context.Context, name string) ([]ExecutionHistory, error) {
	reader := durable.Reader{Store: r.store}
	events, err := reader.History(ctx, name)
	if err != nil {
		return nil, err
	}
	all := []ExecutionHistory{{Execution: name, Events: events}}
	children, err := reader.Children(ctx, name)
	if err != nil {
		return nil, err
	}
	for _, child := range children {
		more, err := r.execution(ctx, child)
		if err != nil {
			return nil, err
		}
		all = append(all, more...)
	}
	return all, nil
}

// noEngine is what a reader has for an engine.
type noEngine struct{}

// Start is refused.
func (noEngine) Start(context.Context, coordinator.Execution) error { return store.ErrReadOnly }

// Stop is refused.
func (noEngine) Stop(context.Context, string, string, string) error { return store.ErrReadOnly }

// Describe knows nothing.
func (noEngine) Describe(context.Context, string) (coordinator.ExecutionState, error) {
	return coordinator.ExecutionState{Status: coordinator.ExecutionAbsent}, nil
}

// Succeed is refused.
func (noEngine) Succeed(context.Context, string, json.RawMessage) error { return store.ErrReadOnly }

// Fail is refused.
func (noEngine) Fail(context.Context, string, string, string) error { return store.ErrReadOnly }

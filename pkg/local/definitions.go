package local

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"sync"

	"github.com/outerloop-dev/outerloop/pkg/asl"
	"github.com/outerloop-dev/outerloop/pkg/compile"
	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/local/durable"
	"github.com/outerloop-dev/outerloop/pkg/loop"
	"github.com/outerloop-dev/outerloop/pkg/project"
	"github.com/outerloop-dev/outerloop/pkg/store"
	"github.com/outerloop-dev/outerloop/pkg/store/sqlitestore"
)

// published is what the state file keeps of a definition under its hash.
type published struct {
	Loop string `json:"loop"`
	// Bundle is the blob that the hash is of, Machine the hash of the machine
	// that new executions run.
	Bundle  string `json:"bundle"`
	Machine string `json:"machine"`
}

func definitionKey(hash string) store.Key { return store.Key{Part: "DEF#" + hash, Sort: "DEF"} }

// definitions are the loops of this process and those that runs in the state
// file have pinned.
type definitions struct {
	store  *sqlitestore.Store
	latest map[string]string
	// broken says by hash why no run can start; it is set before the engine moves.
	broken map[string]*MachineError

	mu   sync.Mutex
	kept map[string]*loop.Definition
}

var _ coordinator.Definitions = (*definitions)(nil)

func newDefinitions(from *sqlitestore.Store, loops []Loop) *definitions {
	d := &definitions{store: from, latest: make(map[string]string), broken: make(map[string]*MachineError), kept: make(map[string]*loop.Definition)}
	for _, l := range loops {
		d.latest[l.Definition.Loop.Name] = l.Definition.Hash
		d.kept[l.Definition.Hash] = l.Definition
	}
	return d
}

// MachineError says what is wrong with a loop's committed machine. It unwraps
// to ErrMachine and to the cause.
type MachineError struct {
	Loop string
	// File is relative to the project's directory.
	File  string
	Cause error
}

// Error names the file and the remedy.
func (e *MachineError) Error() string {
	return fmt.Sprintf("loop %s cannot start: %s is broken: %v (outerloop compile %s writes it anew)", e.Loop, e.File, e.Cause, e.Loop)
}

// Unwrap makes errors.Is(err, ErrMachine) true.
func (e *MachineError) Unwrap() []error { return []error{ErrMachine, e.Cause} }

var errEmpty = errors.New("it is empty")

// publish keeps this process's loops in the state file. A broken machine keeps
// only new runs of its loop from starting: open ones have pinned theirs.
func (e *Engine) publish(ctx context.Context) error {
	for _, l := range e.cfg.Loops {
		err := e.publishLoop(ctx, l)
		var broken *MachineError
		switch {
		case errors.As(err, &broken):
			e.defs.broken[l.Definition.Hash] = broken
			e.cfg.Log.Warn("a loop cannot start", "loop", broken.Loop, "file", broken.File, "error", broken.Cause)
		case err != nil:
			return fmt.Errorf("publishing loop %s: %w", l.Definition.Loop.Name, err)
		}
	}
	return nil
}

// publishMachine keeps a loop's machine. Error: *MachineError when it is broken.
func (e *Engine) publishMachine(ctx context.Context, l Loop) (string, error) {
	name := l.Definition.Loop.Name
	broken := &MachineError{Loop: name, File: path.Join(project.LoopDir, name+".asl.json"), Cause: errEmpty}
	if len(bytes.TrimSpace(l.Machine)) == 0 {
		return "", broken
	}
	machine, err := e.core.Publish(ctx, substitute(l))
	if errors.Is(err, asl.ErrDefinition) || errors.Is(err, durable.ErrResource) {
		broken.Cause = err
		return "", broken
	}
	return machine, err
}

// startable tells whether new runs of a definition can be started: its machine
// is not broken. Error: *MachineError.
func (d *definitions) startable(_ context.Context, hash string) error {
	if broken := d.broken[hash]; broken != nil {
		return broken
	}
	return nil
}

func (e *Engine) publishLoop(ctx context.Context, l Loop) error {
	machine, err := e.publishMachine(ctx, l)
	if err != nil {
		return err
	}
	if err := e.core.Name(ctx, l.Definition.Loop.Name, machine); err != nil {
		return err
	}
	key := definitionKey(l.Definition.Hash)
	have, item, err := e.defs.read(ctx, l.Definition.Hash)
	if err != nil {
		return err
	}
	want := published{Loop: l.Definition.Loop.Name, Bundle: have.Bundle, Machine: machine}
	if have == want {
		return nil
	}
	if want.Bundle, err = e.store.Relaxed().PutBlob(ctx, l.Bundle); err != nil {
		return err
	}
	body, err := json.Marshal(want)
	if err != nil {
		return err
	}
	op := store.Create(store.Item{Key: key, Body: body})
	if item != nil {
		op = store.Replace(store.Item{Key: key, Version: item.Version, Body: body})
	}
	return e.store.Apply(ctx, e.id(), op)
}

// substitute fills in the local names of functions and queues.
func substitute(l Loop) []byte {
	return compile.Substitute(l.Machine, compile.Substitutions(l.Definition), func(t compile.Token) string {
		switch t.Kind {
		case compile.TokenWorker:
			return workerFunction + t.Name
		case compile.TokenQueue:
			return queueURL + t.Name
		case compile.TokenCoordinator:
			return coordinatorFunction
		}
		return t.Text
	})
}

// read gives what the state file has under a hash; the zero value and nil if nothing.
func (d *definitions) read(ctx context.Context, hash string) (published, *store.Item, error) {
	items, err := d.store.Get(ctx, definitionKey(hash))
	if err != nil || items[0] == nil {
		return published{}, nil, err
	}
	var p published
	if err := json.Unmarshal(items[0].Body, &p); err != nil {
		return published{}, nil, fmt.Errorf("reading definition %s: %w", hash, err)
	}
	return p, items[0], nil
}

// Definition is this process's own or read from the state file.
func (d *definitions) Definition(ctx context.Context, hash string) (*loop.Definition, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if def := d.kept[hash]; def != nil {
		return def, nil
	}
	p, item, err := d.read(ctx, hash)
	if err != nil {
		return nil, err
	}
	if item == nil {
		return nil, fmt.Errorf("%w: %s", coordinator.ErrNoDefinition, hash)
	}
	bundle, err := d.store.GetBlob(ctx, p.Bundle)
	if err != nil {
		return nil, fmt.Errorf("reading definition %s: %w", hash, err)
	}
	def, err := project.FromBundle(bundle)
	if err != nil {
		return nil, fmt.Errorf("reading definition %s: %w", hash, err)
	}
	d.kept[hash] = def
	return def, nil
}

// Latest is the definition that new runs of a loop pin.
func (d *definitions) Latest(_ context.Context, name string) (string, error) {
	hash, ok := d.latest[name]
	if !ok {
		return "", fmt.Errorf("%w: %q", coordinator.ErrNoLoop, name)
	}
	return hash, nil
}

// names are the loops that this process can start.
func (d *definitions) names(context.Context) ([]string, error) {
	return slices.Sorted(maps.Keys(d.latest)), nil
}

// machineOf is the hash of the machine that was committed with a definition.
func (e *Engine) machineOf(ctx context.Context, hash string) (string, error) {
	p, item, err := e.defs.read(ctx, hash)
	if err != nil {
		return "", err
	}
	if item == nil {
		return "", fmt.Errorf("%w: %s", coordinator.ErrNoDefinition, hash)
	}
	if p.Machine == "" {
		return e.adopt(ctx, hash)
	}
	return p.Machine, nil
}

// adopt compiles the machine of a definition that came from another store
// without one, and keeps it.
func (e *Engine) adopt(ctx context.Context, hash string) (string, error) {
	def, err := e.defs.Definition(ctx, hash)
	if err != nil {
		return "", err
	}
	text, err := compile.Compile(def)
	if err != nil {
		return "", fmt.Errorf("compiling definition %s: %w", hash, err)
	}
	machine, err := e.core.Publish(ctx, substitute(Loop{Definition: def, Machine: text}))
	if err != nil {
		return "", fmt.Errorf("publishing definition %s: %w", hash, err)
	}
	have, item, err := e.defs.read(ctx, hash)
	if err != nil || item == nil {
		return "", err
	}
	have.Machine = machine
	body, err := json.Marshal(have)
	if err != nil {
		return "", err
	}
	return machine, e.store.Apply(ctx, e.id(), store.Replace(store.Item{Key: item.Key, Version: item.Version, Body: body}))
}

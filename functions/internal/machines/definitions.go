package machines

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/loop"
	"github.com/outerloop-dev/outerloop/pkg/project"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// latestFor is how long the list of the latest definitions is taken as it was
// read: so long after a deployment new runs may still pin the one before.
const latestFor = 10 * time.Second

// Definitions are the published loops. A definition is read and parsed once by
// a process, since its hash never means another one. Safe for concurrent use.
type Definitions struct {
	store store.Store
	blobs store.Blobs
	now   func() time.Time

	mu     sync.Mutex
	kept   map[string]*loop.Definition
	latest map[string]string
	read   time.Time
}

var _ coordinator.Definitions = (*Definitions)(nil)

// NewDefinitions reads from a table.
func NewDefinitions(from store.Store, blobs store.Blobs, now func() time.Time) *Definitions {
	return &Definitions{store: from, blobs: blobs, now: now, kept: map[string]*loop.Definition{}}
}

// Definition reads a definition by its hash. Error: coordinator.ErrNoDefinition.
func (d *Definitions) Definition(ctx context.Context, hash string) (*loop.Definition, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if def := d.kept[hash]; def != nil {
		return def, nil
	}
	record, _, err := read[Record](ctx, d.store, RecordKey(hash))
	if err != nil {
		return nil, err
	}
	if record == nil {
		return nil, fmt.Errorf("%w: %s", coordinator.ErrNoDefinition, hash)
	}
	bundle, err := d.blobs.GetBlob(ctx, record.Bundle)
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

// Latest is the hash that new runs of a loop pin. It may be ten seconds old.
// Error: coordinator.ErrNoLoop.
func (d *Definitions) Latest(ctx context.Context, name string) (string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	hash, known := d.latest[name]
	if !known || d.now().Sub(d.read) > latestFor {
		if err := d.list(ctx); err != nil {
			return "", err
		}
		hash = d.latest[name]
	}
	if hash == "" {
		return "", fmt.Errorf("%w: %q", coordinator.ErrNoLoop, name)
	}
	return hash, nil
}

// Loops are the names of the loops that can be started, sorted.
func (d *Definitions) Loops(ctx context.Context) ([]string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.latest == nil || d.now().Sub(d.read) > latestFor {
		if err := d.list(ctx); err != nil {
			return nil, err
		}
	}
	return slices.Sorted(maps.Keys(d.latest)), nil
}

// list reads the latest definitions. The lock is held.
func (d *Definitions) list(ctx context.Context) error {
	latest := map[string]string{}
	for after := ""; ; {
		page, err := d.store.List(ctx, store.Query{Part: LatestPart, After: after, Limit: 1000})
		if err != nil {
			return fmt.Errorf("listing the loops: %w", err)
		}
		for _, item := range page.Items {
			var l Latest
			if err := json.Unmarshal(item.Body, &l); err != nil {
				return fmt.Errorf("reading the latest definition of %s: %w", item.Sort, err)
			}
			latest[l.Loop] = l.Hash
		}
		if after = page.Next; after == "" {
			d.latest, d.read = latest, d.now()
			return nil
		}
	}
}

// MachineOf is the version's ARN that executions of a definition run. Error:
// coordinator.ErrNoDefinition; ErrNoMachine while none is published.
func (d *Definitions) MachineOf(ctx context.Context, hash string) (string, error) {
	record, _, err := read[Record](ctx, d.store, RecordKey(hash))
	switch {
	case err != nil:
		return "", err
	case record == nil:
		return "", fmt.Errorf("%w: %s", coordinator.ErrNoDefinition, hash)
	case record.Machine == "":
		return "", fmt.Errorf("%w: loop %s, definition %s", ErrNoMachine, record.Loop, hash)
	}
	return record.Machine, nil
}

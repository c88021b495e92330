package machines

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/loop"
	"github.com/outerloop-dev/outerloop/pkg/project"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// Publisher puts what a deployment brings into the table. Everything it does
// can be done again.
type Publisher struct {
	Store store.Store
	Blobs store.Blobs
	// IDs gives a new id for each write.
	IDs func() string
}

// Errors of publishing.
var (
	// ErrBundle says that a bundle is not what it is said to be.
	ErrBundle = errors.New("bundle is not valid")
	// ErrOpenRuns says that runs under way need what a deployment would remove.
	ErrOpenRuns = errors.New("open runs need it")
)

// publishTries is how often a record that changed meanwhile is written again.
const publishTries = 5

// Definition keeps a bundle under its hash, before any machine points at it.
// Error: ErrBundle when it has another hash, is of another loop, or is refused
// by the language.
func (p Publisher) Definition(ctx context.Context, loopName, hash string, bundle []byte) error {
	if have := project.Hash(bundle); have != hash {
		return fmt.Errorf("publishing %s: %w: its hash is %s, not %s", loopName, ErrBundle, have, hash)
	}
	def, err := project.FromBundle(bundle)
	switch {
	case err != nil:
		return fmt.Errorf("publishing %s: %w: %w", loopName, ErrBundle, err)
	case def.Loop.Name != loopName:
		return fmt.Errorf("publishing %s: %w: it is of the loop %s", loopName, ErrBundle, def.Loop.Name)
	}
	ref, err := p.Blobs.PutBlob(ctx, bundle)
	if err != nil {
		return fmt.Errorf("publishing %s: %w", loopName, err)
	}
	return p.change(ctx, hash, func(r *Record) { r.Loop, r.Bundle = loopName, ref })
}

// Latest makes a published definition the one that new runs pin, with the
// version of the machine that was made of it. Error: ErrBundle when the
// definition was not published.
func (p Publisher) Latest(ctx context.Context, l Latest) error {
	record, _, err := read[Record](ctx, p.Store, RecordKey(l.Hash))
	switch {
	case err != nil:
		return err
	case record == nil || record.Loop != l.Loop:
		return fmt.Errorf("publishing %s: %w: definition %s is not in the table", l.Loop, ErrBundle, l.Hash)
	}
	if _, err := executionARN(l.Machine, "x"); err != nil {
		return fmt.Errorf("publishing %s: %w", l.Loop, err)
	}
	if err := p.change(ctx, l.Hash, func(r *Record) { r.Machine = l.Machine }); err != nil {
		return err
	}
	return again(func() error {
		have, item, err := read[Latest](ctx, p.Store, LatestKey(l.Loop))
		if err != nil || have != nil && *have == l {
			return err
		}
		return put(ctx, p.Store, p.IDs(), placed{LatestKey(l.Loop), item, l})
	})
}

// Withdraw ends new runs of a loop. Error: ErrOpenRuns while runs of it are open.
func (p Publisher) Withdraw(ctx context.Context, loopName string) error {
	open, err := p.openRuns(ctx, loopName)
	if err != nil {
		return err
	}
	if len(open) > 0 {
		return fmt.Errorf("removing loop %s: %w: %s (cancel it, or wait for its end)", loopName, ErrOpenRuns, open[0].ID)
	}
	return again(func() error {
		_, item, err := read[Latest](ctx, p.Store, LatestKey(loopName))
		if err != nil || item == nil {
			return err
		}
		err = p.Store.Write(ctx, p.IDs(), store.Remove(item.Key, item.Version))
		if store.Won(err) {
			return nil
		}
		return err
	})
}

// Deployed is what a deployment will leave, by name.
type Deployed struct {
	Workers []string
	// Loops with a machine; nil: not said, and not checked.
	Loops []string
}

// Workers refuses a deployment that lacks a worker which an open run still
// needs, with its backups, reviewers and agents' tools, or the loop of an open
// run, whose machine must stay. Error: ErrOpenRuns.
func (p Publisher) Workers(ctx context.Context, deployed Deployed, definitions *Definitions) error {
	loops, err := definitions.everLoops(ctx)
	if err != nil {
		return err
	}
	var lacking []error
	for _, name := range loops {
		open, err := p.openRuns(ctx, name)
		if err != nil {
			return err
		}
		if len(open) > 0 && deployed.Loops != nil && !slices.Contains(deployed.Loops, name) {
			lacking = append(lacking, removing("loop "+name, open[0]))
			continue
		}
		seen := map[string]bool{}
		for _, run := range open {
			if seen[run.Definition] {
				continue
			}
			seen[run.Definition] = true
			def, err := definitions.Definition(ctx, run.Definition)
			if err != nil {
				return err
			}
			lacking = append(lacking, lacks(run, def, deployed.Workers))
		}
	}
	return errors.Join(lacking...)
}

func lacks(run *record.Run, def *loop.Definition, deployed []string) error {
	for name := range def.Workers {
		if !slices.Contains(deployed, name) {
			return removing("worker "+name, run)
		}
	}
	return nil
}

func removing(what string, run *record.Run) error {
	return fmt.Errorf("removing %s: %w: run %s of %s (deploy it again without removing, and remove it when the run has ended or was cancelled)",
		what, ErrOpenRuns, run.ID, run.Loop)
}

// openRuns are the open runs of a loop.
func (p Publisher) openRuns(ctx context.Context, loopName string) ([]*record.Run, error) {
	var open []*record.Run
	for after := ""; ; {
		page, err := p.Store.List(ctx, store.Query{Index: store.ByList, Part: record.RunListPart(loopName, true), After: after})
		if err != nil {
			return nil, fmt.Errorf("listing the open runs of %s: %w", loopName, err)
		}
		for i := range page.Items {
			run, err := record.DecodeRun(&page.Items[i])
			if err != nil {
				return nil, err
			}
			open = append(open, run)
		}
		if after = page.Next; after == "" {
			return open, nil
		}
	}
}

// everLoops are the loops that ever had a run, whether they can be started or not.
func (d *Definitions) everLoops(ctx context.Context) ([]string, error) {
	var names []string
	for after := ""; ; {
		page, err := d.store.List(ctx, store.Query{Part: record.LoopsPart, After: after, Limit: 1000})
		if err != nil {
			return nil, fmt.Errorf("listing the loops: %w", err)
		}
		for _, item := range page.Items {
			names = append(names, item.Sort)
		}
		if after = page.Next; after == "" {
			return names, nil
		}
	}
}

// change writes a definition's record anew, unless it says so already.
func (p Publisher) change(ctx context.Context, hash string, edit func(*Record)) error {
	return again(func() error {
		have, item, err := read[Record](ctx, p.Store, RecordKey(hash))
		if err != nil {
			return err
		}
		var want Record
		if have != nil {
			want = *have
		}
		edit(&want)
		if have != nil && *have == want {
			return nil
		}
		return put(ctx, p.Store, p.IDs(), placed{RecordKey(hash), item, want})
	})
}

// again repeats what lost a race.
func again(do func() error) error {
	var err error
	for range publishTries {
		if err = do(); !conflict(err) {
			return err
		}
	}
	return err
}

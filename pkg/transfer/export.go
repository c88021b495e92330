package transfer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// Source is where content comes from. All fields are required.
type Source struct {
	Store store.Store
	Scan  store.Scanner
	Blobs store.Blobs
	Now   func() time.Time
}

// Exporting is one export.
type Exporting struct {
	Source
	// ID names the move, unless the store was sealed before; it must be new.
	ID string
	// From and To say for people what is exported, and to which file.
	From, To string
}

// ErrStarted says that a run was started while its store was exported.
var ErrStarted = errors.New("a run was started during the export")

type exporting struct {
	Exporting
	file  *writer
	blobs map[string]bool
}

// Export seals the store and writes all that is carried. The file is whole only
// if no error is answered; exporting again gives the same content and what
// became known since of actions that were executing. The seal stays: TakeBack
// undoes it. Errors: ErrStarted (stop what triggers runs, export again),
// store.ErrCorrupt, the store's and the writer's.
func Export(ctx context.Context, what Exporting, to io.Writer) (Header, Counts, error) {
	e := &exporting{Exporting: what, blobs: map[string]bool{}}
	seal, err := e.seal(ctx)
	if err != nil {
		return Header{}, Counts{}, fmt.Errorf("sealing the store: %w", err)
	}
	if err := e.sealRuns(ctx, seal); err != nil {
		return Header{}, Counts{}, fmt.Errorf("sealing runs: %w", err)
	}
	head := Header{Format: Version, ID: seal.ID, Created: e.Now().UTC(), Source: e.From}
	if e.file, err = newWriter(to, head); err != nil {
		return head, Counts{}, err
	}
	if err := e.items(ctx); err != nil {
		return head, Counts{}, fmt.Errorf("exporting: %w", err)
	}
	counts, err := e.file.end()
	return head, counts, err
}

// sealRuns closes everything that may move before anything is read: what is
// read later then holds all that was done. It looks again while it finds something.
func (e *exporting) sealRuns(ctx context.Context, seal Seal) error {
	for range attempts {
		found := false
		err := scan(ctx, e.Scan, func(item store.Item) error {
			if !isRun(item.Key) {
				return nil
			}
			sealed, err := e.sealRun(ctx, item.Key, seal)
			found = found || sealed
			return err
		})
		if err != nil || !found {
			return err
		}
	}
	return fmt.Errorf("%w, again and again", ErrStarted)
}

func (e *exporting) items(ctx context.Context) error {
	return scan(ctx, e.Scan, func(item store.Item) error {
		kind := kindOf(item.Part)
		switch {
		case left[kind], kind == kindRun && item.Sort == movedSort:
			return nil
		case !carried[kind]:
			return fmt.Errorf("%s/%s is of a kind that this program does not know", item.Part, item.Sort)
		case isRun(item.Key):
			var err error
			if item, err = e.before(ctx, item); err != nil {
				return err
			}
		}
		item, err := portable(item)
		if err != nil {
			return err
		}
		if err := e.refs(ctx, item.Body); err != nil {
			return fmt.Errorf("%s/%s: %w", item.Part, item.Sort, err)
		}
		return e.file.item(item)
	})
}

// before gives a sealed run as it stood before the seal.
func (e *exporting) before(ctx context.Context, item store.Item) (store.Item, error) {
	run, err := record.DecodeRun(&item)
	if err != nil {
		return item, err
	}
	if moves(run) {
		return item, fmt.Errorf("run %s: %w", run.ID, ErrStarted)
	}
	moved, err := e.Store.Get(ctx, store.Key{Part: item.Part, Sort: movedSort})
	if err != nil || moved[0] == nil {
		return item, err
	}
	if run, err = record.DecodeRun(moved[0]); err != nil {
		return item, err
	}
	return run.Put().Item, nil
}

var (
	reference = regexp.MustCompile(`sha256:[0-9a-f]{64}`)
	certain   = regexp.MustCompile(`"(?:ref|bundle|pages)":"(sha256:[0-9a-f]{64})"`)
)

// refs writes the blobs that a text refers to, and those that they refer to. A
// hash may be of content that was never kept; a reference may not.
func (e *exporting) refs(ctx context.Context, text []byte) error {
	needed := map[string]bool{}
	for _, match := range certain.FindAllSubmatch(text, -1) {
		needed[string(match[1])] = true
	}
	for _, match := range reference.FindAll(text, -1) {
		ref := string(match)
		if e.blobs[ref] {
			continue
		}
		e.blobs[ref] = true
		content, err := e.Blobs.GetBlob(ctx, ref)
		if errors.Is(err, store.ErrNoBlob) && !needed[ref] {
			e.blobs[ref] = false
			continue
		}
		if err != nil {
			return fmt.Errorf("reading blob %s: %w", ref, err)
		}
		if err := e.file.blob(ref, content); err != nil {
			return err
		}
		if err := e.refs(ctx, content); err != nil {
			return err
		}
	}
	return nil
}

// scan visits every item of a store.
func scan(ctx context.Context, from store.Scanner, visit func(store.Item) error) error {
	var after store.Key
	for {
		items, err := from.Scan(ctx, after, store.MaxPage)
		if err != nil || len(items) == 0 {
			return err
		}
		for _, item := range items {
			if err := visit(item); err != nil {
				return err
			}
		}
		after = items[len(items)-1].Key
	}
}

package transfer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// Destination is where content goes. All fields are required.
type Destination struct {
	Store store.Store
	Blobs store.Blobs
	Now   func() time.Time
}

// Imported is what an import did.
type Imported struct {
	Header Header `json:"header"`
	Counts Counts `json:"counts"`
	// Already: this file was imported before; nothing was written.
	Already bool `json:"already"`
	// Open are the runs that go on here, by id.
	Open []string `json:"open"`
}

// The phases of an import, kept in the destination under the file's id.
const (
	phaseLoading = "loading" // everything but the runs' own records is written; nothing can move
	phaseRuns    = "runs"    // the runs' own records are written; each goes on from then on
	phaseDone    = "done"

	importKind = "IMPORT"
)

type progress struct {
	Phase  string    `json:"phase"`
	SHA256 string    `json:"sha256"`
	At     time.Time `json:"at"`
}

type importing struct {
	Destination
	file  io.ReadSeeker
	found contents
	state *store.Item
	progress
}

// Import writes a file's content. The whole file is checked first, and then
// whether anything in the destination stands in the way, before anything is
// written. The runs' own records come last, so that nothing moves before all is
// there. An import that broke off is finished by importing the same file again;
// one that was finished is not done twice. The destination must be at rest
// until the answer. Errors: ErrFile, ErrNewer, ErrMoved, *ConflictError, the store's.
func Import(ctx context.Context, to Destination, file io.ReadSeeker) (Imported, error) {
	found, err := walk(file, func(line) error { return nil })
	if err != nil {
		return Imported{}, err
	}
	m := &importing{Destination: to, file: file, found: found}
	out := Imported{Header: found.header, Counts: found.counts, Open: []string{}}
	if err := m.begin(ctx); err != nil {
		return out, err
	}
	if m.Phase == phaseDone {
		out.Already = true
		return out, nil
	}
	if m.Phase == phaseLoading {
		if err := m.load(ctx); err != nil {
			return out, fmt.Errorf("importing: %w", err)
		}
		if err := m.next(ctx, phaseRuns); err != nil {
			return out, err
		}
	}
	if out.Open, err = m.runs(ctx); err != nil {
		return out, fmt.Errorf("importing runs: %w", err)
	}
	return out, m.next(ctx, phaseDone)
}

// begin reads how far this file came here; a new one is looked through for conflicts.
func (m *importing) begin(ctx context.Context) error {
	seal, err := Sealed(ctx, m.Store)
	if err != nil {
		return err
	}
	if seal != nil {
		return fmt.Errorf("%w to %s", ErrMoved, seal.To)
	}
	items, err := m.Store.Get(ctx, m.key())
	if err != nil {
		return err
	}
	if m.state = items[0]; m.state == nil {
		if err := m.conflicts(ctx); err != nil {
			return err
		}
		return m.next(ctx, phaseLoading)
	}
	if err := json.Unmarshal(m.state.Body, &m.progress); err != nil {
		return fmt.Errorf("reading how far the import came: %w", err)
	}
	if m.SHA256 != m.found.sum {
		return fmt.Errorf("%w: another file of the same move (%s) was imported here at %s", ErrConflict, m.found.header.ID, m.At.Format(time.RFC3339))
	}
	return nil
}

func (m *importing) key() store.Key {
	return store.Key{Part: importKind + "#" + m.found.header.ID, Sort: importKind}
}

// mark is the number that says that an item was put together with this file's.
func (m *importing) mark() string { return "moved." + record.ShortID(m.found.header.ID) }

func (m *importing) next(ctx context.Context, phase string) error {
	m.progress = progress{Phase: phase, SHA256: m.found.sum, At: m.Now().UTC()}
	body, err := json.Marshal(m.progress)
	if err != nil {
		return err
	}
	item := store.Item{Key: m.key(), Version: 1, Body: body}
	op := store.Create(item)
	if m.state != nil {
		item.Version = m.state.Version + 1
		op = store.Replace(store.Item{Key: m.key(), Version: m.state.Version, Body: body})
	}
	err = write(ctx, m.Store, op)
	if errors.Is(err, store.ErrCondition) {
		return ErrBeside
	}
	if err != nil {
		return fmt.Errorf("noting how far the import came: %w", err)
	}
	m.state = &item
	return nil
}

// load writes blobs and everything but the runs' own records.
func (m *importing) load(ctx context.Context) error {
	side := newSide()
	_, err := walk(m.file, func(l line) error {
		if l.Blob != "" {
			return side.do(func() error {
				_, err := m.Blobs.PutBlob(ctx, l.Content)
				return err
			})
		}
		item := l.item()
		if isRun(item.Key) {
			return nil
		}
		return side.do(func() error { return m.put(ctx, released(item)) })
	})
	return errors.Join(err, side.wait())
}

// put creates an item, or merges it with what stands there.
func (m *importing) put(ctx context.Context, item store.Item) error {
	op := store.Create(item)
	for range attempts {
		err := write(ctx, m.Store, op)
		var stands *store.ConditionError
		if !errors.As(err, &stands) {
			return err
		}
		if stands.Current == nil {
			op = store.Create(item)
			continue
		}
		merged, err := merge(m.mark(), item, *stands.Current)
		if errors.Is(err, ErrConflict) {
			return &ConflictError{Names: []string{name(item.Key)}}
		}
		if err != nil || merged == nil {
			return err
		}
		op = store.Replace(*merged)
	}
	return fmt.Errorf("writing %s: %w", name(item.Key), store.ErrCondition)
}

// released is a step without the attempt that had it: its worker is on the
// other side and can reach nothing here.
func released(item store.Item) store.Item {
	if kindOf(item.Part) == kindRun && item.Numbers["lease"] != 0 && strings.HasPrefix(item.Sort, record.StepsPrefix("")) {
		numbers := map[string]int64{}
		for name, n := range item.Numbers {
			numbers[name] = n
		}
		numbers["lease"] = 0
		item.Numbers = numbers
	}
	return item
}

// runs writes the runs' own records and answers those that go on.
func (m *importing) runs(ctx context.Context) ([]string, error) {
	open := []string{}
	_, err := walk(m.file, func(l line) error {
		item := l.item()
		if l.Blob != "" || !isRun(item.Key) {
			return nil
		}
		run, err := record.DecodeRun(&item)
		if err != nil {
			return err
		}
		if run.Open() {
			open = append(open, run.ID)
		}
		return m.run(ctx, run, item)
	})
	return open, err
}

// run creates a run's record. One that stands there was written by this import
// before it broke off, and may have gone on since.
func (m *importing) run(ctx context.Context, run *record.Run, item store.Item) error {
	mark := "export " + m.found.header.ID
	if moves(run) {
		run.Note(record.Entry{At: m.Now().UTC(), Kind: "moved", Outcome: string(run.Status), Rule: mark})
		item = run.Put().Item
	}
	err := write(ctx, m.Store, store.Create(item))
	var stands *store.ConditionError
	if !errors.As(err, &stands) || stands.Current == nil {
		return err
	}
	have, err := record.DecodeRun(stands.Current)
	if err != nil {
		return err
	}
	ours := slices.ContainsFunc(have.Log, func(e record.Entry) bool { return e.Kind == "moved" && e.Rule == mark })
	if _, err := merge(m.mark(), item, *stands.Current); ours || err == nil {
		return nil
	}
	return &ConflictError{Names: []string{name(item.Key)}}
}

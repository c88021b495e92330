package transfer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// Seal says that a store's content was exported to go on elsewhere.
type Seal struct {
	ID string    `json:"id"`
	At time.Time `json:"at"`
	// To is the file that it was first exported to.
	To string `json:"to"`
}

const (
	sealPart = "MOVED"
	// movedSort stands beside a run's record: the run as it was before the seal.
	movedSort = "MOVED"
)

var sealKey = store.Key{Part: sealPart, Sort: sealPart}

// ErrMoved says that a store's content was exported to go on elsewhere.
var ErrMoved = errors.New("this state was moved")

// Sealed tells whether a store was exported; nil: it was not, or was taken back.
func Sealed(ctx context.Context, s store.Store) (*Seal, error) {
	items, err := s.Get(ctx, sealKey)
	if err != nil || items[0] == nil {
		return nil, err
	}
	var seal Seal
	if err := json.Unmarshal(items[0].Body, &seal); err != nil {
		return nil, fmt.Errorf("reading the seal: %w", err)
	}
	return &seal, nil
}

// seal marks the store as moved, or gives the mark it has.
func (e *exporting) seal(ctx context.Context) (Seal, error) {
	have, err := Sealed(ctx, e.Store)
	if err != nil || have != nil {
		return deref(have), err
	}
	seal := Seal{ID: e.ID, At: e.Now().UTC(), To: e.To}
	body, err := json.Marshal(seal)
	if err != nil {
		return seal, err
	}
	return seal, write(ctx, e.Store, store.Create(store.Item{Key: sealKey, Body: body}))
}

func deref(s *Seal) Seal {
	if s == nil {
		return Seal{}
	}
	return *s
}

// sealRun closes a run that may still move, and keeps it beside as it was.
// false: there is nothing to close.
func (e *exporting) sealRun(ctx context.Context, key store.Key, seal Seal) (bool, error) {
	for range attempts {
		items, err := e.Store.Get(ctx, key)
		if err != nil {
			return false, err
		}
		run, err := record.DecodeRun(items[0])
		if err != nil || run == nil || !moves(run) {
			return false, err
		}
		before := store.Item{Key: store.Key{Part: key.Part, Sort: movedSort}, Body: items[0].Body, Numbers: maps.Clone(items[0].Numbers)}
		closed, err := record.DecodeRun(items[0])
		if err != nil {
			return false, err
		}
		closed.Fold()
		closed.Status, closed.Reason, closed.Ended = outerloop.StatusFailed, "moved: goes on where "+seal.To+" is imported", seal.At
		closed.Note(record.Entry{At: seal.At, Kind: "moved", Outcome: string(closed.Status), Rule: "export " + seal.ID})
		err = write(ctx, e.Store, closed.Put(), store.Create(before))
		if err == nil || !errors.Is(err, store.ErrCondition) {
			return err == nil, err
		}
	}
	return false, fmt.Errorf("sealing %s: %w", key.Part, store.ErrCondition)
}

// moves tells whether a run can go on. One that is being cancelled goes no
// further; it is carried as it stands, and the watch closes it on either side.
func moves(run *record.Run) bool { return !run.Status.Closed() && !run.Cancelling }

// attempts bounds how often a lost race is run again.
const attempts = 8

// write does a write until its outcome is known.
func write(ctx context.Context, s store.Store, ops ...store.Op) error {
	id := writeID(ops)
	for n := 0; ; n++ {
		err := s.Write(ctx, id, ops...)
		if err == nil || store.Won(err) {
			return nil
		}
		if n >= attempts || ctx.Err() != nil || !errors.Is(err, store.ErrThrottled) && !errors.Is(err, store.ErrOutcomeUnknown) {
			return err
		}
	}
}

// writeID names a write by what it does, so that it is known again.
func writeID(ops []store.Op) string {
	text := ""
	for _, op := range ops {
		text += fmt.Sprintf("%s %q %q %d %q %v\n", op.Kind, op.Item.Part, op.Item.Sort, op.Version, op.Item.Body, op.Item.Numbers)
	}
	return "move-" + record.ShortID(text)
}

// TakeBack undoes the seal of a store whose file was not imported anywhere:
// its runs go on here, in a new generation. It answers the runs that may move.
// Taking back what was imported elsewhere lets both go on: nothing can see that
// from here.
func TakeBack(ctx context.Context, src Source) ([]string, error) {
	var open []string
	err := scan(ctx, src.Scan, func(item store.Item) error {
		if kindOf(item.Part) != kindRun || item.Sort != movedSort {
			return nil
		}
		run, err := takeBackRun(ctx, src, item)
		if err == nil && run != nil && run.Open() {
			open = append(open, run.ID)
		}
		return err
	})
	if err != nil {
		return open, fmt.Errorf("taking back: %w", err)
	}
	err = write(ctx, src.Store, store.Remove(sealKey, 0))
	if errors.Is(err, store.ErrCondition) {
		err = nil // it was not sealed
	}
	return open, err
}

func takeBackRun(ctx context.Context, src Source, moved store.Item) (*record.Run, error) {
	key := store.Key{Part: moved.Part, Sort: "RUN"}
	items, err := src.Store.Get(ctx, key)
	if err != nil || items[0] == nil {
		return nil, err
	}
	closed, err := record.DecodeRun(items[0])
	if err != nil {
		return nil, err
	}
	run, err := record.DecodeRun(&moved)
	if err != nil {
		return nil, err
	}
	run.Stored = closed.Stored
	if run.Open() {
		run.Gen = closed.Gen + 1
	}
	now := src.Now().UTC()
	run.Note(record.Entry{At: now, Kind: "taken back", Outcome: string(run.Status)})
	return run, write(ctx, src.Store, run.Put(), store.Remove(moved.Key, 0))
}

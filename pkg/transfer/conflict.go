package transfer

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/outerloop-dev/outerloop/pkg/store"
)

// ErrConflict says that the destination holds something else where the file's
// content would stand; errors.As gives *ConflictError.
var ErrConflict = errors.New("the destination holds something else")

// ErrBeside says that another process imports the same file: one of the two goes
// on, and importing it again does what is left or finds that nothing is.
var ErrBeside = errors.New("another process imports the same file just now: the same command again finishes what it leaves")

// ConflictError names what stands in the way. Nothing was written.
type ConflictError struct {
	// Names are the records, as people call them, runs first.
	Names []string
}

const maxNames = 5

// Error names some of them.
func (e *ConflictError) Error() string {
	text := strings.Join(e.Names[:min(len(e.Names), maxNames)], ", ")
	if more := len(e.Names) - maxNames; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("%v: %s", ErrConflict, text)
}

// Unwrap makes errors.Is(err, ErrConflict) true.
func (e *ConflictError) Unwrap() error { return ErrConflict }

func conflict(names map[string]bool) error {
	if len(names) == 0 {
		return nil
	}
	sorted := slices.SortedFunc(maps.Keys(names), func(a, b string) int {
		aRun, bRun := strings.HasPrefix(a, "run "), strings.HasPrefix(b, "run ")
		if aRun != bRun && aRun {
			return -1
		}
		if aRun != bRun {
			return 1
		}
		return strings.Compare(a, b)
	})
	return &ConflictError{Names: sorted}
}

// conflicts compares everything with what stands there.
func (m *importing) conflicts(ctx context.Context) error {
	met := map[string]bool{}
	var batch []store.Item
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		keys := make([]store.Key, len(batch))
		for i, item := range batch {
			keys[i] = item.Key
		}
		have, err := m.Store.Get(ctx, keys...)
		if err != nil {
			return err
		}
		for i, item := range batch {
			if have[i] == nil {
				continue
			}
			if _, err := merge(m.mark(), item, *have[i]); errors.Is(err, ErrConflict) {
				met[name(item.Key)] = true
			} else if err != nil {
				return err
			}
		}
		batch = batch[:0]
		return nil
	}
	_, err := walk(m.file, func(l line) error {
		if l.Blob != "" {
			return nil
		}
		if batch = append(batch, l.item()); len(batch) < store.MaxGet {
			return nil
		}
		return flush()
	})
	if err := errors.Join(err, flush()); err != nil {
		return err
	}
	return conflict(met)
}

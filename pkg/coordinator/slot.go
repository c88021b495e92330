package coordinator

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/loop"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// room is how many runs of a loop may be open at a time; 0: any number.
func room(l *loop.Loop) int {
	if l.Overlap == loop.OverlapAllow {
		return l.AtOnce
	}
	return max(l.AtOnce, 1)
}

// takeSlot applies the overlap policy (R63): a start that finds no room is
// skipped, takes the oldest run's place, or waits in line. The slot of a loop
// also lists it among the loops that ever ran. Every start where there is a
// bound writes the slot, so that none slips past another or past an end.
func (c *Coordinator) takeSlot(ctx context.Context, s *starting, slot *record.Loop) (*store.Op, error) {
	fresh, places := slot == nil, room(s.def.Loop)
	if fresh {
		slot = &record.Loop{Name: s.run.Loop}
	}
	if places == 0 {
		if !fresh {
			return nil, nil
		}
		op := slot.Put()
		return &op, nil
	}
	held, err := c.stillOpen(ctx, slot.Holders())
	if err != nil {
		return nil, err
	}
	if len(held) >= places {
		switch s.def.Loop.Overlap {
		case loop.OverlapSkip:
			return nil, &OverlapError{Loop: s.run.Loop, Open: held[0]}
		case loop.OverlapReplace:
			if _, err := c.cancel(ctx, PersonRequest{Run: held[0], By: "overlap: replace", Reason: "replaced by " + s.run.ID}); err != nil && !errors.Is(err, ErrRunClosed) {
				return nil, err
			}
			held = held[1:]
		default:
			s.run.Queued = true
			s.run.Note(record.Entry{At: s.run.Started, Kind: "queued", Rule: fmt.Sprintf("%d runs are open, %d may be", len(held), places)})
		}
	}
	if !s.run.Queued {
		held = append(held, s.run.ID)
	}
	slot.Hold(held)
	op := slot.Put()
	return &op, nil
}

// stillOpen are those of the runs that are not closed.
func (c *Coordinator) stillOpen(ctx context.Context, runs []string) ([]string, error) {
	var open []string
	for _, id := range runs {
		run, err := one(ctx, c, record.RunKey(id), record.DecodeRun)
		if err != nil {
			return nil, fmt.Errorf("reading run %s: %w", id, err)
		}
		if run != nil && !run.Status.Closed() {
			open = append(open, id)
		}
	}
	return open, nil
}

// releaseSlot gives the place of a closed run to the one that waits longest.
func (c *Coordinator) releaseSlot(ctx context.Context, run *record.Run) error {
	slot, err := one(ctx, c, record.LoopKey(run.Loop), record.DecodeLoop)
	if err != nil || slot == nil || !slices.Contains(slot.Holders(), run.ID) {
		return err
	}
	return c.freeSlots(ctx, run.Loop)
}

// freeSlots takes closed runs out of the slots and starts those that wait, as
// far as there is room.
func (c *Coordinator) freeSlots(ctx context.Context, name string) error {
	for {
		started, err := deciding(ctx, c, "freeing the slots of "+name, func(ctx context.Context) (string, error) { return c.freeSlot(ctx, name) })
		if err != nil || started == "" {
			return err
		}
		if err := c.startExecution(ctx, started); err != nil {
			return err
		}
	}
}

func (c *Coordinator) freeSlot(ctx context.Context, name string) (string, error) {
	slot, err := one(ctx, c, record.LoopKey(name), record.DecodeLoop)
	if err != nil || slot == nil {
		return "", err
	}
	before := slot.Holders()
	held, err := c.stillOpen(ctx, before)
	if err != nil {
		return "", err
	}
	next, err := c.longestQueued(ctx, name)
	if err != nil {
		return "", err
	}
	places := 0
	if def, _, err := c.latest(ctx, name); err == nil {
		places = room(def.Loop)
	} else if !errors.Is(err, ErrNoLoop) {
		return "", err
	}
	if next == nil || places > 0 && len(held) >= places {
		if len(held) == len(before) {
			return "", nil
		}
		slot.Hold(held)
		return "", c.write(ctx, slot.Put())
	}
	draws, paid, err := c.drawInLine(ctx, next)
	if err != nil || !paid {
		return "", err
	}
	slot.Hold(append(held, next.ID))
	now := c.now()
	next.Queued = false
	next.Deadline = next.Deadline.Add(now.Sub(next.Started)) // the time in line is not the run's
	next.Note(record.Entry{At: now, Kind: "started", Rule: "its turn came"})
	return next.ID, c.write(ctx, append(draws, slot.Put(), next.Put())...)
}

// longestQueued is the run that waits longest for its turn; nil: none does.
func (c *Coordinator) longestQueued(ctx context.Context, name string) (*record.Run, error) {
	var found *record.Run
	err := c.each(ctx, store.Query{Index: store.ByList, Part: record.RunListPart(name, true)}, func(item *store.Item) error {
		if found != nil {
			return nil
		}
		run, err := one(ctx, c, item.Key, record.DecodeRun) // as it stands, an index may lag behind
		if err == nil && run != nil && run.Queued && run.Open() {
			found = run
		}
		return err
	})
	return found, err
}

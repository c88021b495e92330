package coordinator

import (
	"context"
	"fmt"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/quantity"
	"github.com/outerloop-dev/outerloop/pkg/registry"
)

// turn takes the attempt's turn at every connection of its worker that has a
// rate, for all runs together (R32). Waiting for a turn is no attempt.
func (q *call) turn(ctx context.Context, now time.Time) (*admission, error) {
	if q.def.Project == nil {
		return nil, nil
	}
	retry := q.step() != nil && len(q.step().Tries.Failed) > 0
	for _, tool := range q.worker.Charter.Tools {
		for _, connection := range q.def.Project.Connections {
			if connection.Name != tool.Connection {
				continue
			}
			for i, rate := range connection.Rates {
				name := fmt.Sprintf("%s#%d", connection.Name, i)
				if out, err := q.turnAt(ctx, name, rate, turn{now: now, retry: retry}); err != nil || out != nil {
					return out, err
				}
			}
		}
	}
	return nil, nil
}

type turn struct {
	now   time.Time
	retry bool
}

func (q *call) turnAt(ctx context.Context, name string, rate registry.Rate, at turn) (*admission, error) {
	if rate.Calls <= 0 || rate.Per <= 0 {
		return nil, nil
	}
	slot, err := one(ctx, q.c, record.RateKey(name), record.DecodeRate)
	if err != nil {
		return nil, fmt.Errorf("reading turns of %s: %w", name, err)
	}
	if slot == nil {
		slot = &record.Rate{Name: name}
	}
	free, until := nextTurn(slot, rate, at)
	if !free {
		out := later(until, "waits for its turn at "+name)
		return &out, nil
	}
	return nil, q.c.write(ctx, slot.Put())
}

// nextTurn spaces calls so that no window of a rate holds more than it allows:
// the slot's time moves one interval per call and may run ahead of now by a
// window. First tries leave the reserve of the window to retries.
func nextTurn(slot *record.Rate, rate registry.Rate, at turn) (bool, time.Time) {
	interval := rate.Per.Milliseconds() / int64(rate.Calls)
	window := rate.Per.Milliseconds() - interval
	if !at.retry {
		window -= share(rate.Reserve, window)
	}
	now := at.now.UnixMilli()
	next := max(slot.NextMs, now)
	if ahead := next - now; ahead > window {
		return false, time.UnixMilli(now + ahead - window).UTC()
	}
	slot.NextMs = next + interval
	return true, time.Time{}
}

func share(p quantity.Percent, of int64) int64 { return int64(p.Of(int(of))) }

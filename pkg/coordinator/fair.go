package coordinator

import (
	"context"
	"errors"
	"hash/fnv"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

const (
	// yieldPoll is how soon an attempt asks again that let another loop go first.
	yieldPoll = time.Second
	// lineKept is for how long a loop keeps its place in line after it was to ask again.
	lineKept = 2 * ratePoll
)

// ahead is how many turns belong to other loops: those that wait and had their
// last turn before this one's loop had its own (R32). Retries have their reserve.
func (t turn) ahead(r *record.Rate) int {
	if t.loop == "" || t.retry {
		return 0
	}
	return r.Before(t.loop, t.now)
}

// standsInLine notes that the attempt's loop waits for a turn, so that no other
// loop takes all of them. Where somebody else writes at the same time, the next
// asking notes it.
func (q *call) standsInLine(ctx context.Context, r *record.Rate, ask turn, until time.Time) error {
	if ask.loop == "" || !r.Waits(ask.loop, ask.now, until, until.Add(lineKept)) {
		return nil
	}
	if err := q.c.write(ctx, r.Put()); err != nil && !errors.Is(err, store.ErrCondition) {
		return err
	}
	return nil
}

// longestSpread bounds how far those are spread who all wait for one moment.
const longestSpread = 5 * time.Second

// after is a moment or a little later, each attempt another: by up to a tenth of
// the wait, so that not all that were held back call at once.
func (t turn) after(at time.Time) time.Time {
	most := min(at.Sub(t.now)/10, longestSpread).Milliseconds()
	if most <= 0 {
		return at
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(t.attempt)) // a hash takes everything
	return at.Add(time.Duration(int64(h.Sum32())%most) * time.Millisecond)
}

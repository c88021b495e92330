package record

import (
	"slices"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/store"
)

// rateParts is into how many buckets a window is cut: so much of it (one part
// in twenty) is given away for a record of bounded size.
const rateParts = 20

// Rate is the turn-taking at one provider key over all runs (R32).
type Rate struct {
	Name string `json:"name"`
	// Windows count what was used, by the window as declared: a changed
	// declaration begins anew.
	Windows map[string]Window `json:"windows,omitempty"`
	// FloorMs is until when nobody may call, as the provider said; Unix milliseconds.
	FloorMs int64 `json:"floor,omitempty"`
	// Turns are the attempts that hold a turn now.
	Turns []Turn `json:"turns,omitempty"`
	// Loops are those that took turns lately or wait for one, by name.
	Loops map[string]Standing `json:"loops,omitempty"`
	// Last is the attempt that took the last turn: it does not pay twice.
	Last string `json:"last,omitempty"`

	Stored int64 `json:"-"`
}

// Turn is an attempt that may be calling.
type Turn struct {
	Attempt string `json:"attempt"`
	// AtMs is when it was taken, UntilMs when the attempt has certainly ended; Unix milliseconds.
	AtMs    int64 `json:"at"`
	UntilMs int64 `json:"until"`
	// Tokens are what was counted for it.
	Tokens int64 `json:"tokens,omitempty"`
}

// Window counts uses in buckets, so that no period of the window's length,
// wherever it begins, holds more than was let through.
type Window struct {
	// Uses are by the bucket's number since 1970.
	Uses map[int64]int64 `json:"uses,omitempty"`
}

// RateKey addresses a provider key's turns.
func RateKey(name string) store.Key { return store.Key{Part: "RATE#" + name, Sort: "RATE"} }

// DecodeRate reads a provider key's turns; nil gives nil.
func DecodeRate(item *store.Item) (*Rate, error) {
	if item == nil {
		return nil, nil
	}
	r := &Rate{Stored: item.Version}
	return r, decode(item, r)
}

// Put writes the turns at the version they were read at, or creates them.
func (r *Rate) Put() store.Op {
	return put(store.Item{Key: RateKey(r.Name), Version: r.Stored, Body: encode(r)})
}

// Holds tells whether an attempt has a turn.
func (r *Rate) Holds(attempt string) bool {
	return r.Last == attempt || slices.ContainsFunc(r.Turns, func(t Turn) bool { return t.Attempt == attempt })
}

// Busy counts the turns held at a time, without those whose attempt has ended,
// and says when the first of them ends at the latest.
func (r *Rate) Busy(now time.Time) (int, time.Time) {
	r.Turns = slices.DeleteFunc(r.Turns, func(t Turn) bool { return t.UntilMs <= now.UnixMilli() })
	var first int64
	for _, t := range r.Turns {
		if first == 0 || t.UntilMs < first {
			first = t.UntilMs
		}
	}
	return len(r.Turns), time.UnixMilli(first).UTC()
}

// Release takes an attempt's turn back; false: it has none.
func (r *Rate) Release(attempt string) (Turn, bool) {
	i := slices.IndexFunc(r.Turns, func(t Turn) bool { return t.Attempt == attempt })
	if i < 0 {
		return Turn{}, false
	}
	turn := r.Turns[i]
	r.Turns = slices.Delete(r.Turns, i, i+1)
	return turn, true
}

// Free tells whether n more fit under a limit at a time; else from when.
func (w Window) Free(now time.Time, per time.Duration, n, limit int64) (bool, time.Time) {
	size := bucketSize(per)
	current := now.UnixMilli() / size
	var used int64
	var numbers []int64
	for number, count := range w.Uses {
		if number >= current-rateParts {
			used += count
			numbers = append(numbers, number)
		}
	}
	if used+n <= limit {
		return true, time.Time{}
	}
	slices.Sort(numbers)
	until := now
	for _, number := range numbers {
		used -= w.Uses[number]
		until = time.UnixMilli((number + rateParts + 1) * size).UTC()
		if used+n <= limit {
			break
		}
	}
	return false, until
}

// Take counts n uses at a time; a negative n takes back what was counted then.
func (w Window) Take(at, now time.Time, per time.Duration, n int64) Window {
	size := bucketSize(per)
	oldest := now.UnixMilli()/size - rateParts
	out := Window{Uses: map[int64]int64{}}
	for number, count := range w.Uses {
		if number >= oldest {
			out.Uses[number] = count
		}
	}
	if number := at.UnixMilli() / size; number >= oldest {
		if out.Uses[number] += n; out.Uses[number] <= 0 {
			delete(out.Uses, number)
		}
	}
	return out
}

func bucketSize(per time.Duration) int64 { return max(per.Milliseconds()/rateParts, 1) }

package record

import (
	"time"

	"github.com/outerloop-dev/outerloop/pkg/store"
)

// Breaker is what is known of a worker's health over all runs (R31). Closed:
// OpenMs is 0. Open: nobody is let through before UntilMs. Half-open, from then
// on: one attempt at a time is, and its outcome decides.
type Breaker struct {
	Worker string `json:"worker"`
	// Opened is when this incident began, Cause what opened it.
	Opened time.Time `json:"opened,omitzero"`
	Cause  string    `json:"cause,omitempty"`
	// Probe is the attempt that is let through half-open, ProbeMs when it has certainly ended.
	Probe   string `json:"probe,omitempty"`
	ProbeMs int64  `json:"probe_until,omitempty"`

	// Fails are the failures in a row, LastMs the time of the last of them.
	Fails  int64 `json:"-"`
	LastMs int64 `json:"-"`
	// Times counts how often it was opened since it was last closed; UntilMs ends
	// the last time. Times are Unix milliseconds.
	Times   int64 `json:"-"`
	UntilMs int64 `json:"-"`
	Stored  int64 `json:"-"`
}

// The rule of the breaker: it opens at the breakerFails-th failure in a row
// where none is more than breakerGap after the one before; for breakerFirst,
// and after a failed probe for twice as long as before, at most breakerLongest.
const (
	breakerFails   = 5
	breakerGap     = 10 * time.Minute
	breakerFirst   = time.Minute
	breakerLongest = 30 * time.Minute
)

// BreakersPart is the partition of the list index with the breakers, by worker.
const BreakersPart = "BREAKERS"

// BreakerKey addresses a worker's breaker.
func BreakerKey(worker string) store.Key {
	return store.Key{Part: "BREAKER#" + worker, Sort: "BREAKER"}
}

// DecodeBreaker reads a breaker; nil gives nil.
func DecodeBreaker(item *store.Item) (*Breaker, error) {
	if item == nil {
		return nil, nil
	}
	n := item.Numbers
	b := &Breaker{Stored: item.Version, Fails: n["fails"], LastMs: n["last"], Times: n["times"], UntilMs: n["until"]}
	return b, decode(item, b)
}

// Put writes the breaker at the version it was read at, or creates it.
func (b *Breaker) Put() store.Op {
	return put(store.Item{
		Key: BreakerKey(b.Worker), Version: b.Stored, Body: encode(b),
		Numbers: map[string]int64{"fails": b.Fails, "last": b.LastMs, "times": b.Times, "until": b.UntilMs},
		List:    &store.IndexKey{Part: BreakersPart, Sort: b.Worker},
	})
}

// IsOpen tells whether it was opened and not closed since, half-open included.
func (b *Breaker) IsOpen() bool { return b.Times > 0 }

// State is closed, open or half-open.
func (b *Breaker) State(now time.Time) string {
	switch {
	case !b.IsOpen():
		return "closed"
	case now.UnixMilli() < b.UntilMs:
		return "open"
	}
	return "half-open"
}

// Pass tells whether an attempt may go through; where it is the probe, it is
// noted as such until a time (changed). Else it says when to ask again.
func (b *Breaker) Pass(attempt string, now, limit time.Time) (free, changed bool, until time.Time) {
	switch ms := now.UnixMilli(); {
	case !b.IsOpen() || b.Probe == attempt:
		return true, false, time.Time{}
	case ms < b.UntilMs:
		return false, false, time.UnixMilli(b.UntilMs).UTC()
	case b.Probe != "" && ms < b.ProbeMs:
		return false, false, time.UnixMilli(b.ProbeMs).UTC()
	}
	b.Probe, b.ProbeMs = attempt, limit.UnixMilli()
	return true, true, time.Time{}
}

// Probeable lets the next attempt be the probe at once; false: it is closed, or
// there is nothing to wait for.
func (b *Breaker) Probeable(now time.Time) bool {
	if !b.IsOpen() || now.UnixMilli() >= b.UntilMs {
		return false
	}
	b.UntilMs = now.UnixMilli()
	return true
}

// Succeeded closes it; false: there was nothing to forget.
func (b *Breaker) Succeeded() bool {
	if b.Fails == 0 && !b.IsOpen() {
		return false
	}
	*b = Breaker{Worker: b.Worker, Stored: b.Stored}
	return true
}

// Failed counts a failure; true: it has opened a closed breaker. What fails
// while it is open, having begun before, changes nothing.
func (b *Breaker) Failed(attempt, cause string, now time.Time) bool {
	ms := now.UnixMilli()
	if b.IsOpen() {
		if b.Probe == attempt {
			b.open(now)
		}
		return false
	}
	if ms-b.LastMs > breakerGap.Milliseconds() {
		b.Fails = 0
	}
	b.LastMs = ms
	if b.Fails++; b.Fails < breakerFails {
		return false
	}
	b.Opened, b.Cause = now, cause
	b.open(now)
	return true
}

func (b *Breaker) open(now time.Time) {
	long := breakerFirst << min(b.Times, 10)
	b.Times++
	b.UntilMs = now.Add(min(long, breakerLongest)).UnixMilli()
	b.Probe, b.ProbeMs = "", 0
}

package store

import (
	"context"
	"sync"
)

// Usage is what a call cost, in DynamoDB's units.
type Usage struct {
	// Calls is the number of requests, retries included.
	Calls int
	// WriteUnits and ReadUnits count capacity units, those of the indexes included.
	WriteUnits float64
	ReadUnits  float64
}

// Meter sums what the calls under one context cost. It is safe for concurrent use.
type Meter struct {
	mu    sync.Mutex
	usage Usage
}

// Usage is the sum so far.
func (m *Meter) Usage() Usage {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.usage
}

// Count adds to the meter. A nil meter counts nothing.
func (m *Meter) Count(u Usage) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.usage.Calls += u.Calls
	m.usage.WriteUnits += u.WriteUnits
	m.usage.ReadUnits += u.ReadUnits
}

type meterKey struct{}

// WithMeter gives a context whose store calls are counted, and the meter.
func WithMeter(ctx context.Context) (context.Context, *Meter) {
	meter := &Meter{}
	return context.WithValue(ctx, meterKey{}, meter), meter
}

// MeterOf answers the context's meter, nil if it has none.
func MeterOf(ctx context.Context) *Meter {
	meter, _ := ctx.Value(meterKey{}).(*Meter)
	return meter
}

// Units is what a write costs on DynamoDB when ops are applied to the items
// that stood there: a unit per KB of the larger of old and new, twice that in a
// transaction, and one for every index entry set or removed.
func Units(ops []Op, before, after []*Item) float64 {
	units := 0.0
	for i := range ops {
		size := 1
		for _, item := range []*Item{before[i], after[i]} {
			if item != nil && ops[i].changes() {
				size = max(size, (ItemSize(*item)+1023)/1024)
			}
		}
		units += float64(size)
	}
	if len(ops) > 1 {
		units *= 2
	}
	for i := range ops {
		units += indexUnits(before[i], after[i])
	}
	return units
}

func indexUnits(before, after *Item) float64 {
	var old, now [2]*IndexKey
	if before != nil {
		old = [2]*IndexKey{before.List, before.Due}
	}
	if after != nil {
		now = [2]*IndexKey{after.List, after.Due}
	}
	units := 0.0
	for i := range old {
		switch {
		case old[i] == nil && now[i] == nil, old[i] != nil && now[i] != nil && *old[i] == *now[i]:
		case old[i] != nil && now[i] != nil:
			units += 2
		default:
			units++
		}
	}
	return units
}

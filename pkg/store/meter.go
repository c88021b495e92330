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

// Cost is what a write costs on DynamoDB, by what it is for.
type Cost struct {
	// Records is one for each item named, changed or only checked; two in a transaction.
	Records float64
	// Sizes is as much again for every KB after the first of the larger of old and new.
	Sizes float64
	// Indexes is one for every index entry set or removed; one that moves is both.
	Indexes float64
}

// Units is the sum.
func (c Cost) Units() float64 { return c.Records + c.Sizes + c.Indexes }

// CostOf is what a write costs when ops are applied to the items that stood
// there, and leave those after them.
func CostOf(ops []Op, before, after []*Item) Cost {
	var c Cost
	each := 1.0
	if len(ops) > 1 {
		each = 2
	}
	for i := range ops {
		size := 1
		for _, item := range []*Item{before[i], after[i]} {
			if item != nil && ops[i].changes() {
				size = max(size, (ItemSize(*item)+1023)/1024)
			}
		}
		c.Records += each
		c.Sizes += each * float64(size-1)
		c.Indexes += indexUnits(before[i], after[i])
	}
	return c
}

// Units is what CostOf comes to.
func Units(ops []Op, before, after []*Item) float64 { return CostOf(ops, before, after).Units() }

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

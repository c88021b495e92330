package dynamostore

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/outerloop-dev/outerloop/pkg/store"
)

// count takes what the endpoint says it charged; where it says nothing, what
// the sizes say.
func (w *write) count(ctx context.Context, capacity ...types.ConsumedCapacity) {
	meter := store.MeterOf(ctx)
	if meter == nil {
		return
	}
	units := 0.0
	for _, c := range capacity {
		units += value(c.CapacityUnits)
	}
	if units == 0 {
		units = store.Units(w.ops, make([]*store.Item, len(w.ops)), w.stored())
	}
	meter.Count(store.Usage{Calls: 1, WriteUnits: units})
}

// countRefused: a write whose condition fails is charged by the size of what
// stood in its way, and the error does not say how much.
func (w *write) countRefused(ctx context.Context, items []*store.Item) {
	if meter := store.MeterOf(ctx); meter != nil {
		meter.Count(store.Usage{Calls: 1, WriteUnits: store.Units(w.ops, items, items)})
	}
}

func (w *write) stored() []*store.Item {
	items := make([]*store.Item, len(w.ops))
	for i, op := range w.ops {
		if op.Kind == store.KindCreate || op.Kind == store.KindReplace {
			items[i] = &op.Item
		}
	}
	return items
}

func countRead(ctx context.Context, capacity ...types.ConsumedCapacity) {
	meter := store.MeterOf(ctx)
	if meter == nil {
		return
	}
	units := 0.0
	for _, c := range capacity {
		units += value(c.CapacityUnits)
	}
	meter.Count(store.Usage{Calls: 1, ReadUnits: units})
}

func value(f *float64) float64 {
	if f == nil {
		return 0
	}
	return *f
}

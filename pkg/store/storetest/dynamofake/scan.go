package dynamofake

import (
	"cmp"
	"context"
	"hash/fnv"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Scan reads the whole table, its partitions in an order that is not that of
// their keys, as the service's is not.
func (f *Fake) Scan(ctx context.Context, in *dynamodb.ScanInput, _ ...func(*dynamodb.Options)) (out *dynamodb.ScanOutput, err error) {
	const name = "Scan"
	fault, err := f.begin(ctx, name, 0)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err = f.end(name, fault, err); err != nil {
			out = nil
		}
	}()
	if deref(in.TableName) != f.Table {
		return nil, &types.ResourceNotFoundException{Message: ptr("Requested resource not found")}
	}
	if in.Limit != nil && *in.Limit < 1 {
		return nil, invalid("Limit must be greater than or equal to 1")
	}
	keys := make([]key, 0, len(f.items.items))
	for at := range f.items.items {
		keys = append(keys, at)
	}
	slices.SortFunc(keys, scanOrder)
	var rows []attributes
	for _, at := range keys {
		if in.ExclusiveStartKey == nil || scanOrder(at, keyOf(in.ExclusiveStartKey)) > 0 {
			rows = append(rows, f.items.items[at])
		}
	}
	p := pageOf(rows, clone, in.Limit)
	out = &dynamodb.ScanOutput{Items: p.items, Count: p.count()}
	if p.last != nil {
		out.LastEvaluatedKey = keyOnly(p.last)
	}
	units := readUnits(p.bytes, deref(in.ConsistentRead))
	out.ConsumedCapacity = &types.ConsumedCapacity{TableName: &f.Table, CapacityUnits: &units}
	return out, nil
}

func scanOrder(a, b key) int {
	return cmp.Or(cmp.Compare(hashOf(a.part), hashOf(b.part)), cmp.Compare(a.part, b.part), cmp.Compare(a.sort, b.sort))
}

func hashOf(part string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(part)) // a hash takes everything
	return h.Sum64()
}

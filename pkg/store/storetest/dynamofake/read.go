package dynamofake

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/outerloop-dev/outerloop/pkg/store/dynamostore"
)

const (
	maxBatch      = 100
	maxBatchBytes = 16 << 20
	maxQueryBytes = 1 << 20
)

// BatchGetItem reads items.
func (f *Fake) BatchGetItem(ctx context.Context, in *dynamodb.BatchGetItemInput, _ ...func(*dynamodb.Options)) (out *dynamodb.BatchGetItemOutput, err error) {
	const name = "BatchGetItem"
	fault, err := f.begin(ctx, name, 0)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err = f.end(name, fault, err); err != nil {
			out = nil
		}
	}()
	asked, ok := in.RequestItems[f.Table]
	if !ok || len(in.RequestItems) != 1 {
		return nil, &types.ResourceNotFoundException{Message: ptr("Requested resource not found")}
	}
	if len(asked.Keys) == 0 || len(asked.Keys) > maxBatch {
		return nil, invalid("Member must have length between 1 and 100")
	}
	out = &dynamodb.BatchGetItemOutput{Responses: map[string][]attributes{}, UnprocessedKeys: map[string]types.KeysAndAttributes{}}
	seen, bytes, units := map[key]bool{}, 0, 0.0
	for i, attrs := range asked.Keys {
		at := keyOf(attrs)
		if seen[at] {
			return nil, invalid("Provided list of item keys contains duplicates")
		}
		seen[at] = true
		item := f.items.items[at]
		if bytes += size(item); bytes > maxBatchBytes || fault == Unprocessed && i > len(asked.Keys)/2 {
			out.UnprocessedKeys[f.Table] = types.KeysAndAttributes{Keys: asked.Keys[i:], ConsistentRead: asked.ConsistentRead}
			break
		}
		units += readUnits(size(item), deref(asked.ConsistentRead))
		if item != nil {
			out.Responses[f.Table] = append(out.Responses[f.Table], clone(item))
		}
	}
	out.ConsumedCapacity = []types.ConsumedCapacity{{TableName: &f.Table, CapacityUnits: &units}}
	return out, nil
}

func readUnits(size int, strong bool) float64 {
	units := math.Max(1, math.Ceil(float64(size)/4096))
	if !strong {
		units /= 2
	}
	return units
}

func deref[T any](p *T) (value T) {
	if p != nil {
		value = *p
	}
	return value
}

// Query reads a range of one partition, of the table or an index.
func (f *Fake) Query(ctx context.Context, in *dynamodb.QueryInput, _ ...func(*dynamodb.Options)) (out *dynamodb.QueryOutput, err error) {
	const name = "Query"
	fault, err := f.begin(ctx, name, 0)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err = f.end(name, fault, err); err != nil {
			out = nil
		}
	}()
	r := &reader{names: in.ExpressionAttributeNames, values: in.ExpressionAttributeValues, used: map[string]bool{}}
	matches, err := r.parseCondition(in.KeyConditionExpression)
	if err != nil {
		return nil, err
	}
	if err := r.unused(); err != nil {
		return nil, err
	}
	view, err := f.view(in)
	if err != nil {
		return nil, err
	}
	view.items = view.space.parts[view.names[0]][r.partition(view.names[0])]
	rows := view.rows(matches, deref(in.ScanIndexForward) || in.ScanIndexForward == nil)
	return view.page(rows, in), nil
}

// partition finds the partition that a key condition asks for.
func (r *reader) partition(attribute string) string {
	for i := 2; i < len(r.tokens); i++ {
		if r.names[r.tokens[i-2]] == attribute && r.tokens[i-1] == "=" {
			return textOf(r.values[r.tokens[i]])
		}
	}
	return ""
}

// view is what a query looks at: the table or an index, at its own age.
type view struct {
	space space
	items map[key]attributes // of the partition asked for
	names [2]string          // sort order; in an index the table's key decides among equals
	keys  []string           // attributes an index projects; nil: all
	table string
}

func (f *Fake) view(in *dynamodb.QueryInput) (view, error) {
	if deref(in.TableName) != f.Table {
		return view{}, &types.ResourceNotFoundException{Message: ptr("Requested resource not found")}
	}
	tableKey := [2]string{dynamostore.PartAttribute, dynamostore.SortAttribute}
	if in.IndexName == nil {
		return view{space: f.items, names: tableKey, table: f.Table}, nil
	}
	names, ok := indexes[*in.IndexName]
	if !ok {
		return view{}, invalid("The table does not have the specified index: %s", *in.IndexName)
	}
	if deref(in.ConsistentRead) {
		return view{}, invalid("Consistent reads are not supported on global secondary indexes")
	}
	f.catchUp(1)
	return view{space: f.shown, names: names, keys: []string{tableKey[0], tableKey[1], names[0], names[1]}, table: f.Table}, nil
}

func (v view) rows(matches test, forward bool) []attributes {
	var rows []attributes
	for _, item := range v.items {
		if entry(item, v.names) != (key{}) && matches(item) {
			rows = append(rows, item)
		}
	}
	slices.SortFunc(rows, func(a, b attributes) int {
		if forward {
			return v.order(a, b)
		}
		return v.order(b, a)
	})
	return rows
}

func (v view) order(a, b attributes) int {
	x, y := keyOf(a), keyOf(b)
	return cmp.Or(cmp.Compare(entry(a, v.names).sort, entry(b, v.names).sort), cmp.Compare(x.part, y.part), cmp.Compare(x.sort, y.sort))
}

// page cuts the rows to what follows the start key, the limit and 1 MB.
func (v view) page(rows []attributes, in *dynamodb.QueryInput) *dynamodb.QueryOutput {
	forward := in.ScanIndexForward == nil || *in.ScanIndexForward
	rows = slices.DeleteFunc(rows, func(row attributes) bool {
		order := v.order(row, in.ExclusiveStartKey)
		return in.ExclusiveStartKey != nil && (forward && order <= 0 || !forward && order >= 0)
	})
	p := pageOf(rows, v.projected, in.Limit)
	out := &dynamodb.QueryOutput{Items: p.items, Count: p.count()}
	if p.last != nil {
		out.LastEvaluatedKey = v.lastKey(p.last)
	}
	units := readUnits(p.bytes, deref(in.ConsistentRead))
	out.ConsumedCapacity = &types.ConsumedCapacity{TableName: &v.table, CapacityUnits: &units}
	return out
}

// page is what one answer holds. last is its last row where it ended early: at
// its limit, whether or not more follows, or after 1 MB.
type page struct {
	items []attributes
	last  attributes
	bytes int
}

func (p page) count() int32 { return int32(len(p.items)) } // a few thousand at most

func pageOf(rows []attributes, shown func(attributes) attributes, limit *int32) page {
	var p page
	for _, row := range rows {
		item := shown(row)
		p.bytes += size(item)
		p.items = append(p.items, item)
		if len(p.items) == int(deref(limit)) || p.bytes > maxQueryBytes {
			p.last = row
			break
		}
	}
	return p
}

func (v view) projected(item attributes) attributes {
	if v.keys == nil {
		return clone(item)
	}
	only := attributes{}
	for _, name := range v.keys {
		if value, ok := item[name]; ok {
			only[name] = value
		}
	}
	return only
}

func (v view) lastKey(item attributes) attributes {
	if v.keys != nil {
		return v.projected(item)
	}
	return keyOnly(item)
}

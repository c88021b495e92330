package dynamostore

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/outerloop-dev/outerloop/pkg/store"
)

// Write does all operations or none. Throttling and conflicts are repeated
// within Config.Patience. After an unclear answer a write is sent again where
// that cannot do it twice; otherwise the answer is store.ErrOutcomeUnknown.
func (s *Store) Write(ctx context.Context, id string, ops ...store.Op) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := store.Validate(id, ops); err != nil {
		return err
	}
	if len(ops) == 1 && ops[0].Kind == store.KindCheck {
		return s.verify(ctx, id, ops)
	}
	w := &write{store: s, id: id, ops: ops}
	if len(ops) > 1 {
		w.token = token(id, ops)
	}
	return w.run(ctx, s.pace.now().Add(s.pace.patience))
}

// verify does a check alone by a strongly consistent read: a transaction of one
// check would cost two write units to change nothing.
func (s *Store) verify(ctx context.Context, id string, ops []store.Op) error {
	items, err := s.Get(ctx, ops[0].Item.Key)
	if err != nil {
		return err
	}
	if _, ok := store.Evaluate(id, ops[0], items[0]); !ok {
		return store.Failed(id, ops, 0, items)
	}
	return nil
}

// token makes the same request the same for DynamoDB for ten minutes. Other
// operations under the same id are another request; a write without an id is
// never the same as another.
func token(id string, ops []store.Op) string {
	if id == "" {
		return rand.Text()
	}
	hash := sha256.New()
	// Ops hold text, numbers and bytes; a hash takes all. Neither fails.
	_ = json.NewEncoder(hash).Encode(struct {
		ID  string
		Ops []store.Op
	}{id, ops})
	return hex.EncodeToString(hash.Sum(nil)[:16])
}

// write is one write on its way.
type write struct {
	store   *Store
	id      string
	ops     []store.Op
	token   string // of a transaction
	unclear bool   // an earlier attempt may have been carried out
}

func (w *write) run(ctx context.Context, until time.Time) error {
	for n := 0; ; n++ {
		err := w.send(ctx)
		what, told := judge(err)
		switch what {
		case done:
			return nil
		case failed:
			return w.doubt(told)
		case refused:
			return w.refused(ctx, err)
		case unclear:
			w.unclear = true
			if !w.repeatable() {
				return w.look(ctx, told)
			}
		case throttled:
		}
		if !w.store.pace.again(ctx, n, until) {
			return w.doubt(told)
		}
	}
}

// doubt keeps the unknown outcome of an earlier attempt in the answer.
func (w *write) doubt(err error) error {
	if w.unclear {
		return fmt.Errorf("%w: %w", store.ErrOutcomeUnknown, err)
	}
	return err
}

// repeatable tells whether a second sending cannot be a second doing: a
// transaction by its token, a create, and whatever names a version.
func (w *write) repeatable() bool {
	return w.token != "" || w.ops[0].Kind == store.KindCreate || w.ops[0].Version != 0
}

// look tries to find the write's own id after an unclear answer.
func (w *write) look(ctx context.Context, told error) error {
	if gone(ctx) || w.id == "" {
		return told
	}
	items, err := w.store.Get(ctx, w.ops[0].Item.Key)
	if err == nil && items[0] != nil && items[0].WriteID == w.id {
		return nil
	}
	return told
}

// refused tells what stands in the way, or that this very write did it.
func (w *write) refused(ctx context.Context, err error) error {
	items, at, fault := current(err, len(w.ops))
	if fault != nil {
		return fault
	}
	first := -1
	for i := range at {
		if at[i] && first < 0 {
			first = i
		}
	}
	w.countRefused(ctx, items)
	if err := w.complete(ctx, items, at); err != nil {
		return err
	}
	failed := store.Failed(w.id, w.ops, first, items)
	switch {
	case w.unclear && failed.Won:
		return nil
	case w.unclear && w.token == "":
		// The unclear attempt may have been done and overwritten since.
		return fmt.Errorf("%w: %w", store.ErrOutcomeUnknown, failed)
	default:
		return failed
	}
}

// complete reads the items of which a cancelled transaction says nothing, when
// what it says points to this very write.
func (w *write) complete(ctx context.Context, items []*store.Item, at []bool) error {
	mine := false
	var missing []int
	var keys []store.Key
	for i := range w.ops {
		mine = mine || items[i] != nil && w.id != "" && items[i].WriteID == w.id
		if !at[i] && w.ops[i].Kind != store.KindCheck {
			missing, keys = append(missing, i), append(keys, w.ops[i].Item.Key)
		}
	}
	if !mine || len(missing) == 0 {
		return nil
	}
	found, err := w.store.Get(ctx, keys...)
	if err != nil {
		return fmt.Errorf("reading who won: %w", err)
	}
	for i, item := range found {
		items[missing[i]] = item
	}
	return nil
}

func (w *write) send(ctx context.Context) error {
	s, total := w.store, types.ReturnConsumedCapacityTotal
	if w.token != "" {
		input := &dynamodb.TransactWriteItemsInput{ClientRequestToken: &w.token, ReturnConsumedCapacity: total}
		for _, op := range w.ops {
			input.TransactItems = append(input.TransactItems, s.action(w.id, op))
		}
		out, err := s.client.TransactWriteItems(ctx, input, once)
		if err == nil {
			w.count(ctx, out.ConsumedCapacity...)
		}
		return err
	}
	capacity, err := w.sendOne(ctx, w.ops[0], total)
	if err == nil {
		w.count(ctx, capacity)
	}
	return err
}

// sendOne sends a single operation as a plain conditional write.
func (w *write) sendOne(ctx context.Context, op store.Op, total types.ReturnConsumedCapacity) (types.ConsumedCapacity, error) {
	s := w.store
	switch op.Kind {
	case store.KindAdd:
		u := s.add(w.id, op)
		out, err := s.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
			TableName: u.TableName, Key: u.Key, ConditionExpression: u.ConditionExpression, UpdateExpression: u.UpdateExpression,
			ExpressionAttributeNames: u.ExpressionAttributeNames, ExpressionAttributeValues: u.ExpressionAttributeValues,
			ReturnValuesOnConditionCheckFailure: allOld, ReturnConsumedCapacity: total,
		}, once)
		if err != nil {
			return types.ConsumedCapacity{}, err
		}
		return orNone(out.ConsumedCapacity), nil
	case store.KindRemove:
		d := s.remove(w.id, op)
		out, err := s.client.DeleteItem(ctx, &dynamodb.DeleteItemInput{
			TableName: d.TableName, Key: d.Key, ConditionExpression: d.ConditionExpression,
			ExpressionAttributeNames: d.ExpressionAttributeNames, ExpressionAttributeValues: d.ExpressionAttributeValues,
			ReturnValuesOnConditionCheckFailure: allOld, ReturnConsumedCapacity: total,
		}, once)
		if err != nil {
			return types.ConsumedCapacity{}, err
		}
		return orNone(out.ConsumedCapacity), nil
	default:
		p := s.put(w.id, op)
		out, err := s.client.PutItem(ctx, &dynamodb.PutItemInput{
			TableName: p.TableName, Item: p.Item, ConditionExpression: p.ConditionExpression,
			ExpressionAttributeNames: p.ExpressionAttributeNames, ExpressionAttributeValues: p.ExpressionAttributeValues,
			ReturnValuesOnConditionCheckFailure: allOld, ReturnConsumedCapacity: total,
		}, once)
		if err != nil {
			return types.ConsumedCapacity{}, err
		}
		return orNone(out.ConsumedCapacity), nil
	}
}

func orNone(c *types.ConsumedCapacity) types.ConsumedCapacity {
	if c == nil {
		return types.ConsumedCapacity{}
	}
	return *c
}

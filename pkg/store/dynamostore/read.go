package dynamostore

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/outerloop-dev/outerloop/pkg/store"
)

// Get reads items, strongly consistent, each by itself.
func (s *Store) Get(ctx context.Context, keys ...store.Key) ([]*store.Item, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := store.ValidateKeys(keys); err != nil {
		return nil, err
	}
	found, err := s.fetch(ctx, keys)
	if err != nil {
		return nil, fmt.Errorf("reading items: %w", err)
	}
	items, given := make([]*store.Item, len(keys)), map[store.Key]bool{}
	for i, key := range keys {
		if items[i] = found[key]; items[i] != nil && given[key] {
			items[i] = copied(items[i])
		}
		given[key] = true
	}
	return items, nil
}

// copied lets two answers for one key be changed apart from each other.
func copied(item *store.Item) *store.Item {
	again, err := decode(encode(item.WriteID, *item, item.Version))
	if err != nil {
		return item // it was decoded from the same
	}
	again.Body = append([]byte(nil), item.Body...)
	return again
}

// fetch reads up to 100 keys and asks again for what a batch left out.
func (s *Store) fetch(ctx context.Context, keys []store.Key) (map[store.Key]*store.Item, error) {
	found, strong := map[store.Key]*store.Item{}, true
	asked := types.KeysAndAttributes{ConsistentRead: &strong}
	for _, key := range keys {
		if _, twice := found[key]; !twice {
			found[key] = nil
			asked.Keys = append(asked.Keys, keyAttributes(key))
		}
	}
	until := s.pace.now().Add(s.pace.patience)
	for n := 0; len(asked.Keys) > 0; n++ {
		out, err := s.batch(ctx, asked)
		if err != nil {
			return nil, err
		}
		for _, attrs := range out.Responses[s.table] {
			item, err := decode(attrs)
			if err != nil {
				return nil, err
			}
			found[item.Key] = item
		}
		left := out.UnprocessedKeys[s.table]
		if len(left.Keys) > 0 && len(left.Keys) == len(asked.Keys) && !s.pace.again(ctx, n, until) {
			return nil, fmt.Errorf("%w: %d keys were not read", store.ErrThrottled, len(left.Keys))
		}
		asked.Keys = left.Keys
	}
	return found, nil
}

func (s *Store) batch(ctx context.Context, asked types.KeysAndAttributes) (out *dynamodb.BatchGetItemOutput, err error) {
	err = s.pace.read(ctx, func() (err error) {
		out, err = s.client.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{
			RequestItems:           map[string]types.KeysAndAttributes{s.table: asked},
			ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
		}, once)
		return err
	})
	if err == nil {
		countRead(ctx, out.ConsumedCapacity...)
	}
	return out, err
}

// List reads one page. The order among items with equal sort keys in an index
// is DynamoDB's.
func (s *Store) List(ctx context.Context, q store.Query) (store.Page, error) {
	if err := ctx.Err(); err != nil {
		return store.Page{}, err
	}
	span, err := q.Span()
	if err != nil || span.None {
		return store.Page{}, err
	}
	l := &list{store: s, q: q, span: span}
	page, err := l.page(ctx)
	if err != nil {
		return store.Page{}, fmt.Errorf("listing %s: %w", q.Part, err)
	}
	return page, nil
}

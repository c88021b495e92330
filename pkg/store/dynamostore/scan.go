package dynamostore

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/outerloop-dev/outerloop/pkg/store"
)

// ScanClient is what a scanner calls of *dynamodb.Client. It is apart from
// Client: no role that moves runs may scan the table.
type ScanClient interface {
	Scan(context.Context, *dynamodb.ScanInput, ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error)
}

// Scanner walks through a whole table, strongly consistent, each page by itself.
type Scanner struct {
	client ScanClient
	table  string
	pace   pace
}

var _ store.Scanner = (*Scanner)(nil)

// NewScanner takes table, clock and patience from the store's configuration;
// its Client is not used.
func NewScanner(client ScanClient, c Config) (*Scanner, error) {
	if client == nil || c.Table == "" {
		return nil, errors.New("dynamostore: a scanner needs a client and a table")
	}
	return &Scanner{client: client, table: c.Table, pace: c.pace()}, nil
}

// Scan answers what follows a key in the table's own order of partitions.
func (s *Scanner) Scan(ctx context.Context, after store.Key, limit int) ([]store.Item, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := store.ValidateScan(after, limit); err != nil {
		return nil, err
	}
	strong, most := true, int32(limit) // at most 1,000
	in := &dynamodb.ScanInput{
		TableName: &s.table, ConsistentRead: &strong, Limit: &most,
		ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
	}
	if after != (store.Key{}) {
		in.ExclusiveStartKey = keyAttributes(after)
	}
	for {
		out, err := s.page(ctx, in)
		if err != nil {
			return nil, fmt.Errorf("scanning after %s/%s: %w", after.Part, after.Sort, err)
		}
		items := make([]store.Item, 0, len(out.Items))
		for _, attrs := range out.Items {
			item, err := decode(attrs)
			if err != nil {
				return nil, err
			}
			items = append(items, *item)
		}
		if len(items) > 0 || len(out.LastEvaluatedKey) == 0 {
			return items, nil
		}
		in.ExclusiveStartKey = out.LastEvaluatedKey // a page may be empty before the end
	}
}

func (s *Scanner) page(ctx context.Context, in *dynamodb.ScanInput) (out *dynamodb.ScanOutput, err error) {
	err = s.pace.read(ctx, func() (err error) {
		out, err = s.client.Scan(ctx, in, once)
		return err
	})
	if err == nil {
		countRead(ctx, orNone(out.ConsumedCapacity))
	}
	return out, err
}

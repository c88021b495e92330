package dynamofake

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/outerloop-dev/outerloop/pkg/store/dynamostore"
)

// MakeTable makes a table of a new name at an endpoint, for a test. The SDK asks
// again when an answer is lost, so one that is there already is the test's own.
func MakeTable(ctx context.Context, client *dynamodb.Client, name string) error {
	_, err := client.CreateTable(ctx, dynamostore.Table(name))
	var there *types.ResourceInUseException
	if errors.As(err, &there) {
		return nil
	}
	return err
}

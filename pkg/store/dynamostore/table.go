package dynamostore

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/outerloop-dev/outerloop/pkg/store"
)

// Table describes the table the store expects: on demand, two indexes of keys.
// TimeToLive on ExpiresAttribute is switched on apart from it.
func Table(name string) *dynamodb.CreateTableInput {
	input := &dynamodb.CreateTableInput{
		TableName: &name, BillingMode: types.BillingModePayPerRequest, KeySchema: schema(store.ByPart),
	}
	for _, index := range []store.Index{store.ByPart, store.ByList, store.ByDue} {
		part, sort := IndexAttributes(index)
		for _, attribute := range []string{part, sort} {
			input.AttributeDefinitions = append(input.AttributeDefinitions, types.AttributeDefinition{
				AttributeName: aws.String(attribute), AttributeType: types.ScalarAttributeTypeS,
			})
		}
		if index != store.ByPart {
			input.GlobalSecondaryIndexes = append(input.GlobalSecondaryIndexes, types.GlobalSecondaryIndex{
				IndexName: aws.String(string(index)), KeySchema: schema(index),
				Projection: &types.Projection{ProjectionType: types.ProjectionTypeKeysOnly},
			})
		}
	}
	return input
}

func schema(index store.Index) []types.KeySchemaElement {
	part, sort := IndexAttributes(index)
	return []types.KeySchemaElement{
		{AttributeName: aws.String(part), KeyType: types.KeyTypeHash},
		{AttributeName: aws.String(sort), KeyType: types.KeyTypeRange},
	}
}

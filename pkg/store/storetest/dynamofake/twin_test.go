package dynamofake_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/outerloop-dev/outerloop/pkg/store/dynamostore"
)

// twin sends every request to two DynamoDBs and compares the answers.
type twin struct {
	t          *testing.T
	fake, real dynamostore.Client
	writes     int
	reads      int
	lost       int // answers that could not be read
	outcomes   map[string]int
}

func writes(request any) bool {
	switch request.(type) {
	case *dynamodb.BatchGetItemInput, *dynamodb.QueryInput:
		return false
	}
	return true
}

// compare reports answers that differ and hands on the fake's.
func compare[Out any](w *twin, request any, render func(Out) string, fake, real func() (Out, error)) (Out, error) {
	w.t.Helper()
	ours, ourErr := fake()
	theirs, theirErr := real()
	for status, ok := lost(theirErr); ok; status, ok = lost(theirErr) {
		if w.lost++; status == http.StatusOK && writes(request) {
			return ours, ourErr // done; the answer cannot be had again
		}
		theirs, theirErr = real() // a read, or refused: the same can be asked again
	}
	a, b := failure(ourErr), failure(theirErr)
	if ourErr == nil {
		a = "ok " + render(ours)
	}
	if theirErr == nil {
		b = "ok " + render(theirs)
	}
	if a != b {
		w.t.Errorf("answers differ\nrequest %s\nfake %s\nreal %s\n(%v)", show(request), a, b, theirErr)
	}
	w.outcomes[strings.SplitN(failure(ourErr), " ", 2)[0]]++
	return ours, ourErr
}

// lost tells that the answer's body could not be read (MiniStack closes now
// and then what it is still sending), and its status.
func lost(err error) (status int, ok bool) {
	var answered *awshttp.ResponseError
	if errors.As(err, &answered) && errors.Is(err, net.ErrClosed) {
		return answered.HTTPStatusCode(), true
	}
	return 0, false
}

// failure renders what a program can tell of an error.
func failure(err error) string {
	var api smithy.APIError
	if !errors.As(err, &api) {
		return fmt.Sprint(err)
	}
	text := api.ErrorCode()
	var condition *types.ConditionalCheckFailedException
	if errors.As(err, &condition) {
		text += " " + renderItem(condition.Item)
	}
	var cancelled *types.TransactionCanceledException
	if errors.As(err, &cancelled) {
		for _, reason := range cancelled.CancellationReasons {
			text += " [" + *reason.Code + " " + renderItem(reason.Item) + "]"
		}
	}
	return text
}

func renderItem(item map[string]types.AttributeValue) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(item)) {
		switch value := item[name].(type) {
		case *types.AttributeValueMemberS:
			parts = append(parts, fmt.Sprintf("%s=%q", name, value.Value))
		case *types.AttributeValueMemberN:
			parts = append(parts, name+"="+value.Value)
		case *types.AttributeValueMemberB:
			parts = append(parts, fmt.Sprintf("%s=%d:%.20s", name, len(value.Value), value.Value))
		default:
			parts = append(parts, fmt.Sprintf("%s=%T", name, value))
		}
	}
	return "{" + strings.Join(parts, ",") + "}"
}

func renderItems(items []map[string]types.AttributeValue, sorted bool) string {
	texts := make([]string, len(items))
	for i, item := range items {
		texts[i] = renderItem(item)
	}
	if !sorted {
		slices.Sort(texts)
	}
	return strings.Join(texts, " ")
}

func show(request any) string {
	switch in := request.(type) {
	case *dynamodb.PutItemInput:
		return fmt.Sprintf("put %s if %s %s", renderItem(in.Item), *in.ConditionExpression, renderItem(in.ExpressionAttributeValues))
	case *dynamodb.UpdateItemInput:
		return fmt.Sprintf("update %s: %s if %s %s", renderItem(in.Key), *in.UpdateExpression, *in.ConditionExpression, renderItem(in.ExpressionAttributeValues))
	case *dynamodb.QueryInput:
		return fmt.Sprintf("query %s %v %s limit %d after %s", *in.KeyConditionExpression, in.ExpressionAttributeNames,
			renderItem(in.ExpressionAttributeValues), *in.Limit, renderItem(in.ExclusiveStartKey))
	case *dynamodb.TransactWriteItemsInput:
		text := "transaction " + *in.ClientRequestToken
		for _, item := range in.TransactItems {
			switch {
			case item.Put != nil:
				text += fmt.Sprintf("; put %s if %s", renderItem(item.Put.Item), *item.Put.ConditionExpression)
			case item.Update != nil:
				text += fmt.Sprintf("; update %s: %s if %s", renderItem(item.Update.Key), *item.Update.UpdateExpression, *item.Update.ConditionExpression)
			case item.Delete != nil:
				text += fmt.Sprintf("; delete %s if %s", renderItem(item.Delete.Key), *item.Delete.ConditionExpression)
			case item.ConditionCheck != nil:
				text += fmt.Sprintf("; check %s: %s", renderItem(item.ConditionCheck.Key), *item.ConditionCheck.ConditionExpression)
			}
		}
		return text
	default:
		return fmt.Sprintf("%T", request)
	}
}

func (w *twin) PutItem(ctx context.Context, in *dynamodb.PutItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	w.writes++
	return compare(w, in, func(out *dynamodb.PutItemOutput) string { return renderItem(out.Attributes) },
		func() (*dynamodb.PutItemOutput, error) { return w.fake.PutItem(ctx, in, opts...) },
		func() (*dynamodb.PutItemOutput, error) { return w.real.PutItem(ctx, in, opts...) })
}

func (w *twin) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	w.writes++
	return compare(w, in, func(out *dynamodb.UpdateItemOutput) string { return renderItem(out.Attributes) },
		func() (*dynamodb.UpdateItemOutput, error) { return w.fake.UpdateItem(ctx, in, opts...) },
		func() (*dynamodb.UpdateItemOutput, error) { return w.real.UpdateItem(ctx, in, opts...) })
}

func (w *twin) DeleteItem(ctx context.Context, in *dynamodb.DeleteItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error) {
	w.writes++
	return compare(w, in, func(out *dynamodb.DeleteItemOutput) string { return renderItem(out.Attributes) },
		func() (*dynamodb.DeleteItemOutput, error) { return w.fake.DeleteItem(ctx, in, opts...) },
		func() (*dynamodb.DeleteItemOutput, error) { return w.real.DeleteItem(ctx, in, opts...) })
}

func (w *twin) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, opts ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	w.writes++
	return compare(w, in, func(*dynamodb.TransactWriteItemsOutput) string { return "" },
		func() (*dynamodb.TransactWriteItemsOutput, error) { return w.fake.TransactWriteItems(ctx, in, opts...) },
		func() (*dynamodb.TransactWriteItemsOutput, error) { return w.real.TransactWriteItems(ctx, in, opts...) })
}

func (w *twin) BatchGetItem(ctx context.Context, in *dynamodb.BatchGetItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
	w.reads++
	return compare(w, in, func(out *dynamodb.BatchGetItemOutput) string {
		var all []map[string]types.AttributeValue
		for _, items := range out.Responses {
			all = append(all, items...)
		}
		return renderItems(all, false)
	},
		func() (*dynamodb.BatchGetItemOutput, error) { return w.fake.BatchGetItem(ctx, in, opts...) },
		func() (*dynamodb.BatchGetItemOutput, error) { return w.real.BatchGetItem(ctx, in, opts...) })
}

func (w *twin) Query(ctx context.Context, in *dynamodb.QueryInput, opts ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	w.reads++
	return compare(w, in, func(out *dynamodb.QueryOutput) string {
		return renderItems(out.Items, true) + " next " + renderItem(out.LastEvaluatedKey)
	},
		func() (*dynamodb.QueryOutput, error) { return w.fake.Query(ctx, in, opts...) },
		func() (*dynamodb.QueryOutput, error) { return w.real.Query(ctx, in, opts...) })
}

package dynamofake

import (
	"context"
	"encoding/json"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

const (
	maxActions  = 100
	maxRequest  = 4 << 20
	tokenMemory = 10 * time.Minute
)

// TransactWriteItems does all actions or none.
func (f *Fake) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, _ ...func(*dynamodb.Options)) (out *dynamodb.TransactWriteItemsOutput, err error) {
	const name = "TransactWriteItems"
	fault, err := f.begin(ctx, name, len(in.TransactItems))
	if err != nil {
		return nil, err
	}
	defer func() {
		if err = f.end(name, fault, err); err != nil {
			out = nil
		}
	}()
	if len(in.TransactItems) == 0 || len(in.TransactItems) > maxActions {
		return nil, invalid("Member must have length between 1 and 100")
	}
	request, known, err := f.remembered(in)
	if err != nil || known {
		return &dynamodb.TransactWriteItemsOutput{}, err
	}
	effects, err := f.decideAll(in)
	if err != nil {
		return nil, err
	}
	units := 0.0
	for _, does := range effects {
		f.put(does.at, does.after)
		units += does.units(2)
	}
	if in.ClientRequestToken != nil {
		f.tokens[*in.ClientRequestToken] = remembered{request, f.Now()}
	}
	return &dynamodb.TransactWriteItemsOutput{
		ConsumedCapacity: []types.ConsumedCapacity{{TableName: &f.Table, CapacityUnits: &units}},
	}, nil
}

// remembered tells whether the request was done under its token before.
func (f *Fake) remembered(in *dynamodb.TransactWriteItemsInput) (request string, known bool, err error) {
	if in.ClientRequestToken == nil {
		return "", false, nil
	}
	token := *in.ClientRequestToken
	if len(token) < 1 || len(token) > 36 {
		return "", false, invalid("ClientRequestToken must have length between 1 and 36")
	}
	text, err := json.Marshal(in.TransactItems)
	if err != nil {
		return "", false, err
	}
	before, known := f.tokens[token]
	switch {
	case !known || f.Now().Sub(before.done) > tokenMemory:
		return string(text), false, nil
	case before.request != string(text):
		return "", false, &types.IdempotentParameterMismatchException{}
	default:
		return "", true, nil
	}
}

// decideAll evaluates every action; a reason stands for each, in order.
func (f *Fake) decideAll(in *dynamodb.TransactWriteItemsInput) ([]effect, error) {
	effects := make([]effect, len(in.TransactItems))
	reasons, cancelled := make([]types.CancellationReason, len(effects)), false
	seen, total := map[key]bool{}, 0
	for i, item := range in.TransactItems {
		a := actionOf(item)
		does, err := f.decide(a)
		if err != nil {
			return nil, err
		}
		if seen[does.at] {
			return nil, invalid("Transaction request cannot include multiple operations on one item")
		}
		seen[does.at] = true
		reasons[i].Code = ptr("None")
		switch {
		case !does.holds:
			cancelled = true
			reasons[i].Code, reasons[i].Message = ptr("ConditionalCheckFailed"), ptr("The conditional request failed")
			if a.old == types.ReturnValuesOnConditionCheckFailureAllOld {
				reasons[i].Item = clone(does.before)
			}
		case size(does.after) > maxItem && a.kind == "Put":
			return nil, tooLarge(a.kind)
		case size(does.after) > maxItem:
			cancelled = true
			reasons[i].Code, reasons[i].Message = ptr("ValidationError"), ptr(tooLarge(a.kind).Error())
		}
		effects[i], total = does, total+size(does.after)
	}
	if total > maxRequest {
		return nil, invalid("Aggregate size of the items in the transaction cannot exceed 4 MB")
	}
	if cancelled {
		return nil, &types.TransactionCanceledException{CancellationReasons: reasons}
	}
	return effects, nil
}

func actionOf(item types.TransactWriteItem) action {
	switch {
	case item.Put != nil:
		p := item.Put
		return action{"Put", p.TableName, keyOnly(p.Item), p.Item, p.ConditionExpression, nil, p.ExpressionAttributeNames, p.ExpressionAttributeValues, p.ReturnValuesOnConditionCheckFailure}
	case item.Update != nil:
		u := item.Update
		return action{"Update", u.TableName, u.Key, nil, u.ConditionExpression, u.UpdateExpression, u.ExpressionAttributeNames, u.ExpressionAttributeValues, u.ReturnValuesOnConditionCheckFailure}
	case item.Delete != nil:
		d := item.Delete
		return action{"Delete", d.TableName, d.Key, nil, d.ConditionExpression, nil, d.ExpressionAttributeNames, d.ExpressionAttributeValues, d.ReturnValuesOnConditionCheckFailure}
	case item.ConditionCheck != nil:
		c := item.ConditionCheck
		return action{"ConditionCheck", c.TableName, c.Key, nil, c.ConditionExpression, nil, c.ExpressionAttributeNames, c.ExpressionAttributeValues, c.ReturnValuesOnConditionCheckFailure}
	default:
		return action{}
	}
}

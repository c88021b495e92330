package dynamofake

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/outerloop-dev/outerloop/pkg/store"
	"github.com/outerloop-dev/outerloop/pkg/store/dynamostore"
)

// action is one write, alone or in a transaction.
type action struct {
	kind      string // Put, Update, Delete, ConditionCheck
	table     *string
	key       attributes
	item      attributes
	condition *string
	update    *string
	names     map[string]string
	values    attributes
	old       types.ReturnValuesOnConditionCheckFailure
}

// effect is what an action would do.
type effect struct {
	at            key
	before, after attributes
	holds         bool
}

func invalid(format string, args ...any) error {
	return &smithy.GenericAPIError{Code: "ValidationException", Message: fmt.Sprintf(format, args...), Fault: smithy.FaultClient}
}

// PutItem stores an item.
func (f *Fake) PutItem(ctx context.Context, in *dynamodb.PutItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	capacity, err := f.single(ctx, "PutItem", action{
		"Put", in.TableName, keyOnly(in.Item), in.Item, in.ConditionExpression, nil,
		in.ExpressionAttributeNames, in.ExpressionAttributeValues, in.ReturnValuesOnConditionCheckFailure,
	})
	if err != nil {
		return nil, err
	}
	return &dynamodb.PutItemOutput{ConsumedCapacity: capacity}, nil
}

// UpdateItem changes attributes of an item.
func (f *Fake) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	capacity, err := f.single(ctx, "UpdateItem", action{
		"Update", in.TableName, in.Key, nil, in.ConditionExpression, in.UpdateExpression,
		in.ExpressionAttributeNames, in.ExpressionAttributeValues, in.ReturnValuesOnConditionCheckFailure,
	})
	if err != nil {
		return nil, err
	}
	return &dynamodb.UpdateItemOutput{ConsumedCapacity: capacity}, nil
}

// DeleteItem removes an item.
func (f *Fake) DeleteItem(ctx context.Context, in *dynamodb.DeleteItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error) {
	capacity, err := f.single(ctx, "DeleteItem", action{
		"Delete", in.TableName, in.Key, nil, in.ConditionExpression, nil,
		in.ExpressionAttributeNames, in.ExpressionAttributeValues, in.ReturnValuesOnConditionCheckFailure,
	})
	if err != nil {
		return nil, err
	}
	return &dynamodb.DeleteItemOutput{ConsumedCapacity: capacity}, nil
}

func keyOnly(item attributes) attributes {
	only := attributes{}
	for _, name := range []string{dynamostore.PartAttribute, dynamostore.SortAttribute} {
		if value, ok := item[name]; ok {
			only[name] = value
		}
	}
	return only
}

func (f *Fake) single(ctx context.Context, name string, a action) (capacity *types.ConsumedCapacity, err error) {
	fault, err := f.begin(ctx, name, 1)
	if err != nil {
		return nil, err
	}
	defer func() { err = f.end(name, fault, err) }()
	does, err := f.decide(a)
	if err != nil {
		return nil, err
	}
	if !does.holds {
		failed := &types.ConditionalCheckFailedException{Message: ptr("The conditional request failed")}
		if a.old == types.ReturnValuesOnConditionCheckFailureAllOld {
			failed.Item = clone(does.before)
		}
		return nil, failed
	}
	if size(does.after) > maxItem {
		return nil, tooLarge(a.kind)
	}
	f.put(does.at, does.after)
	return &types.ConsumedCapacity{TableName: &f.Table, CapacityUnits: ptr(does.units(1))}, nil
}

// decide checks an action's form and evaluates it against the table.
func (f *Fake) decide(a action) (effect, error) {
	if err := f.check(a); err != nil {
		return effect{}, err
	}
	r := &reader{names: a.names, values: a.values, used: map[string]bool{}}
	holds, err := r.parseCondition(a.condition)
	if err != nil {
		return effect{}, err
	}
	changes, err := r.parseUpdate(a.update)
	if err != nil {
		return effect{}, err
	}
	if err := r.unused(); err != nil {
		return effect{}, err
	}
	e := effect{at: keyOf(a.key)}
	e.before = f.items.items[e.at]
	e.holds, e.after = holds(e.before), e.before
	switch a.kind {
	case "Put":
		e.after = clone(a.item)
	case "Delete":
		e.after = nil
	case "Update":
		if e.after, err = updated(a.key, e.before, changes); err != nil {
			return effect{}, invalid("%v", err)
		}
	}
	return e, nil
}

func (f *Fake) check(a action) error {
	if a.table == nil || *a.table != f.Table {
		return &types.ResourceNotFoundException{Message: ptr("Requested resource not found")}
	}
	if at := keyOf(a.key); len(a.key) != 2 || at.part == "" || at.sort == "" || len(at.part) > 2048 || len(at.sort) > 1024 {
		return invalid("The provided key element does not match the schema")
	}
	if a.values != nil && len(a.values) == 0 {
		return invalid("ExpressionAttributeValues must not be empty")
	}
	for name, value := range a.item {
		if n, ok := value.(*types.AttributeValueMemberN); ok && (integer(n) == nil || len(n.Value) > 38) {
			return invalid("The parameter cannot be converted to a numeric value: %s", name)
		}
	}
	for _, index := range indexes {
		for _, name := range index {
			if text, ok := a.item[name].(*types.AttributeValueMemberS); ok && text.Value == "" {
				return invalid("One or more parameter values are not valid: the index key %s is empty", name)
			}
		}
	}
	return nil
}

func (r *reader) parseCondition(text *string) (test, error) {
	if text == nil {
		return func(attributes) bool { return true }, nil
	}
	if err := r.open(*text); err != nil {
		return nil, err
	}
	parsed, err := r.condition()
	if err == nil && r.peek() != "" {
		err = fmt.Errorf("syntax error near %q", r.peek())
	}
	if err != nil {
		return nil, invalid("Invalid ConditionExpression: %v", err)
	}
	return parsed, nil
}

func (r *reader) parseUpdate(text *string) ([]change, error) {
	if text == nil {
		return nil, nil
	}
	if err := r.open(*text); err != nil {
		return nil, err
	}
	changes, err := r.updates()
	if err != nil {
		return nil, invalid("Invalid UpdateExpression: %v", err)
	}
	return changes, nil
}

func (r *reader) open(text string) (err error) {
	if len(text) == 0 || len(text) > 4096 {
		return invalid("Expression has %d bytes, 1 to 4096 are allowed", len(text))
	}
	r.at = 0
	if r.tokens, err = tokens(text); err != nil {
		return invalid("Invalid expression: %v", err)
	}
	return nil
}

func (r *reader) unused() error {
	for _, alias := range slices.Concat(slices.Sorted(maps.Keys(r.names)), slices.Sorted(maps.Keys(r.values))) {
		if !r.used[alias] {
			return invalid("Value provided in ExpressionAttributeNames or -Values unused in expressions: %s", alias)
		}
	}
	return nil
}

func clone(item attributes) attributes {
	if item == nil {
		return nil
	}
	copied := make(attributes, len(item))
	for name, value := range item {
		if binary, ok := value.(*types.AttributeValueMemberB); ok {
			value = &types.AttributeValueMemberB{Value: slices.Clone(binary.Value)}
		}
		copied[name] = value
	}
	return copied
}

// ItemCount answers how many items stand in partitions with a prefix.
func (f *Fake) ItemCount(prefix string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for at := range f.items.items {
		if strings.HasPrefix(at.part, prefix) {
			n++
		}
	}
	return n
}

var indexes = func() map[string][2]string {
	found := map[string][2]string{}
	for _, index := range []store.Index{store.ByList, store.ByDue} {
		part, sort := dynamostore.IndexAttributes(index)
		found[string(index)] = [2]string{part, sort}
	}
	return found
}()

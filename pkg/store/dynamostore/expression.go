package dynamostore

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/outerloop-dev/outerloop/pkg/store"
)

// expression collects the aliases of one operation. Every attribute is named
// by an alias: names such as "status" or "ttl" are reserved.
type expression struct {
	names   map[string]string
	aliases map[string]string
	values  attributes
	terms   []string
}

func newExpression() *expression {
	return &expression{names: map[string]string{}, aliases: map[string]string{}, values: attributes{}}
}

func (e *expression) name(attribute string) string {
	alias, ok := e.aliases[attribute]
	if !ok {
		alias = "#" + strconv.Itoa(len(e.names))
		e.names[alias], e.aliases[attribute] = attribute, alias
	}
	return alias
}

func (e *expression) value(v types.AttributeValue) string {
	alias := ":" + strconv.Itoa(len(e.values))
	e.values[alias] = v
	return alias
}

func (e *expression) demand(format string, args ...any) {
	e.terms = append(e.terms, fmt.Sprintf(format, args...))
}

func (e *expression) condition() *string {
	joined := strings.Join(e.terms, " AND ")
	return &joined
}

// valuesOrNil: DynamoDB refuses an empty map.
func (e *expression) valuesOrNil() attributes {
	if len(e.values) == 0 {
		return nil
	}
	return e.values
}

// precondition says in DynamoDB's words what store.Evaluate says in Go's.
func precondition(id string, op store.Op) *expression {
	e := newExpression()
	part := e.name(PartAttribute)
	if op.Kind == store.KindCreate {
		e.demand("attribute_not_exists(%s)", part)
		return e
	}
	e.demand("attribute_exists(%s)", part)
	if op.Version != 0 {
		e.demand("%s = %s", e.name(versionAttribute), e.value(number(op.Version)))
	}
	if op.Kind != store.KindCheck && id != "" {
		e.demand("%s <> %s", e.name(writeAttribute), e.value(text(id)))
	}
	for _, cond := range op.Where {
		e.where(cond)
	}
	for _, name := range slices.Sorted(maps.Keys(op.Deltas)) {
		e.inRange(name, op.Deltas[name])
	}
	return e
}

func (e *expression) where(cond store.Cond) {
	name := e.name(NumberPrefix + cond.Number)
	if cond.Is == store.IsAbsent {
		e.demand("attribute_not_exists(%s)", name)
		return
	}
	// store.Comparison is spelt as DynamoDB spells it.
	e.demand("%s %s %s", name, cond.Is, e.value(number(cond.Value)))
}

// inRange keeps a number in int64; DynamoDB's would go on to 38 digits.
func (e *expression) inRange(name string, delta int64) {
	alias, comparison, bound := e.name(NumberPrefix+name), "<=", int64(math.MaxInt64)-max(delta, 0)
	switch {
	case delta == 0:
		return
	case delta < 0:
		comparison, bound = ">=", math.MinInt64-delta
	}
	e.demand("(attribute_not_exists(%s) OR %s %s %s)", alias, alias, comparison, e.value(number(bound)))
}

// update gives the update expression of an Add, adding to the aliases.
func (e *expression) update(id string, op store.Op) *string {
	added := []string{e.name(versionAttribute) + " " + e.value(number(1))}
	for _, name := range slices.Sorted(maps.Keys(op.Deltas)) {
		added = append(added, e.name(NumberPrefix+name)+" "+e.value(number(op.Deltas[name])))
	}
	text := "SET " + e.name(writeAttribute) + " = " + e.value(text(id)) + " ADD " + strings.Join(added, ", ")
	dropped := make([]string, len(op.Drop))
	for i, name := range op.Drop {
		dropped[i] = e.name(NumberPrefix + name)
	}
	if len(dropped) > 0 {
		text += " REMOVE " + strings.Join(dropped, ", ")
	}
	return &text
}

const allOld = types.ReturnValuesOnConditionCheckFailureAllOld

func (s *Store) put(id string, op store.Op) *types.Put {
	e := precondition(id, op)
	return &types.Put{
		TableName: &s.table, Item: encode(id, op.Item, op.Version+1), ConditionExpression: e.condition(),
		ExpressionAttributeNames: e.names, ExpressionAttributeValues: e.valuesOrNil(),
		ReturnValuesOnConditionCheckFailure: allOld,
	}
}

func (s *Store) add(id string, op store.Op) *types.Update {
	e := precondition(id, op)
	update := e.update(id, op)
	return &types.Update{
		TableName: &s.table, Key: keyAttributes(op.Item.Key), ConditionExpression: e.condition(), UpdateExpression: update,
		ExpressionAttributeNames: e.names, ExpressionAttributeValues: e.valuesOrNil(),
		ReturnValuesOnConditionCheckFailure: allOld,
	}
}

func (s *Store) remove(id string, op store.Op) *types.Delete {
	e := precondition(id, op)
	return &types.Delete{
		TableName: &s.table, Key: keyAttributes(op.Item.Key), ConditionExpression: e.condition(),
		ExpressionAttributeNames: e.names, ExpressionAttributeValues: e.valuesOrNil(),
		ReturnValuesOnConditionCheckFailure: allOld,
	}
}

func (s *Store) check(id string, op store.Op) *types.ConditionCheck {
	e := precondition(id, op)
	return &types.ConditionCheck{
		TableName: &s.table, Key: keyAttributes(op.Item.Key), ConditionExpression: e.condition(),
		ExpressionAttributeNames: e.names, ExpressionAttributeValues: e.valuesOrNil(),
		ReturnValuesOnConditionCheckFailure: allOld,
	}
}

// action gives an operation as part of a transaction.
func (s *Store) action(id string, op store.Op) types.TransactWriteItem {
	switch op.Kind {
	case store.KindAdd:
		return types.TransactWriteItem{Update: s.add(id, op)}
	case store.KindRemove:
		return types.TransactWriteItem{Delete: s.remove(id, op)}
	case store.KindCheck:
		return types.TransactWriteItem{ConditionCheck: s.check(id, op)}
	default:
		return types.TransactWriteItem{Put: s.put(id, op)}
	}
}

// query asks for a part of a partition. DynamoDB takes one condition on
// the sort key and BETWEEN includes its end: the reader drops what stands at To.
func (s *Store) query(q store.Query, span store.Span) *dynamodb.QueryInput {
	e := newExpression()
	part, sort := IndexAttributes(q.Index)
	e.demand("%s = %s", e.name(part), e.value(text(q.Part)))
	switch {
	case span.From != "" && span.To != "":
		e.demand("%s BETWEEN %s AND %s", e.name(sort), e.value(text(span.From)), e.value(text(span.To)))
	case span.From != "":
		e.demand("%s >= %s", e.name(sort), e.value(text(span.From)))
	case span.To != "":
		e.demand("%s < %s", e.name(sort), e.value(text(span.To)))
	}
	forward := !q.Descending
	input := &dynamodb.QueryInput{
		TableName: &s.table, KeyConditionExpression: e.condition(), ScanIndexForward: &forward,
		ExpressionAttributeNames: e.names, ExpressionAttributeValues: e.values,
		ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
	}
	if q.Index == store.ByPart {
		strong := true
		input.ConsistentRead = &strong
	} else {
		name := string(q.Index)
		input.IndexName = &name
	}
	return input
}

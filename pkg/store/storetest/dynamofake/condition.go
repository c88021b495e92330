package dynamofake

import (
	"bytes"
	"fmt"
	"math/big"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// test is a parsed condition.
type test func(item attributes) bool

// operand gives a value for an item, nil if it has none.
type operand func(item attributes) types.AttributeValue

func (r *reader) condition() (test, error) {
	left, err := r.conjunction()
	for err == nil && r.word("OR") {
		var right test
		if right, err = r.conjunction(); err == nil {
			first := left
			left = func(item attributes) bool { return first(item) || right(item) }
		}
	}
	return left, err
}

func (r *reader) conjunction() (test, error) {
	left, err := r.negation()
	for err == nil && r.word("AND") {
		var right test
		if right, err = r.negation(); err == nil {
			first := left
			left = func(item attributes) bool { return first(item) && right(item) }
		}
	}
	return left, err
}

func (r *reader) negation() (test, error) {
	if r.word("NOT") {
		inner, err := r.negation()
		return func(item attributes) bool { return !inner(item) }, err
	}
	if r.peek() == "(" {
		r.at++
		inner, err := r.condition()
		if err != nil {
			return nil, err
		}
		return inner, r.expect(")")
	}
	switch strings.ToLower(r.peek()) {
	case "attribute_exists", "attribute_not_exists":
		return r.existence(strings.EqualFold(r.next(), "attribute_exists"))
	}
	return r.comparison()
}

func (r *reader) existence(want bool) (test, error) {
	if err := r.expect("("); err != nil {
		return nil, err
	}
	name, err := r.path()
	if err != nil {
		return nil, err
	}
	return func(item attributes) bool { return (item[name] != nil) == want }, r.expect(")")
}

func (r *reader) comparison() (test, error) {
	left, err := r.operand()
	if err != nil {
		return nil, err
	}
	if r.word("BETWEEN") {
		return r.between(left)
	}
	sign := r.next()
	switch sign {
	case "=", "<>", "<", "<=", ">", ">=":
	default:
		return nil, fmt.Errorf("syntax error: %q is no comparison", sign)
	}
	right, err := r.operand()
	return func(item attributes) bool { return compare(left(item), sign, right(item)) }, err
}

func (r *reader) between(value operand) (test, error) {
	low, err := r.operand()
	if err != nil {
		return nil, err
	}
	if !r.word("AND") {
		return nil, fmt.Errorf("syntax error: BETWEEN without AND")
	}
	high, err := r.operand()
	return func(item attributes) bool {
		return compare(value(item), ">=", low(item)) && compare(value(item), "<=", high(item))
	}, err
}

func (r *reader) operand() (operand, error) {
	if strings.HasPrefix(r.peek(), ":") {
		value, err := r.value()
		return func(attributes) types.AttributeValue { return value }, err
	}
	name, err := r.path()
	return func(item attributes) types.AttributeValue { return item[name] }, err
}

func (r *reader) value() (types.AttributeValue, error) {
	alias := r.next()
	value, ok := r.values[alias]
	if !ok {
		return nil, fmt.Errorf("an expression attribute value used in expression is not defined; attribute value: %s", alias)
	}
	r.used[alias] = true
	return value, nil
}

// compare is false where a side is absent or the types differ, except that
// such values are unequal.
func compare(a types.AttributeValue, sign string, b types.AttributeValue) bool {
	order, ok := ordered(a, b)
	if !ok {
		return sign == "<>"
	}
	switch sign {
	case "=":
		return order == 0
	case "<>":
		return order != 0
	case "<":
		return order < 0
	case "<=":
		return order <= 0
	case ">":
		return order > 0
	default:
		return order >= 0
	}
}

func ordered(a, b types.AttributeValue) (int, bool) {
	switch a := a.(type) {
	case *types.AttributeValueMemberS:
		if b, ok := b.(*types.AttributeValueMemberS); ok {
			return strings.Compare(a.Value, b.Value), true
		}
	case *types.AttributeValueMemberB:
		if b, ok := b.(*types.AttributeValueMemberB); ok {
			return bytes.Compare(a.Value, b.Value), true
		}
	case *types.AttributeValueMemberN:
		if b, ok := b.(*types.AttributeValueMemberN); ok {
			return integer(a).Cmp(integer(b)), true
		}
	}
	return 0, false
}

// integer reads a number; the adapter stores whole ones only, which validate checks.
func integer(n *types.AttributeValueMemberN) *big.Int {
	value, _ := new(big.Int).SetString(n.Value, 10)
	return value
}

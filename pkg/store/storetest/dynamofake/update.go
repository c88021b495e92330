package dynamofake

import (
	"fmt"
	"maps"
	"math/big"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// change is one parsed action of an update expression. It reads the item as it
// was and writes the new one.
type change struct {
	name  string
	apply func(before attributes) (types.AttributeValue, error) // nil value: remove
}

// updates parses SET, ADD and REMOVE clauses. SET knows assignment of a value
// only: it is all the adapter emits.
func (r *reader) updates() ([]change, error) {
	var changes []change
	named, clauses := map[string]bool{}, map[string]bool{}
	for r.peek() != "" {
		clause := strings.ToUpper(r.next())
		if clauses[clause] {
			return nil, fmt.Errorf("the %q section can only be used once", clause)
		}
		clauses[clause] = true
		for {
			next, err := r.update(clause)
			if err != nil {
				return nil, err
			}
			if named[next.name] {
				return nil, fmt.Errorf("two document paths overlap with each other: %s", next.name)
			}
			named[next.name] = true
			changes = append(changes, next)
			if r.peek() != "," {
				break
			}
			r.at++
		}
	}
	return changes, nil
}

func (r *reader) update(clause string) (change, error) {
	name, err := r.path()
	if err != nil {
		return change{}, err
	}
	switch clause {
	case "REMOVE":
		return change{name, func(attributes) (types.AttributeValue, error) { return nil, nil }}, nil
	case "SET":
		if err := r.expect("="); err != nil {
			return change{}, err
		}
		value, err := r.value()
		return change{name, func(attributes) (types.AttributeValue, error) { return value, nil }}, err
	case "ADD":
		value, err := r.value()
		return change{name, func(before attributes) (types.AttributeValue, error) { return plus(before[name], value) }}, err
	default:
		return change{}, fmt.Errorf("syntax error near %q", clause)
	}
}

func plus(old, delta types.AttributeValue) (types.AttributeValue, error) {
	d, ok := delta.(*types.AttributeValueMemberN)
	if !ok {
		return nil, fmt.Errorf("incorrect operand type for operator ADD")
	}
	sum := integer(d)
	if old != nil {
		o, ok := old.(*types.AttributeValueMemberN)
		if !ok {
			return nil, fmt.Errorf("type mismatch for attribute to update")
		}
		sum = new(big.Int).Add(sum, integer(o))
	}
	return &types.AttributeValueMemberN{Value: sum.String()}, nil
}

func updated(key, before attributes, changes []change) (attributes, error) {
	after := attributes{}
	maps.Copy(after, before)
	maps.Copy(after, key)
	for _, c := range changes {
		if _, isKey := key[c.name]; isKey {
			return nil, fmt.Errorf("cannot update attribute %s. This attribute is part of the key", c.name)
		}
		value, err := c.apply(before)
		if err != nil {
			return nil, err
		}
		if value == nil {
			delete(after, c.name)
		} else {
			after[c.name] = value
		}
	}
	return after, nil
}

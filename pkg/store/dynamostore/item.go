package dynamostore

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/outerloop-dev/outerloop/pkg/store"
)

// The attributes of an item. They are short because names are billed; a number
// has NumberPrefix before its name, so that no name can meet another attribute.
const (
	PartAttribute    = "pk"
	SortAttribute    = "sk"
	ExpiresAttribute = "ttl" // Unix seconds: the table's TimeToLive attribute
	NumberPrefix     = "n."

	versionAttribute = "v"
	writeAttribute   = "w"
	bodyAttribute    = "b"
)

// IndexAttributes gives partition and sort attribute of an index; the index has
// the index's own name and projects keys only.
func IndexAttributes(index store.Index) (part, sort string) {
	switch index {
	case store.ByList:
		return "lp", "ls"
	case store.ByDue:
		return "dp", "ds"
	default:
		return PartAttribute, SortAttribute
	}
}

type attributes = map[string]types.AttributeValue

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

func keyAttributes(key store.Key) attributes {
	return attributes{PartAttribute: text(key.Part), SortAttribute: text(key.Sort)}
}

// encode gives the attributes of an item as it will stand.
func encode(id string, item store.Item, version int64) attributes {
	attrs := keyAttributes(item.Key)
	attrs[versionAttribute] = number(version)
	attrs[writeAttribute] = text(id)
	if len(item.Body) > 0 {
		attrs[bodyAttribute] = &types.AttributeValueMemberB{Value: item.Body}
	}
	for name, value := range item.Numbers {
		attrs[NumberPrefix+name] = number(value)
	}
	for index, key := range map[store.Index]*store.IndexKey{store.ByList: item.List, store.ByDue: item.Due} {
		if key != nil {
			part, sort := IndexAttributes(index)
			attrs[part], attrs[sort] = text(key.Part), text(key.Sort)
		}
	}
	if item.Expires != 0 {
		attrs[ExpiresAttribute] = number(item.Expires)
	}
	return attrs
}

// decode reads an item; nil attributes are no item. Errors wrap store.ErrCorrupt.
func decode(attrs attributes) (*store.Item, error) {
	if len(attrs) == 0 {
		return nil, nil
	}
	item := &store.Item{}
	var list, due store.IndexKey
	texts := map[string]*string{
		PartAttribute: &item.Part, SortAttribute: &item.Sort, writeAttribute: &item.WriteID,
		"lp": &list.Part, "ls": &list.Sort, "dp": &due.Part, "ds": &due.Sort,
	}
	for name, value := range attrs {
		var err error
		switch value := value.(type) {
		case *types.AttributeValueMemberS:
			err = decodeText(texts, name, value.Value)
		case *types.AttributeValueMemberN:
			err = decodeNumber(item, name, value.Value)
		case *types.AttributeValueMemberB:
			item.Body = value.Value
		default:
			err = fmt.Errorf("type %T", value)
		}
		if err != nil {
			return nil, fmt.Errorf("%w: attribute %q: %w", store.ErrCorrupt, name, err)
		}
	}
	if list.Part != "" {
		item.List = &list
	}
	if due.Part != "" {
		item.Due = &due
	}
	return item, nil
}

func decodeText(texts map[string]*string, name, value string) error {
	into, known := texts[name]
	if !known {
		return fmt.Errorf("unknown text")
	}
	*into = value
	return nil
}

func decodeNumber(item *store.Item, name, digits string) error {
	value, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return err
	}
	switch {
	case name == versionAttribute:
		item.Version = value
	case name == ExpiresAttribute:
		item.Expires = value
	case strings.HasPrefix(name, NumberPrefix):
		if item.Numbers == nil {
			item.Numbers = map[string]int64{}
		}
		item.Numbers[name[len(NumberPrefix):]] = value
	default:
		return fmt.Errorf("unknown number")
	}
	return nil
}

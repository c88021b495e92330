package dynamofake

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

const maxItem = 400 * 1024

// size is an item's size by DynamoDB's rules: names and values, a number in
// half as many bytes as it has significant digits, and one more.
func size(item attributes) int {
	total := 0
	for name, value := range item {
		total += len(name)
		switch value := value.(type) {
		case *types.AttributeValueMemberS:
			total += len(value.Value)
		case *types.AttributeValueMemberB:
			total += len(value.Value)
		case *types.AttributeValueMemberN:
			digits := strings.TrimRight(strings.TrimPrefix(value.Value, "-"), "0")
			total += 1 + (len(digits)+1)/2 + strings.Count(value.Value, "-")
		}
	}
	return total
}

func tooLarge(kind string) error {
	if kind == "Update" {
		return invalid("Item size to update has exceeded the maximum allowed size")
	}
	return invalid("Item size has exceeded the maximum allowed size")
}

// units is what an action costs: a unit per KB of the larger of old and new,
// times two in a transaction, and the entries of the indexes.
func (e effect) units(factor float64) float64 {
	units := factor * float64(max(1, (max(size(e.before), size(e.after))+1023)/1024))
	for _, names := range indexes {
		old, now := entry(e.before, names), entry(e.after, names)
		switch {
		case old == now:
		case old != (key{}) && now != (key{}):
			units += 2
		default:
			units++
		}
	}
	return units
}

// entry is an item's place in an index, zero if it is not in it.
func entry(item attributes, names [2]string) key {
	at := key{textOf(item[names[0]]), textOf(item[names[1]])}
	if at.part == "" || at.sort == "" {
		return key{}
	}
	return at
}

func textOf(value types.AttributeValue) string {
	if text, ok := value.(*types.AttributeValueMemberS); ok {
		return text.Value
	}
	return ""
}

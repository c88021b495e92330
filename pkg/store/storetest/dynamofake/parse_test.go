package dynamofake

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// FuzzExpressions: no expression makes the fake panic or hang.
func FuzzExpressions(f *testing.F) {
	f.Add("attribute_exists(#0) AND #1 = :0 AND (attribute_not_exists(#1) OR NOT #1 <= :1)")
	f.Add("#0 = :0 AND #1 BETWEEN :0 AND :1")
	f.Add("SET #0 = :0 ADD #1 :1 REMOVE #2")
	f.Fuzz(func(t *testing.T, text string) {
		r := &reader{
			names:  map[string]string{"#0": "pk", "#1": "n.left", "#2": "b"},
			values: attributes{":0": &types.AttributeValueMemberS{Value: "x"}, ":1": &types.AttributeValueMemberN{Value: "7"}},
			used:   map[string]bool{},
		}
		item := attributes{"pk": r.values[":0"], "n.left": r.values[":1"]}
		if holds, err := r.parseCondition(&text); err == nil {
			holds(item)
			holds(nil)
		}
		if changes, err := r.parseUpdate(&text); err == nil {
			_, _ = updated(attributes{"pk": item["pk"]}, item, changes) // an error is an answer too
		}
	})
}

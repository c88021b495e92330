package coordinator

import (
	"context"
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/source"
)

var interpolated = regexp.MustCompile(`\$\{([^{}]*)\}`)

// keepsWhom refuses an edit of an action's input that changes what the step's
// own key or resource is made of, such as the recipient of a mail: once-only and
// the lease would hold for another than the one who is acted upon. A key and a
// resource of the charter are made of the edited input, and follow it.
func (q *call) keepsWhom(ctx context.Context, ap *record.Approval, edited any) error {
	if q.node.Step == nil { // a tool call's are the charter's
		return nil
	}
	before, err := q.c.value(ctx, ap.Content)
	if err != nil {
		return err
	}
	was, isMap := before.(map[string]any)
	now, isMapToo := edited.(map[string]any)
	declared, isTree := plainOf(q.node.Step.Input).(map[string]any)
	if !isMap || !isMapToo || !isTree {
		return nil
	}
	for _, rule := range []struct {
		what string
		text source.Value
	}{{"key", q.node.Step.Key}, {"resource", q.node.Step.Resource}} {
		text, _ := plainOf(rule.text).(string)
		for _, found := range interpolated.FindAllStringSubmatch(text, -1) {
			for field, value := range declared {
				expression, _ := value.(string)
				same := interpolated.FindStringSubmatch(expression)
				if same == nil || same[0] != strings.TrimSpace(expression) || strings.TrimSpace(same[1]) != strings.TrimSpace(found[1]) {
					continue
				}
				if !reflect.DeepEqual(was[field], now[field]) {
					return ruleFault("%s cannot be edited: the action's %s (%s) holds for %v; reject this one, and correct %s where it comes from",
						field, rule.what, text, fmt.Sprint(was[field]), strings.TrimSpace(found[1]))
				}
			}
		}
	}
	return nil
}

// plainOf is a declared value as data; nil where none was given.
func plainOf(v source.Value) any {
	if !v.Set() {
		return nil
	}
	return v.Node.Plain()
}

// Package dynamofake is a DynamoDB in memory, for tests: the calls and the
// expressions that dynamostore emits, with the service's answers. A
// differential test compares it with an independent implementation. It can
// throttle, conflict, time out before and after the write, and serve stale
// indexes.
package dynamofake

import (
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/outerloop-dev/outerloop/pkg/store/dynamostore"
)

type attributes = map[string]types.AttributeValue

// key is an item's place in the table.
type key struct{ part, sort string }

// Fake is a DynamoDB with one table of dynamostore's shape. It is safe for
// concurrent use; every call is one step.
type Fake struct {
	// Table is the table's name.
	Table string
	// Now is the clock of the idempotency tokens.
	Now func() time.Time
	// Faults says what goes wrong with a call; nil: nothing.
	Faults func(Call) Fault
	// Lagging lets the indexes trail: a query of one takes in one change at a
	// time before it answers.
	Lagging bool

	mu      sync.Mutex
	calls   int
	items   space
	shown   space // as the indexes have it
	pending []pendingChange
	tokens  map[string]remembered
}

type pendingChange struct {
	at   key
	item attributes
}

// remembered is a transaction done under a token.
type remembered struct {
	request string
	done    time.Time
}

// New makes an empty table.
func New(table string) *Fake {
	return &Fake{
		Table: table, Now: time.Now,
		items: newSpace(), shown: newSpace(), tokens: map[string]remembered{},
	}
}

func keyOf(attrs attributes) key {
	return entry(attrs, [2]string{dynamostore.PartAttribute, dynamostore.SortAttribute})
}

// put changes the table and, at once or later, what the indexes show.
func (f *Fake) put(at key, item attributes) {
	f.items.set(at, item)
	f.pending = append(f.pending, pendingChange{at, item})
	if !f.Lagging {
		f.catchUp(len(f.pending))
	}
}

func (f *Fake) catchUp(n int) {
	n = min(n, len(f.pending))
	for _, change := range f.pending[:n] {
		f.shown.set(change.at, change.item)
	}
	f.pending = f.pending[n:]
}

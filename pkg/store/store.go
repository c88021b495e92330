// Package store is the port to the one shared state. Adapters stand beside it
// (sqlitestore, dynamostore); storetest is the definition of a correct one.
//
// An item has an opaque JSON body and native numbers beside it. Every write
// names its precondition. Numbers may be added to without reading them first,
// within limits, because budgets, rates and breakers are hot.
package store

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Key addresses an item: a partition and a sort key in it. Both are non-empty
// UTF-8 of at most 1,024 bytes.
type Key struct {
	Part string
	Sort string
}

// IndexKey places an item in one of the two named indexes. Sort orders within
// Part; use TimeKey for times.
type IndexKey struct {
	Part string
	Sort string
}

// Item is what is stored under a key.
type Item struct {
	Key
	// Version is 1 after Create and is raised by every write of the item.
	// On Replace it is the version that was read.
	Version int64
	// Body is opaque to the store; at most 380 KB. nil is allowed; an empty one reads as nil.
	Body []byte
	// Numbers are exact to int64. Names match [a-z][a-z0-9_.:#/-]* up to 200 bytes.
	Numbers map[string]int64
	// List places the item in the index for lists, Due in the index for what
	// is due by time; nil: in neither.
	List *IndexKey
	Due  *IndexKey
	// Expires, in Unix seconds, lets the store delete the item some time
	// after it (garbage collection, never an expiry to rely on); 0: kept.
	Expires int64
	// WriteID is the id of the write that last changed the item; set by the store.
	WriteID string
}

// Kind says what an operation does.
type Kind string

// The kinds of operations.
const (
	KindCreate  Kind = "create"
	KindReplace Kind = "replace"
	KindAdd     Kind = "add"
	KindRemove  Kind = "remove"
	KindCheck   Kind = "check"
)

// Comparison relates a number of the stored item to a value.
type Comparison string

// The comparisons. One on a number that the item does not have is false,
// except IsAbsent.
const (
	IsEqual   Comparison = "="
	IsAtLeast Comparison = ">="
	IsAtMost  Comparison = "<="
	IsAbsent  Comparison = "absent"
)

// Cond is a precondition on one number.
type Cond struct {
	Number string
	Is     Comparison
	Value  int64
}

// Equal demands that a number has a value.
func Equal(number string, value int64) Cond { return Cond{number, IsEqual, value} }

// AtLeast demands that a number is not below a value.
func AtLeast(number string, value int64) Cond { return Cond{number, IsAtLeast, value} }

// AtMost demands that a number is not above a value.
func AtMost(number string, value int64) Cond { return Cond{number, IsAtMost, value} }

// Absent demands that the item has no such number.
func Absent(number string) Cond { return Cond{number, IsAbsent, 0} }

// Op is one operation of a write. Make it with Create, Replace, Add, Remove or
// Check; adapters read its fields.
type Op struct {
	Kind Kind
	// Item is what will stand there (create, replace); for the other kinds only its key is used.
	Item Item
	// Version is the version the item must have; 0: any, but it must exist
	// (a replace has a version).
	Version int64
	// Deltas are added to numbers (a missing one counts as 0); Drop names numbers to remove.
	Deltas map[string]int64
	Drop   []string
	Where  []Cond
}

// Create puts an item where none is.
func Create(item Item) Op { return Op{Kind: KindCreate, Item: item} }

// Replace puts an item where one of item.Version (1 or more) is, numbers,
// indexes and all.
func Replace(item Item, where ...Cond) Op {
	return Op{Kind: KindReplace, Item: item, Version: item.Version, Where: where}
}

// Add changes numbers of an existing item without reading it: deltas are added.
// Body and indexes stay.
func Add(key Key, deltas map[string]int64, where ...Cond) Op {
	return Op{Kind: KindAdd, Item: Item{Key: key}, Deltas: deltas, Where: where}
}

// Dropping lets an Add remove numbers as well.
func (op Op) Dropping(numbers ...string) Op {
	op.Drop = append(op.Drop, numbers...)
	return op
}

// Remove deletes an item of a version; version 0 deletes any that exists.
func Remove(key Key, version int64) Op {
	return Op{Kind: KindRemove, Item: Item{Key: key}, Version: version}
}

// Check changes nothing and demands that an item exists and meets the conditions.
func Check(key Key, where ...Cond) Op {
	return Op{Kind: KindCheck, Item: Item{Key: key}, Where: where}
}

// CheckVersion demands that an item stands at a version.
func CheckVersion(key Key, version int64) Op {
	return Op{Kind: KindCheck, Item: Item{Key: key}, Version: version}
}

// MaxOps is how many operations one write may have.
const MaxOps = 25

// MaxBody is the largest body in bytes; larger content belongs into a blob.
const MaxBody = 380_000

// Index names one of the two indexes.
type Index string

// The indexes. ByPart is the table itself and strongly consistent; ByList and
// ByDue may lag behind in a distributed store.
const (
	ByPart Index = ""
	ByList Index = "list"
	ByDue  Index = "due"
)

// Query selects items of one partition in the order of the sort key.
type Query struct {
	Index Index
	Part  string
	// Prefix, From (inclusive) and To (exclusive) bound the sort key; empty: unbounded.
	Prefix   string
	From, To string
	// Descending gives the largest sort key first.
	Descending bool
	// Limit is the page size, 1 to 1,000; 0 is 100. A page of large bodies, or
	// of an index, may be shorter; only Next tells whether more follows.
	Limit int
	// After is the Next of the page before; empty: the first page.
	After string
}

// Page is one page of a list. Next is empty on the last one.
type Page struct {
	Items []Item
	Next  string
}

// Store is the shared state.
type Store interface {
	// Get reads items, strongly consistent, in the order of the keys; an absent
	// one is nil. At most 100 keys.
	Get(ctx context.Context, keys ...Key) ([]*Item, error)
	// List reads one page.
	List(ctx context.Context, q Query) (Page, error)
	// Write does all operations or none: 1 to MaxOps, each on another item. The
	// id names this write: when its answer was lost and it is sent again, the
	// *ConditionError says Won, unless another write changed an item since. So
	// an id names one write and no other; the empty id is never recognised. An
	// Add alone that is sent again after another write came between is counted
	// twice: give it a number of its own where that matters
	// (Add(key, {left: -e, res.<nonce>: e}, Absent(res.<nonce>))).
	// Errors: *ConditionError, ErrThrottled (not done), ErrTooLarge,
	// ErrOutcomeUnknown, ErrInvalid, or the transport's.
	Write(ctx context.Context, id string, ops ...Op) error
}

// Blobs keeps content by its hash.
type Blobs interface {
	// PutBlob stores content and answers its reference, "sha256:" and 64 hex
	// digits. Storing the same content again is no error.
	PutBlob(ctx context.Context, content []byte) (ref string, err error)
	// GetBlob reads content and checks it against the reference. Errors: ErrNoBlob, ErrCorrupt.
	GetBlob(ctx context.Context, ref string) ([]byte, error)
}

// Pipeline is what an in-process store offers beside Store: a write that is
// visible and ordered at once and durable only after a later Sync. A crash
// loses a suffix of the order, never a middle.
type Pipeline interface {
	Store
	// Apply does a Write without waiting for the disk.
	Apply(ctx context.Context, id string, ops ...Op) error
	// Sync returns when everything applied before the call is durable.
	Sync(ctx context.Context) error
}

// Scanner is what a store offers beside Store that can walk through all it
// holds: for moving its content elsewhere.
type Scanner interface {
	// Scan answers up to limit items (1 to 1,000) that follow a key; the zero key
	// begins. Partitions come in the store's own order, one after the other, the
	// items of one in the order of the sort key. An answer of large bodies may be
	// shorter; an empty one is the end. What is written meanwhile may be missed.
	Scan(ctx context.Context, after Key, limit int) ([]Item, error)
}

// Errors to branch on.
var (
	ErrThrottled      = errors.New("store is throttled")
	ErrTooLarge       = errors.New("item is too large")
	ErrOutcomeUnknown = errors.New("outcome of the write is unknown")
	ErrInvalid        = errors.New("operation is not valid")
	ErrCondition      = errors.New("a condition failed")
	ErrNoBlob         = errors.New("no such blob")
	ErrCorrupt        = errors.New("stored content is corrupt")
	ErrReadOnly       = errors.New("store is read-only")
)

// ConditionError says which operation's precondition did not hold and what
// stands there now. It unwraps to ErrCondition.
type ConditionError struct {
	// Op is the index of the first operation that failed.
	Op  int
	Key Key
	// Current is the item as it stands, nil if absent.
	Current *Item
	// Won says that this very write (same id) had been done earlier: every
	// item it would change carries its id. The caller has succeeded.
	Won bool
}

// Error names the operation and the key.
func (e *ConditionError) Error() string {
	return fmt.Sprintf("condition of operation %d on %s/%s failed", e.Op+1, e.Key.Part, e.Key.Sort)
}

// Unwrap makes errors.Is(err, ErrCondition) true.
func (e *ConditionError) Unwrap() error { return ErrCondition }

// Won tells whether err says that the same write had been done before.
func Won(err error) bool {
	var cond *ConditionError
	return errors.As(err, &cond) && cond.Won
}

// TimeKey writes a time so that its text sorts as the time does (UTC,
// milliseconds, fixed width).
func TimeKey(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

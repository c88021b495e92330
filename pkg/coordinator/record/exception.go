package record

import (
	"strconv"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/gate"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// Exception is a failure that needs a person (R39).
type Exception struct {
	ID      string  `json:"id"`
	Run     string  `json:"run"`
	Loop    string  `json:"loop"`
	Address Address `json:"address,omitempty"`
	Path    string  `json:"path,omitempty"`
	Item    string  `json:"item,omitempty"`
	Step    string  `json:"step,omitempty"`
	Gen     int     `json:"gen"`
	Cause   string  `json:"cause"`
	Class   string  `json:"class,omitempty"`
	Detail  string  `json:"detail,omitempty"`
	Tried   string  `json:"tried,omitempty"`
	State   string  `json:"state"`
	Needed  string  `json:"needed"`
	Owner   string  `json:"owner"`
	// Blocks: the whole run stands still, not only the step.
	Blocks bool `json:"blocks"`
	// Entry is the action whose outcome is asked.
	Entry string `json:"entry,omitempty"`
	// Queue and Body are of a message that nobody can read, which belongs to no
	// run; Definition is the loop's whose people are asked.
	Queue      string    `json:"queue,omitempty"`
	Body       string    `json:"body,omitempty"`
	Definition string    `json:"definition,omitempty"`
	Ways       []string  `json:"ways"`
	Since      time.Time `json:"since"`
	// Token waits for the answer where the step's rule asks.
	Token     string `json:"token,omitempty"`
	Delivered bool   `json:"delivered,omitempty"`
	// Before are tokens that were registered before it: a late copy of an older
	// call must not take the place of the state that waits.
	Before []string `json:"before,omitempty"`

	Resolution string    `json:"resolution,omitempty"`
	By         string    `json:"by,omitempty"`
	Reason     string    `json:"reason,omitempty"`
	At         time.Time `json:"at,omitzero"`
	// Error is what the token gets; empty: the step's recorded answer, with what Next asks.
	Error string     `json:"error,omitempty"`
	Next  *gate.Next `json:"next,omitempty"`

	Stored int64 `json:"-"`
}

// ExceptionID is the id of the n-th exception of a place in a generation. The
// same failure has the same id, so it is recorded and told once.
func ExceptionID(run string, a Address, gen int, kind string) string {
	return ShortID("exception", run, string(a), strconv.Itoa(gen), kind)
}

// ExceptionKey addresses an exception.
func ExceptionKey(id string) store.Key { return store.Key{Part: "EXC#" + id, Sort: "EXC"} }

// The partitions of the list index with exceptions, oldest first.
const (
	ExceptionsOpen     = "EXCEPTIONS#open"
	ExceptionsResolved = "EXCEPTIONS#resolved"
)

// DecodeException reads an exception; nil gives nil.
func DecodeException(item *store.Item) (*Exception, error) {
	if item == nil {
		return nil, nil
	}
	e := &Exception{Stored: item.Version}
	if err := decode(item, e); err != nil {
		return nil, err
	}
	return e, nil
}

// ResolvedByRollback is the resolution whose rollback has yet to be made while
// the exception is not delivered.
const ResolvedByRollback = "rollback"

// Resolved tells whether a person has answered.
func (e *Exception) Resolved() bool { return e.Resolution != "" }

// Put writes the exception at the version it was read at, or creates it.
func (e *Exception) Put() store.Op {
	key := ExceptionKey(e.ID)
	item := store.Item{Key: key, Version: e.Stored, Body: encode(e)}
	part := ExceptionsOpen
	if e.Resolved() {
		part = ExceptionsResolved
		if !e.Delivered && (e.Token != "" || e.Resolution == ResolvedByRollback) {
			item.Due = due(e.At, key)
		}
	}
	item.List = &store.IndexKey{Part: part, Sort: store.TimeKey(e.Since) + "#" + e.ID}
	return put(item)
}

package record

import (
	"time"

	"github.com/outerloop-dev/outerloop/pkg/gate"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// Parent is the step that a sub-loop's run does (R10).
type Parent struct {
	Run     string  `json:"run"`
	Address Address `json:"address"`
	Path    string  `json:"path"`
	Item    string  `json:"item,omitempty"`
}

// Child is what a parent run keeps of a sub-loop's run: whom to tell when it ends.
type Child struct {
	Parent
	// ID is the child's run.
	ID    string `json:"id"`
	Gen   int    `json:"gen"`
	Token string `json:"token"`
	// Before are earlier tokens of the generation: a state's call may come again, in any order.
	Before []string   `json:"before,omitempty"`
	Next   *gate.Next `json:"next,omitempty"`
	Since  time.Time  `json:"since"`
	// Told: the machine of the parent knows the child's end.
	Told bool `json:"told,omitempty"`

	Stored int64 `json:"-"`
}

// ChildrenOpen is the partition of the list index with the children whose
// parents do not know their end.
const ChildrenOpen = "CHILDREN#open"

// ChildPrefix bounds the children in a run's partition.
const ChildPrefix = "CHILD#"

// ChildKey addresses a child of a run.
func ChildKey(parent, child string) store.Key {
	return store.Key{Part: "RUN#" + parent, Sort: ChildPrefix + child}
}

// DecodeChild reads a child; nil gives nil.
func DecodeChild(item *store.Item) (*Child, error) {
	if item == nil {
		return nil, nil
	}
	c := &Child{Stored: item.Version}
	return c, decode(item, c)
}

// Put writes the child at the version it was read at, or creates it.
func (c *Child) Put() store.Op {
	item := store.Item{Key: ChildKey(c.Run, c.ID), Version: c.Stored, Body: encode(c)}
	if !c.Told {
		item.List = &store.IndexKey{Part: ChildrenOpen, Sort: store.TimeKey(c.Since) + "#" + c.ID}
	}
	return put(item)
}

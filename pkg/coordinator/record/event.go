package record

import (
	"encoding/json"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/gate"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// Event is something a step, a completed run or the outside world told (R11).
// It is written with what caused it, and due until waits and triggers have it.
type Event struct {
	// ID is unique among the events of a name; it sorts as the causes of one run do.
	ID   string          `json:"id"`
	Name string          `json:"name"`
	Data json.RawMessage `json:"data"`
	// Run and Step caused it; empty: it came from outside.
	Run  string    `json:"run,omitempty"`
	Step string    `json:"step,omitempty"`
	At   time.Time `json:"at"`
	// Taken: every wait and every trigger that it concerned has it.
	Taken bool `json:"taken,omitempty"`

	Stored int64 `json:"-"`
}

// eventsKept is how long an event is kept for waits that begin later.
const eventsKept = 400 * 24 * time.Hour

// AfterRun is the name of the event that a run of a loop was completed. No
// declared event has such a name.
func AfterRun(loop string) string { return "after:" + loop }

// Webhooked is the name of the event that a webhook's delivery came.
func Webhooked(name string) string { return "webhook:" + name }

// EventsPart is the partition with the events of a name, oldest first.
func EventsPart(name string) string { return "EVENT#" + name }

// EventKey addresses an event.
func EventKey(name, id string, at time.Time) store.Key {
	return store.Key{Part: EventsPart(name), Sort: store.TimeKey(at) + "#" + id}
}

// EventMark addresses what makes an event from outside one event however often it is told.
func EventMark(name, id string) store.Key {
	return store.Key{Part: "TOLD#" + name, Sort: id}
}

// DecodeEvent reads an event; nil gives nil.
func DecodeEvent(item *store.Item) (*Event, error) {
	if item == nil {
		return nil, nil
	}
	e := &Event{Stored: item.Version}
	return e, decode(item, e)
}

// Put writes the event at the version it was read at, or creates it.
func (e *Event) Put() store.Op {
	key := EventKey(e.Name, e.ID, e.At)
	item := store.Item{Key: key, Version: e.Stored, Body: encode(e), Expires: e.At.Add(eventsKept).Unix()}
	if !e.Taken {
		item.Due = due(e.At, key)
	}
	return put(item)
}

// Waiter is a wait for an event: which, for whom, and the token of its state.
type Waiter struct {
	Event   string  `json:"event"`
	Run     string  `json:"run"`
	Address Address `json:"address"`
	Path    string  `json:"path"`
	Item    string  `json:"item,omitempty"`
	Gen     int     `json:"gen"`
	Token   string  `json:"token"`
	// Before are earlier tokens of the generation: a state's call may come again, in any order.
	Before []string   `json:"before,omitempty"`
	Next   *gate.Next `json:"next,omitempty"`
	// Since is the earliest event that counts, Until when the wait is over.
	Since time.Time `json:"since"`
	Until time.Time `json:"until"`
	// Met is when its event came: the token is to be completed.
	Met time.Time `json:"met,omitzero"`

	Stored int64 `json:"-"`
}

// WaitersPart is the partition with the waits for an event.
func WaitersPart(event string) string { return "WAITER#" + event }

// WaiterKey addresses the wait of a step.
func WaiterKey(event, run string, a Address) store.Key {
	return store.Key{Part: WaitersPart(event), Sort: run + "#" + string(a)}
}

// DecodeWaiter reads a wait; nil gives nil.
func DecodeWaiter(item *store.Item) (*Waiter, error) {
	if item == nil {
		return nil, nil
	}
	w := &Waiter{Stored: item.Version}
	return w, decode(item, w)
}

// Put writes the wait at the version it was read at, or creates it.
func (w *Waiter) Put() store.Op {
	key := WaiterKey(w.Event, w.Run, w.Address)
	item := store.Item{Key: key, Version: w.Stored, Body: encode(w), Expires: w.Until.Add(eventsKept).Unix()}
	if !w.Met.IsZero() {
		item.Due = due(w.Met, key)
	}
	return put(item)
}

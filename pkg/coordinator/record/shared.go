package record

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/store"
)

// Lease is one owner at a time of a resource (R26). It is never deleted: the fence must not restart.
type Lease struct {
	Resource string  `json:"resource"`
	Run      string  `json:"run"`
	Address  Address `json:"address"`
	Step     string  `json:"step"`
	Nonce    string  `json:"nonce"`

	Fence   int64 `json:"-"`
	UntilMs int64 `json:"-"`
	Stored  int64 `json:"-"`
}

// LeaseKey addresses a resource's lease.
func LeaseKey(resource string) store.Key {
	return store.Key{Part: "LEASE#" + resource, Sort: "LEASE"}
}

// DecodeLease reads a lease; nil gives nil.
func DecodeLease(item *store.Item) (*Lease, error) {
	if item == nil {
		return nil, nil
	}
	l := &Lease{Stored: item.Version, Fence: item.Numbers["fence"], UntilMs: item.Numbers["until"]}
	return l, decode(item, l)
}

// Put writes the lease at the version it was read at, or creates it.
func (l *Lease) Put() store.Op {
	return put(store.Item{
		Key: LeaseKey(l.Resource), Version: l.Stored, Body: encode(l),
		Numbers: map[string]int64{"fence": l.Fence, "until": l.UntilMs},
	})
}

// Held demands that the lease is still that of a fence.
func Held(resource string, fence int64) store.Op {
	return store.Check(LeaseKey(resource), store.Equal("fence", fence))
}

// Loop is what all runs of a loop share: who is open, for the overlap policy.
type Loop struct {
	Name string `json:"name"`
	// Run is the run that holds the slot where runs do not overlap.
	Run string `json:"run,omitempty"`
	// More are further runs that hold a slot, where several may be open at a time.
	More []string `json:"more,omitempty"`
	// Paused: triggers start nothing.
	Paused bool `json:"paused,omitempty"`

	Stored int64 `json:"-"`
}

// Holders are the runs that hold a slot.
func (l *Loop) Holders() []string {
	if l.Run == "" {
		return nil
	}
	return append([]string{l.Run}, l.More...)
}

// Hold makes these runs the holders.
func (l *Loop) Hold(runs []string) {
	l.Run, l.More = "", nil
	if len(runs) > 0 {
		l.Run, l.More = runs[0], runs[1:]
	}
}

// LoopsPart lists the loops that ever had a run, by name.
const LoopsPart = "LOOPS"

// LoopKey addresses a loop's slot.
func LoopKey(name string) store.Key { return store.Key{Part: LoopsPart, Sort: name} }

// DecodeLoop reads a loop's slot; nil gives nil.
func DecodeLoop(item *store.Item) (*Loop, error) {
	if item == nil {
		return nil, nil
	}
	l := &Loop{Stored: item.Version}
	return l, decode(item, l)
}

// Put writes the slot at the version it was read at, or creates it.
func (l *Loop) Put() store.Op {
	return put(store.Item{Key: LoopKey(l.Name), Version: l.Stored, Body: encode(l)})
}

// Use is one action that counts against a quota.
type Use struct {
	Entry string `json:"entry"`
	Ms    int64  `json:"at"`
}

// Quota counts an action per key over a period (R73): the uses of the last
// period, so that no window's edge lets twice as many through.
type Quota struct {
	ID   string `json:"id"`
	Uses []Use  `json:"uses"`

	Stored int64 `json:"-"`
}

// QuotaID names the counter of an action for a key: one over all loops.
func QuotaID(worker, action, by string) string { return worker + "#" + action + "#" + by }

// QuotaKey addresses a counter.
func QuotaKey(id string) store.Key { return store.Key{Part: "QUOTA#" + id, Sort: "QUOTA"} }

// DecodeQuota reads a counter; nil gives nil.
func DecodeQuota(item *store.Item) (*Quota, error) {
	if item == nil {
		return nil, nil
	}
	q := &Quota{Stored: item.Version}
	return q, decode(item, q)
}

// Put writes the counter at the version it was read at, or creates it.
func (q *Quota) Put() store.Op {
	return put(store.Item{Key: QuotaKey(q.ID), Version: q.Stored, Body: encode(q)})
}

// Take counts an entry; it is counted once. False: the quota is used up, until the time answered.
func (q *Quota) Take(entry string, now time.Time, count int, per time.Duration) (bool, time.Time) {
	since := now.Add(-per).UnixMilli()
	q.Uses = slices.DeleteFunc(q.Uses, func(u Use) bool { return u.Ms <= since })
	if slices.ContainsFunc(q.Uses, func(u Use) bool { return u.Entry == entry }) {
		return true, time.Time{}
	}
	if len(q.Uses) >= count {
		return false, time.UnixMilli(q.Uses[len(q.Uses)-count].Ms).Add(per)
	}
	q.Uses = append(q.Uses, Use{Entry: entry, Ms: now.UnixMilli()})
	return true, time.Time{}
}

// Release takes an entry back that certainly was not done; false: it was not counted.
func (q *Quota) Release(entry string) bool {
	before := len(q.Uses)
	q.Uses = slices.DeleteFunc(q.Uses, func(u Use) bool { return u.Entry == entry })
	return len(q.Uses) < before
}

// Fact is a shared business record (R23, R26).
type Fact struct {
	Name  string    `json:"name"`
	Value Value     `json:"value"`
	At    time.Time `json:"at"`
	Run   string    `json:"run"`
	Step  string    `json:"step"`
	// ApprovedBy is who approved the step that wrote it; empty: nobody had to.
	ApprovedBy string `json:"approved_by,omitempty"`
	// Until is when it is no longer kept; zero: it is kept for ever.
	Until time.Time `json:"until,omitzero"`

	Stored int64 `json:"-"`
}

// Gone tells whether a fact is not there (any more): one whose time is over may
// stand in the store for a while.
func (f *Fact) Gone(now time.Time) bool {
	return f == nil || !f.Until.IsZero() && !now.Before(f.Until)
}

// FactKey addresses a fact. Its version is the item's.
func FactKey(name string) store.Key { return store.Key{Part: "FACT#" + name, Sort: "FACT"} }

// DecodeFact reads a fact; nil gives nil.
func DecodeFact(item *store.Item) (*Fact, error) {
	if item == nil {
		return nil, nil
	}
	f := &Fact{Stored: item.Version}
	return f, decode(item, f)
}

// Put writes the fact at the version it was read at, or creates it.
func (f *Fact) Put() store.Op {
	item := store.Item{Key: FactKey(f.Name), Version: f.Stored, Body: encode(f)}
	if !f.Until.IsZero() {
		item.Expires = f.Until.Unix() + 1
	}
	return put(item)
}

// Late is a result that came when nobody waited for it any more.
type Late struct {
	Run    string          `json:"run"`
	Step   string          `json:"step"`
	Worker string          `json:"worker"`
	Nonce  string          `json:"nonce"`
	At     time.Time       `json:"at"`
	Reason string          `json:"reason"`
	Result json.RawMessage `json:"result,omitempty"`
}

// LatePrefix bounds the late log of a run's partition.
const LatePrefix = "LATE#"

// Create writes the entry; one call has one entry.
func (l *Late) Create() store.Op {
	return store.Create(store.Item{Key: store.Key{Part: "RUN#" + l.Run, Sort: LatePrefix + ShortID(l.Nonce)}, Body: encode(l)})
}

// DecodeLate reads an entry of the late log.
func DecodeLate(item *store.Item) (*Late, error) {
	l := &Late{}
	return l, decode(item, l)
}

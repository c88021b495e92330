package record

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/gate"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// Address is the place of a step in a run's partition: its static path with the
// index of the item after each `each` block, "follow_up/@000003/draft". All
// that belongs to a block has the block's address and a slash as prefix, in the order of the items.
type Address string

// Item extends the address of an `each` block by an item.
func (a Address) Item(index int) Address { return Address(fmt.Sprintf("%s/@%06d", a, index)) }

// Join extends an address by a path below it.
func (a Address) Join(path string) Address {
	if a == "" {
		return Address(path)
	}
	return a + "/" + Address(path)
}

// Tries counts what happened to a step in one generation.
type Tries struct {
	Admitted int `json:"admitted,omitempty"`
	Crash    int `json:"crash,omitempty"`
	// Failed counts failures by class.
	Failed map[outerloop.Class]int `json:"failed,omitempty"`
}

// Step is the record of a step's latest visit. Earlier visits are kept beside it.
type Step struct {
	Run     string  `json:"-"`
	Address Address `json:"-"`
	// Path is the static path, Item the item address of the machine, Name how people read both.
	Path  string `json:"path"`
	Item  string `json:"item,omitempty"`
	Name  string `json:"name"`
	Visit int    `json:"visit"`

	State  outerloop.StepState `json:"state"`
	Worker string              `json:"worker,omitempty"`
	Gen    int                 `json:"gen"`
	Fence  int64               `json:"-"`
	Nonce  string              `json:"nonce,omitempty"`
	// LastNonce is the last call that settled, LastVerdict what it was told.
	LastNonce   string        `json:"last_nonce,omitempty"`
	LastVerdict *gate.Verdict `json:"last_verdict,omitempty"`
	// LeaseMs ends the lease, LimitMs the attempt at the latest; Unix milliseconds.
	LeaseMs int64 `json:"-"`
	LimitMs int64 `json:"limit,omitempty"`

	Attempts int   `json:"attempts"`
	Tries    Tries `json:"tries,omitzero"`
	// Doubted: its worker's breaker had counted failures when the attempt began.
	Doubted bool `json:"doubted,omitempty"`
	// Backup: the tries are the backup worker's.
	Backup bool `json:"backup,omitempty"`
	// GaveUp is the error that exhausted the tries of this generation.
	GaveUp *Fault `json:"gave_up,omitempty"`

	Outcome outerloop.Outcome `json:"outcome,omitempty"`
	// Reason is for people; Cause is the error behind it where there was one.
	Reason string `json:"reason,omitempty"`
	Cause  string `json:"cause,omitempty"`
	// Accepted: a person said that a block may go on with what there is.
	Accepted bool `json:"accepted,omitempty"`
	// Missing names the step without whose output this one was not needed.
	Missing string `json:"missing,omitempty"`
	Output  Value  `json:"output,omitzero"`
	Input   Value  `json:"input,omitzero"`
	// Override replaces the declared input from now on: "edit and retry".
	Override Value           `json:"override,omitzero"`
	Feedback []gate.Feedback `json:"feedback,omitempty"`
	// Verdict is the hash of the last review verdict that did not pass.
	Verdict string `json:"verdict,omitempty"`

	Confidence outerloop.Confidence `json:"confidence,omitempty"`
	Because    string               `json:"because,omitempty"`
	Evidence   []gate.Evidence      `json:"evidence,omitempty"`
	Decisions  []string             `json:"decisions,omitempty"`
	Unresolved []string             `json:"unresolved,omitempty"`
	Tokens     gate.Tokens          `json:"tokens,omitzero"`
	Cost       int64                `json:"cost,omitempty"`
	Reserved   int64                `json:"reserved,omitempty"`
	// Payer is the reservation of the caller's attempt that a tool call's attempt
	// is paid from; empty: the run pays.
	Payer string `json:"payer,omitempty"`

	// Reasons are why a person must look; Approval and Exception where they are asked.
	Reasons   []string `json:"reasons,omitempty"`
	Approval  string   `json:"approval,omitempty"`
	Approved  bool     `json:"approved,omitempty"`
	DecidedBy string   `json:"decided_by,omitempty"`
	Exception string   `json:"exception,omitempty"`
	// Calls are the tool calls of this visit, in their order.
	Calls []Address `json:"calls,omitempty"`
	// Heard are the decided requests of tool calls that attempts of this visit began with.
	Heard []string `json:"heard,omitempty"`
	// Child is the run of a sub-loop's step; ChildGen the latest generation of it
	// whose failure the step knows, ChildSpent what it was charged of the child's cost.
	Child      string `json:"child,omitempty"`
	ChildGen   int    `json:"child_gen,omitempty"`
	ChildSpent int64  `json:"child_spent,omitempty"`
	// Verified counts how often the rule sent the step back to verify an unknown action.
	Verified int `json:"verified,omitempty"`
	// Entry is the action log entry of an action step, Resource its lease.
	Entry         string `json:"entry,omitempty"`
	Resource      string `json:"resource,omitempty"`
	ResourceFence int64  `json:"resource_fence,omitempty"`
	// Facts are the versions of the facts the attempt read.
	Facts map[string]int64 `json:"facts,omitempty"`

	// Block is what a block's own record says; nil for steps of workers.
	Block *Block `json:"block,omitempty"`

	Started time.Time `json:"started,omitzero"`
	Ended   time.Time `json:"ended,omitzero"`
	Log     []Entry   `json:"log,omitempty"`

	Stored int64 `json:"-"`
}

// Fault is an error with the name a machine sees.
type Fault struct {
	Error string `json:"error"`
	Cause string `json:"cause"`
	// Ask: a person must look, whatever the failure rule says. To is the group, empty for the owner.
	Ask bool `json:"ask,omitempty"`
	// Halt: the run halts, whatever the failure rule says.
	Halt bool   `json:"halt,omitempty"`
	To   string `json:"to,omitempty"`
}

// Block is the state of a block: what was decided when it began, and its join.
type Block struct {
	// Count and Pages are the items of an `each`: how many, and the blob that lists the blobs of its pages.
	Count int    `json:"count,omitempty"`
	Pages string `json:"pages,omitempty"`
	// Label is the case of a switch, Until the end of a wait.
	Label *string    `json:"label,omitempty"`
	Until *time.Time `json:"until,omitempty"`
	// Completed and Missing count items once the join was evaluated.
	Completed int `json:"completed,omitempty"`
	Missing   int `json:"missing,omitempty"`
}

// StepKey addresses a step's latest visit.
func StepKey(run string, a Address) store.Key {
	return store.Key{Part: "RUN#" + run, Sort: "STEP#" + string(a)}
}

// StepsPrefix bounds the steps below an address; "" is the whole run.
func StepsPrefix(a Address) string {
	if a == "" {
		return "STEP#"
	}
	return "STEP#" + string(a) + "/"
}

func visitKey(run string, a Address, visit int) store.Key {
	return store.Key{Part: "RUN#" + run, Sort: fmt.Sprintf("VISIT#%s#%02d", a, visit)}
}

// VisitsPrefix bounds the earlier visits below an address, "" of the whole run.
func VisitsPrefix() string { return "VISIT#" }

const (
	stepFence = "fence"
	stepLease = "lease"
)

// DecodeStep reads a step; nil gives nil.
func DecodeStep(item *store.Item) (*Step, error) {
	if item == nil {
		return nil, nil
	}
	s := &Step{}
	if err := decode(item, s); err != nil {
		return nil, err
	}
	s.beside(item)
	return s, nil
}

// beside takes over what stands beside the body.
func (s *Step) beside(item *store.Item) {
	s.Stored = item.Version
	s.Fence, s.LeaseMs = item.Numbers[stepFence], item.Numbers[stepLease]
	s.Run = strings.TrimPrefix(item.Part, "RUN#")
	kind, place, _ := strings.Cut(item.Sort, "#")
	if kind == "VISIT" {
		place, _, _ = strings.Cut(place, "#")
	}
	s.Address = Address(place)
}

func (s *Step) item(key store.Key) store.Item {
	return store.Item{Key: key, Version: s.Stored, Body: encode(s), Numbers: map[string]int64{stepFence: s.Fence, stepLease: s.LeaseMs}}
}

// Put writes the step at the version it was read at, or creates it.
func (s *Step) Put() store.Op { return put(s.item(StepKey(s.Run, s.Address))) }

// Archive keeps the visit as it was settled beside the one that follows it.
func (s *Step) Archive() store.Op {
	item := s.item(visitKey(s.Run, s.Address, s.Visit))
	item.Version = 0
	return store.Create(item)
}

// Live tells whether an attempt holds the step at a time.
func (s *Step) Live(now time.Time) bool {
	return s.State == outerloop.StepRunning && now.UnixMilli() < s.LeaseMs
}

// ReservedAs is the number of the run that holds what the running attempt has
// reserved for itself.
func (s *Step) ReservedAs() string {
	if s.Payer != "" {
		return s.Payer + "." + ShortID(s.Nonce)
	}
	return Reservation(s.Nonce)
}

// Note adds a decision to the step's log.
func (s *Step) Note(e Entry) { s.Log = addEntry(s.Log, e) }

// Clone is a copy whose changes do not show in s.
func (s *Step) Clone() *Step {
	out := *s
	out.Log, out.Feedback = slices.Clone(s.Log), slices.Clone(s.Feedback)
	out.Evidence, out.Decisions = slices.Clip(s.Evidence), slices.Clip(s.Decisions)
	out.Unresolved, out.Reasons = slices.Clip(s.Unresolved), slices.Clip(s.Reasons)
	out.Calls, out.Heard = slices.Clip(s.Calls), slices.Clip(s.Heard)
	out.Facts = maps.Clone(s.Facts)
	out.LastVerdict, out.GaveUp, out.Block = copied(s.LastVerdict), copied(s.GaveUp), copied(s.Block)
	out.Tries.Failed = make(map[outerloop.Class]int, len(s.Tries.Failed))
	maps.Copy(out.Tries.Failed, s.Tries.Failed)
	return &out
}

func copied[T any](p *T) *T {
	if p == nil {
		return nil
	}
	out := *p
	return &out
}

// Inside tells whether the sort key of a step lies inside an item of an `each`.
func (a Address) Inside() bool { return strings.Contains(string(a), "/@") }

// Payload is a convenience for inline JSON values.
func Payload(raw json.RawMessage) Value {
	return Value{Inline: raw, Hash: HashOf(raw), Size: len(raw)}
}

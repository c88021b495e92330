package record

import (
	"strconv"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/gate"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// The decisions on an approval. Undecided is empty.
const (
	DecisionApproved = "approved"
	DecisionRejected = "rejected"
	DecisionExpired  = "expired"
)

// Vote is one person's approval where several are needed.
type Vote struct {
	By     string    `json:"by"`
	At     time.Time `json:"at"`
	Reason string    `json:"reason,omitempty"`
}

// Approval is one request for a person's approval: registration and decision
// in one item, so that whoever sees both halves can complete the token.
type Approval struct {
	ID      string  `json:"id"`
	Run     string  `json:"run"`
	Loop    string  `json:"loop"`
	Address Address `json:"address"`
	Path    string  `json:"path"`
	Step    string  `json:"step"`
	Visit   int     `json:"visit"`
	// Hash is of the content that is approved, as asked or as edited.
	Hash    string `json:"hash"`
	Content Value  `json:"content"`
	Action  bool   `json:"action"`
	// Answer: a person gives the step's output; Content is its input until then.
	Answer bool `json:"answer,omitempty"`
	// Next is what the machine's next block asks for, where the token goes straight to it.
	Next    *gate.Next `json:"next,omitempty"`
	Ask     string     `json:"ask"`
	Reasons []string   `json:"reasons"`
	// Approvers are people and groups; Never people who may not; People how many must approve.
	Approvers []string `json:"approvers"`
	Never     []string `json:"never,omitempty"`
	People    int      `json:"people"`
	Votes     []Vote   `json:"votes,omitempty"`
	// Editor is who edited the content; the author of an edit never approves it alone.
	Editor  string    `json:"editor,omitempty"`
	Since   time.Time `json:"since"`
	Expires time.Time `json:"expires"`
	// Nudge is when people are next reminded or others are asked too, before it
	// expires; zero: never. Escalated counts the stages that have been asked.
	Nudge     time.Time `json:"nudge,omitzero"`
	Escalated int       `json:"escalated,omitempty"`

	Decision string    `json:"decision,omitempty"`
	By       string    `json:"by,omitempty"`
	Reason   string    `json:"reason,omitempty"`
	At       time.Time `json:"at,omitzero"`
	Edited   bool      `json:"edited,omitempty"`

	Token string `json:"token,omitempty"`
	// Before are tokens of this generation that were registered before it.
	Before    []string `json:"before,omitempty"`
	Gen       int      `json:"gen"`
	Delivered bool     `json:"delivered"`
	// Void: the run ended before a decision.
	Void bool `json:"void,omitempty"`

	Stored int64 `json:"-"`
}

// ApprovalID is the id of the request of a visit of a step.
func ApprovalID(run string, a Address, visit int) string {
	return ShortID("approval", run, string(a), strconv.Itoa(visit))
}

// ApprovalKey addresses a request.
func ApprovalKey(id string) store.Key { return store.Key{Part: "APPROVAL#" + id, Sort: "APPROVAL"} }

// ApprovalsOpen is the partition of the list index with what is undecided, oldest first.
const ApprovalsOpen = "APPROVALS#open"

// DecodeApproval reads a request; nil gives nil.
func DecodeApproval(item *store.Item) (*Approval, error) {
	if item == nil {
		return nil, nil
	}
	a := &Approval{Stored: item.Version}
	if err := decode(item, a); err != nil {
		return nil, err
	}
	return a, nil
}

// Decided tells whether a decision stands. It is final.
func (a *Approval) Decided() bool { return a.Decision != "" }

// Put writes the request at the version it was read at, or creates it.
func (a *Approval) Put() store.Op {
	key := ApprovalKey(a.ID)
	item := store.Item{Key: key, Version: a.Stored, Body: encode(a)}
	switch {
	case a.Void:
	case !a.Decided():
		item.List = &store.IndexKey{Part: ApprovalsOpen, Sort: store.TimeKey(a.Since) + "#" + a.ID}
		at := a.Expires
		if !a.Nudge.IsZero() && a.Nudge.Before(at) {
			at = a.Nudge
		}
		item.Due = due(at, key)
	case !a.Delivered:
		item.Due = due(a.At, key)
	}
	return put(item)
}

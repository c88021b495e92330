package record

import (
	"time"

	"github.com/outerloop-dev/outerloop/pkg/store"
)

// Trust is how far an action of a worker is trusted, of all runs together (R43).
// Without one, the charter's start holds and nothing was measured yet.
type Trust struct {
	Worker string `json:"worker"`
	Action string `json:"action"`
	// Stage is where people or a breach have put it, in Version of the charter;
	// empty: where the charter starts.
	Stage   string `json:"stage,omitempty"`
	Version int    `json:"version,omitempty"`
	// Demotions since the last promotion: each asks for a larger sample.
	Demotions int `json:"demotions,omitempty"`
	// Changes are the latest changes of the stage, the newest last.
	Changes []StageChange `json:"changes,omitempty"`

	// Reviewed, Accepted and Breaches are measured in the current stage.
	Reviewed, Accepted, Breaches int64 `json:"-"`
	Stored                       int64 `json:"-"`
}

// StageChange is one change of a stage, with who did it and why. By is "gate"
// where a breach did.
type StageChange struct {
	From   string    `json:"from"`
	To     string    `json:"to"`
	At     time.Time `json:"at"`
	By     string    `json:"by"`
	Reason string    `json:"reason"`
}

const (
	// TrustsPart is the partition of the list index with what is measured.
	TrustsPart  = "TRUSTS"
	changesKept = 20
)

// TrustKey addresses what is known of an action.
func TrustKey(worker, action string) store.Key {
	return store.Key{Part: "TRUST#" + worker, Sort: "ACTION#" + action}
}

// DecodeTrust reads what is known of an action; nil gives nil.
func DecodeTrust(item *store.Item) (*Trust, error) {
	if item == nil {
		return nil, nil
	}
	n := item.Numbers
	t := &Trust{Stored: item.Version, Reviewed: n["reviewed"], Accepted: n["accepted"], Breaches: n["breaches"]}
	return t, decode(item, t)
}

// Move puts the action into a stage; what is measured begins anew.
func (t *Trust) Move(change StageChange, version int) {
	t.Stage, t.Version = change.To, version
	t.Reviewed, t.Accepted, t.Breaches = 0, 0, 0
	t.Changes = append(t.Changes, change)
	if len(t.Changes) > changesKept {
		t.Changes = t.Changes[len(t.Changes)-changesKept:]
	}
}

// Put writes it at the version it was read at, or creates it.
func (t *Trust) Put() store.Op {
	return put(store.Item{
		Key: TrustKey(t.Worker, t.Action), Version: t.Stored, Body: encode(t),
		Numbers: map[string]int64{"reviewed": t.Reviewed, "accepted": t.Accepted, "breaches": t.Breaches},
		List:    &store.IndexKey{Part: TrustsPart, Sort: t.Worker + "/" + t.Action},
	})
}

// Proposal is an action that was only proposed, to be compared with what people
// did (R43).
type Proposal struct {
	Loop    string    `json:"loop"`
	Run     string    `json:"run"`
	Step    string    `json:"step"`
	Worker  string    `json:"worker"`
	Action  string    `json:"action"`
	Entry   string    `json:"entry"`
	Stage   string    `json:"stage"`
	Payload Value     `json:"payload"`
	At      time.Time `json:"at"`
	// Did is what people did, set once; Nothing: they did nothing.
	Did     Value     `json:"did,omitzero"`
	Nothing bool      `json:"nothing,omitempty"`
	Agrees  bool      `json:"agrees,omitempty"`
	By      string    `json:"by,omitempty"`
	DidAt   time.Time `json:"did_at,omitzero"`

	Stored int64 `json:"-"`
}

// ProposalsPart is the partition of the list index with the proposals of a worker.
func ProposalsPart(worker string) string { return "PROPOSAL#worker/" + worker }

// ProposalKey addresses a proposal by its loop and action entry.
func ProposalKey(loop, entry string) store.Key {
	return store.Key{Part: "PROPOSAL#" + loop, Sort: entry}
}

// DecodeProposal reads a proposal; nil gives nil.
func DecodeProposal(item *store.Item) (*Proposal, error) {
	if item == nil {
		return nil, nil
	}
	p := &Proposal{Stored: item.Version}
	return p, decode(item, p)
}

// Put writes it at the version it was read at, or creates it.
func (p *Proposal) Put() store.Op {
	return put(store.Item{
		Key: ProposalKey(p.Loop, p.Entry), Version: p.Stored, Body: encode(p),
		List: &store.IndexKey{Part: ProposalsPart(p.Worker), Sort: p.At.UTC().Format(time.RFC3339Nano) + "/" + p.Entry},
	})
}

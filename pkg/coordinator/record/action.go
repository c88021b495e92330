package record

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/store"
)

// ActionState is where a business action stands (PROTOCOL "Action").
type ActionState string

// The states of an action. One never begun has no record.
const (
	ActionExecuting ActionState = "executing"
	ActionDone      ActionState = "done"
	ActionFailed    ActionState = "failed"
	ActionUnknown   ActionState = "unknown"
)

// Action is one entry of the action log (R37). It is never deleted.
type Action struct {
	Loop        string      `json:"loop"`
	Entry       string      `json:"entry"`
	Action      string      `json:"action"`
	Worker      string      `json:"worker"`
	Run         string      `json:"run"`
	Step        string      `json:"step"`
	Address     Address     `json:"address"`
	State       ActionState `json:"state"`
	Hash        string      `json:"hash"`
	ProviderKey string      `json:"provider_key"`
	Owner       string      `json:"owner"`
	// Fence is raised by every begin.
	Fence int64 `json:"-"`
	// UntilMs ends the time in which the call may have an effect, Unix milliseconds.
	UntilMs int64           `json:"-"`
	Result  json.RawMessage `json:"result,omitempty"`
	Reason  string          `json:"reason,omitempty"`
	// Asked is the exception that asks a person what became of it.
	Asked string `json:"asked,omitempty"`
	// Quota is the item that counts it, empty without a quota.
	Quota string `json:"quota,omitempty"`
	// Undo is how it is reversed; nil: it is not.
	Undo  *Undo     `json:"undo,omitempty"`
	Begun time.Time `json:"begun"`
	Ended time.Time `json:"ended,omitzero"`

	// Path is set by who reads it beside its step.
	Path   string `json:"-"`
	Stored int64  `json:"-"`
}

// MaxEntry is the longest entry in bytes.
const MaxEntry = 800

// ActionKey addresses an entry. Entries of different loops never meet.
func ActionKey(loop, entry string) store.Key {
	return store.Key{Part: "ACT#" + loop + "#" + entry, Sort: "ACT"}
}

// ActionListPart is the partition of the list index with a loop's actions, by entry.
func ActionListPart(loop string) string { return "ACTIONS#" + loop }

// ProviderKey is the idempotency key that every call of an entry gives the provider.
func ProviderKey(loop, entry string) string { return fmt.Sprintf("ol-%s", ShortID(loop, entry)) }

// DecodeAction reads an action; nil gives nil.
func DecodeAction(item *store.Item) (*Action, error) {
	if item == nil {
		return nil, nil
	}
	a := &Action{Stored: item.Version}
	if err := decode(item, a); err != nil {
		return nil, err
	}
	a.Fence, a.UntilMs = item.Numbers["fence"], item.Numbers["until"]
	return a, nil
}

// Put writes the action at the version it was read at, or creates it.
func (a *Action) Put() store.Op {
	key := ActionKey(a.Loop, a.Entry)
	item := store.Item{
		Key: key, Version: a.Stored, Body: encode(a),
		Numbers: map[string]int64{"fence": a.Fence, "until": a.UntilMs},
		List:    &store.IndexKey{Part: ActionListPart(a.Loop), Sort: a.Entry},
	}
	if a.State == ActionExecuting || a.State == ActionUnknown && a.Asked == "" {
		item.Due = due(time.UnixMilli(a.UntilMs), key)
	}
	return put(item)
}

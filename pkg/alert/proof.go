package alert

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// ErrNoTest says that no test alert of this code was sent to the group.
var ErrNoTest = errors.New("no test alert of this code")

// Proof is the last test alert of a group that a person has confirmed.
type Proof struct {
	At time.Time `json:"at,omitzero"`
	By string    `json:"by,omitempty"`
	// Asked is when the open test was sent, Code what its message says; empty: none is open.
	Asked time.Time `json:"asked,omitzero"`
	Code  string    `json:"code,omitempty"`
}

func proofKey(group string) store.Key { return store.Key{Part: "ALERTPROOF", Sort: group} }

// ReadProof reads a group's proof from any store; the zero Proof: nothing is known.
func ReadProof(ctx context.Context, s store.Store, group string) (Proof, error) {
	p, _, err := readProof(ctx, s, group)
	return p, err
}

func readProof(ctx context.Context, s store.Store, group string) (p Proof, version int64, err error) {
	items, err := s.Get(ctx, proofKey(group))
	if err != nil {
		return p, 0, fmt.Errorf("reading the alert's proof: %w", err)
	}
	if items[0] == nil {
		return p, 0, nil
	}
	return p, items[0].Version, json.Unmarshal(items[0].Body, &p)
}

// Test sends a group a test alert over its channels, from end to end, with a
// code that whoever received it confirms it with. A later test replaces the code.
func (d *Desk) Test(ctx context.Context, group string) error {
	p, version, err := readProof(ctx, d.cfg.Store, group)
	if err != nil {
		return err
	}
	p.Asked = d.now()
	p.Code = record.ShortID("test", group, d.cfg.IDs())[:8]
	op, err := proofOp(group, p, version)
	if err != nil {
		return err
	}
	line := Line{
		Kind: "test", ID: p.Code, At: p.Asked, Text: "This is a test alert for " + group + ". Whoever reads it: confirm it.",
		Command: fmt.Sprintf("%s doctor --confirm %s --group %s --by YOUR-ADDRESS", d.cfg.Commands, p.Code, group),
	}
	return d.keep(ctx, entry{group: group, id: "test\x00" + p.Code, incident: "test " + p.Code, line: line, more: []store.Op{op}})
}

// Confirm records that a person has received the test alert. Error: ErrNoTest.
func (d *Desk) Confirm(ctx context.Context, group, code, by string) (Proof, error) {
	for range attempts {
		p, version, err := readProof(ctx, d.cfg.Store, group)
		if err != nil {
			return p, err
		}
		if p.Code == "" || !strings.EqualFold(p.Code, strings.TrimSpace(code)) {
			return p, fmt.Errorf("%s: %w", group, ErrNoTest)
		}
		p.At, p.By, p.Code, p.Asked = d.now(), by, "", time.Time{}
		op, err := proofOp(group, p, version)
		if err != nil {
			return p, err
		}
		if err := d.write(ctx, op); !errors.Is(err, store.ErrCondition) {
			return p, err
		}
	}
	return Proof{}, fmt.Errorf("confirming the alert of %s: changed too often at the same time", group)
}

func proofOp(group string, p Proof, version int64) (store.Op, error) {
	body, err := json.Marshal(p)
	if err != nil {
		return store.Op{}, fmt.Errorf("writing the alert's proof: %w", err)
	}
	item := store.Item{Key: proofKey(group), Version: version, Body: body}
	if version == 0 {
		return store.Create(item), nil
	}
	return store.Replace(item), nil
}

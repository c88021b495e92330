package coordinator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/charter"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// propose keeps an action that was not done, so that it can be compared with
// what people did. The same entry is kept once.
func (q *call) propose(ctx context.Context, p *prepared, stage charter.Stage) error {
	action := q.node.Action.Declared.Name
	kept, err := q.c.keepRaw(ctx, p.raw)
	if err != nil {
		return err
	}
	made := record.Proposal{
		Loop: q.run.Loop, Run: q.run.ID, Step: q.name(ctx, q.node, q.index), Worker: q.worker.Charter.Worker, Action: action,
		Entry: p.entry, Stage: string(stage), Payload: kept, At: q.c.now(),
	}
	err = q.c.write(ctx, made.Put())
	if errors.Is(err, store.ErrCondition) {
		return nil // it was proposed before
	}
	return err
}

// ProposalView is an action that was only proposed.
type ProposalView struct {
	Loop    string          `json:"loop"`
	Run     string          `json:"run"`
	Step    string          `json:"step"`
	Worker  string          `json:"worker"`
	Entry   string          `json:"entry"`
	Payload json.RawMessage `json:"payload"`
	At      time.Time       `json:"at"`
	// Compared: people said what they did. Agrees tells whether it was this.
	Compared bool   `json:"compared"`
	Agrees   bool   `json:"agrees"`
	By       string `json:"by,omitempty"`
}

// Proposals lists what a worker proposed and did not do, the oldest first.
func (c *Coordinator) Proposals(ctx context.Context, worker string) ([]ProposalView, error) {
	out := []ProposalView{}
	err := c.each(ctx, store.Query{Index: store.ByList, Part: record.ProposalsPart(worker)}, func(item *store.Item) error {
		p, err := one(ctx, c, item.Key, record.DecodeProposal)
		if err != nil || p == nil {
			return err
		}
		view := viewOf(p)
		view.Payload, _, err = c.shown(ctx, p.Run, p.Payload)
		out = append(out, view)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("listing the proposals of %s: %w", worker, err)
	}
	return out, nil
}

// DidRequest says what people did where a worker only proposed.
type DidRequest struct {
	Loop  string `json:"loop"`
	Entry string `json:"entry"`
	// Payload is what they did; null: nothing.
	Payload json.RawMessage `json:"payload"`
	By      string          `json:"by"`
}

// Did compares a proposal with what people did, once: agreement is the measured
// result of the observe and recommend stages (R43). Errors: ErrNoProposal,
// *DecidedError, ErrNotAllowed, *InputError.
func (c *Coordinator) Did(ctx context.Context, req DidRequest) (ProposalView, error) {
	return deciding(ctx, c, "comparing "+req.Entry, func(ctx context.Context) (ProposalView, error) {
		p, err := one(ctx, c, record.ProposalKey(req.Loop, req.Entry), record.DecodeProposal)
		switch {
		case err != nil:
			return ProposalView{}, err
		case p == nil:
			return ProposalView{}, fmt.Errorf("%s of %s: %w", req.Entry, req.Loop, ErrNoProposal)
		case p.By != "":
			return ProposalView{}, &DecidedError{ID: req.Entry, Decision: "compared", By: p.By, At: p.DidAt}
		case req.By == "":
			return ProposalView{}, &InputError{What: "comparison", Faults: []string{"by whom"}}
		}
		if err := c.mayAct(ctx, p.Run, req.By); err != nil {
			return ProposalView{}, err
		}
		p.Nothing = len(req.Payload) == 0 || string(req.Payload) == "null"
		if !p.Nothing {
			value, err := parse("what was done", req.Payload)
			if err != nil {
				return ProposalView{}, err
			}
			if p.Did, err = c.keep(ctx, value); err != nil {
				return ProposalView{}, err
			}
		}
		p.Agrees, p.By, p.DidAt = !p.Nothing && p.Did.Hash == p.Payload.Hash, req.By, c.now()
		result := measured{worker: p.Worker, action: p.Action, reviewed: 1}
		if p.Agrees {
			result.accepted = 1
		}
		add, err := c.measure(ctx, result)
		if err != nil {
			return ProposalView{}, err
		}
		return viewOf(p), c.write(ctx, p.Put(), add)
	})
}

// ErrNoProposal says that nothing was proposed under an entry.
var ErrNoProposal = fmt.Errorf("there is no such proposal: %w", ErrNotPossible)

func viewOf(p *record.Proposal) ProposalView {
	return ProposalView{
		Loop: p.Loop, Run: p.Run, Step: p.Step, Worker: p.Worker, Entry: p.Entry, At: p.At, Compared: p.By != "", Agrees: p.Agrees, By: p.By,
	}
}

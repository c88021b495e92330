package coordinator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// Log is every decision about a run and its steps, earlier visits and late
// results included, in the order of time (R53). Error: ErrNoRun.
func (c *Coordinator) Log(ctx context.Context, id string) ([]LogView, error) {
	r, err := c.runOf(ctx, id)
	if err != nil {
		return nil, err
	}
	def, err := c.definitionOf(ctx, id)
	if err != nil {
		return nil, err
	}
	places := newOrder(def)
	out := entries(r, "", r.Log)
	part := record.RunKey(id).Part
	seen := map[string]bool{}
	for _, prefix := range []string{record.VisitsPrefix(), record.StepsPrefix("")} {
		err := c.each(ctx, store.Query{Part: part, Prefix: prefix, Limit: 500}, func(item *store.Item) error {
			step, err := record.DecodeStep(item)
			if err != nil {
				return err
			}
			places.add(step.Name, step.Path)
			for _, e := range decisions(r, step) { // a later visit carries the log of the one before
				if key := e.Step + e.At.String() + e.Kind + e.Rule; !seen[key] {
					seen[key] = true
					out = append(out, e)
				}
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("reading the log of %s: %w", id, err)
		}
	}
	err = c.each(ctx, store.Query{Part: part, Prefix: record.LatePrefix}, func(item *store.Item) error {
		late, err := record.DecodeLate(item)
		if err == nil {
			out = append(out, LogView{At: late.At, Run: id, Step: late.Step, Worker: late.Worker, Kind: "late", Rule: late.Reason})
		}
		return err
	})
	slices.SortStableFunc(out, func(a, b LogView) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(places.of(a), places.of(b)))
	})
	v, veilErr := c.veilRun(ctx, r)
	for i := range out {
		out[i].ID = fmt.Sprintf("%s/%d", id, i+1)
		out[i].Rule, out[i].Decisions = v.hide(out[i].Rule), v.hideAll(out[i].Decisions)
	}
	return out, errors.Join(err, veilErr)
}

// decisions are a step's entries, with those of its worker where it settled.
func decisions(r *record.Run, step *record.Step) []LogView {
	out := entries(r, step.Name, step.Log)
	if step.State != outerloop.StepSettled {
		return out
	}
	for i := range slices.Backward(out) {
		if out[i].Kind == "settled" {
			out[i].Decisions = step.Decisions
			break
		}
	}
	return out
}

func entries(r *record.Run, step string, list []record.Entry) []LogView {
	out := make([]LogView, 0, len(list))
	for _, e := range list {
		out = append(out, LogView{
			At: e.At.UTC(), Run: r.ID, Step: step, Worker: e.Worker, Kind: e.Kind, Rule: e.Rule, Outcome: e.Outcome,
			Input: e.Input, Output: e.Output, Ms: e.Ms, By: e.By,
		})
	}
	return out
}

// Actions searches the action log, in the order of the entries: at most 1,000.
func (c *Coordinator) Actions(ctx context.Context, want ActionsQuery) ([]ActionView, error) {
	page, err := c.ActionsPage(ctx, want)
	return page.Items, err
}

// ActionsPage is one page of Actions, of 1,000 where the query sets no limit.
// Error: *InputError where After names no page.
func (c *Coordinator) ActionsPage(ctx context.Context, want ActionsQuery) (Page[ActionView], error) {
	page := Page[ActionView]{Items: []ActionView{}}
	var parts []string
	err := c.eachLoop(ctx, func(name string) error {
		if want.Loop == "" || want.Loop == name {
			parts = append(parts, record.ActionListPart(name))
		}
		return nil
	})
	if err != nil {
		return page, err
	}
	l := listing{parts: parts, prefix: want.Key, shared: true, after: want.After, limit: sizeOf(want.Limit, mostListed)}
	page.Next, err = c.list(ctx, l, func(item *store.Item) (bool, error) {
		a, err := record.DecodeAction(item)
		if err != nil {
			return false, err
		}
		view := actionView(a)
		view.Result, _, err = c.hidden(ctx, a.Run, a.Result)
		if err == nil && view.Reason != "" {
			var v *veil
			v, err = c.veilAt(ctx, a.Run, spot{a.Step, itemOf(a.Address)})
			view.Reason = v.hide(view.Reason)
		}
		page.Items = append(page.Items, view)
		return true, err
	})
	return page, err
}

func actionView(a *record.Action) ActionView {
	return ActionView{
		ID: a.Entry, Loop: a.Loop, Run: a.Run, Step: a.Step, Worker: a.Worker, State: string(a.State), ProviderKey: a.ProviderKey,
		PayloadHash: a.Hash, Result: a.Result, Reason: a.Reason, BegunAt: a.Begun.UTC(), EndedAt: momentOf(a.Ended), Calls: a.Fence,
	}
}

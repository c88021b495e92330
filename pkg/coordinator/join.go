package coordinator

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/loop"
	"github.com/outerloop-dev/outerloop/pkg/rule"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// joinError says that a block has too few completed parts and its join does not
// allow to go on.
type joinError struct {
	node      *loop.Node
	at        record.Address
	name      string
	completed int
	parts     int
	first     string
}

// Error says what is missing.
func (e *joinError) Error() string {
	text := fmt.Sprintf("%s: %d of %d completed, %d are needed", e.name, e.completed, e.parts, e.node.Join.Need.Of(e.parts))
	if e.first != "" {
		text += "; first missing: " + e.first
	}
	return text
}

// part is what one item, branch or case came to.
type part struct {
	result
	// lost is the step inside that made it missing.
	lost *record.Step
	name string
}

// gathered is what a join counts.
type gathered struct {
	results   []any
	missing   []any
	parts     int
	completed int
	// open are parts that are not settled: only where enough others may do.
	open int
}

func (g *gathered) first() string {
	if len(g.missing) == 0 {
		return ""
	}
	m := g.missing[0].(map[string]any)
	return fmt.Sprintf("%v (%v: %v)", m["key"], m["step"], m["cause"])
}

// lose counts a part as missing, with the step that made it so.
func (g *gathered) lose(key string, p part) {
	say, cause, step := p.reason, p.reason, p.name
	if p.lost != nil {
		cause, say = p.lost.Cause, p.lost.Reason
		if cause == "" {
			cause = say
		}
	}
	g.missing = append(g.missing, map[string]any{"key": key, "step": step, "cause": cause, "say": say})
}

// joined is the result of a block: as recorded, or evaluated now and recorded
// once. Parts that are not settled make it errNotSettled-free but unsettled.
func (v *view) joined(ctx context.Context, n *loop.Node, items []int) (result, error) {
	head := v.steps[address(n, items)]
	if head != nil && head.State == outerloop.StepSettled {
		return v.of(n, items), nil
	}
	if head == nil && n.Kind != loop.KindBranches {
		return result{}, nil
	}
	out, count, err := v.gather(ctx, n, items, head)
	if errors.Is(err, errNotSettled) {
		return result{step: head}, nil
	}
	if err != nil {
		return result{}, err
	}
	return v.recordJoin(ctx, n, items, out, count)
}

func (v *view) gather(ctx context.Context, n *loop.Node, items []int, head *record.Step) (result, *gathered, error) {
	switch n.Kind {
	case loop.KindEach:
		return v.gatherEach(ctx, n, items, head)
	case loop.KindBranches:
		return v.gatherBranches(ctx, n, items)
	}
	out, err := v.chosenCase(ctx, n, items, head)
	return out, nil, err
}

func (v *view) chosenCase(ctx context.Context, n *loop.Node, items []int, head *record.Step) (result, error) {
	if head.Block == nil || head.Block.Label == nil {
		return result{}, fmt.Errorf("%s %w", n.Path, errNotSettled)
	}
	number, err := strconv.Atoi(*head.Block.Label)
	if err != nil || number < 1 || number > len(n.Cases) {
		//nolint:nilerr // no case was chosen, since the block was not needed
		return result{settled: true, outcome: outerloop.OutcomeNotNeeded, missing: head.Missing, reason: head.Reason}, nil
	}
	out, err := v.bodyResult(ctx, n.Cases[number-1], items)
	if err == nil && !out.settled {
		err = fmt.Errorf("%s %w", n.Cases[number-1].Path, errNotSettled)
	}
	return out, err
}

// bodyResult is what the steps of a group or case came to, and their output.
func (v *view) bodyResult(ctx context.Context, n *loop.Node, items []int) (result, error) {
	p, err := v.partResult(ctx, n.Body, items)
	if errors.Is(err, errNotSettled) {
		return result{}, nil
	}
	return p.result, err
}

// partResult judges one body: missing if one of its steps is, else complete,
// with the body's output where it can be computed.
func (v *view) partResult(ctx context.Context, body *loop.Body, items []int) (part, error) {
	done := part{result: result{settled: true, outcome: outerloop.OutcomeCompleted}}
	if body == nil {
		return done, nil
	}
	for _, inner := range body.Nodes {
		out, err := v.outcomeOf(ctx, inner, items)
		if err != nil {
			return part{}, err
		}
		if !out.settled {
			return part{}, fmt.Errorf("%s %w", inner.Path, errNotSettled)
		}
		if out.outcome.Missing() {
			out.outcome = outerloop.OutcomeSkipped
			return part{result: out, lost: out.step, name: inner.Name}, nil
		}
	}
	if body.Output == nil {
		return done, nil
	}
	value, err := v.tree(ctx, body.Output, items, nil)
	if errors.Is(err, rule.ErrAbsent) {
		done.outcome, done.reason = outerloop.OutcomeNotNeeded, err.Error()
		return done, nil
	}
	if err != nil {
		return part{}, err
	}
	done.output, err = v.c.keep(ctx, value)
	return done, err
}

func (v *view) gatherBranches(ctx context.Context, n *loop.Node, items []int) (result, *gathered, error) {
	g := &gathered{}
	outputs := map[string]any{}
	if n.When != nil || len(n.Needs) > 0 {
		missing, reason, err := v.unneeded(ctx, n, items)
		if err != nil {
			return result{}, nil, err
		}
		if reason != "" {
			return result{settled: true, outcome: outerloop.OutcomeNotNeeded, missing: missing, reason: reason}, nil, nil
		}
	}
	for _, branch := range n.Branches {
		out, err := v.outcomeOf(ctx, branch, items)
		if err != nil {
			return result{}, nil, err
		}
		if !out.settled && n.Join.Enough == 0 {
			return result{}, nil, fmt.Errorf("%s %w", branch.Path, errNotSettled)
		}
		g.parts++
		if !out.settled {
			g.open++
			continue
		}
		if out.outcome.Missing() {
			g.lose(branch.Name, part{result: out, lost: out.step, name: branch.Name})
			continue
		}
		g.completed++
		if out.outcome.HasOutput() {
			if outputs[branch.Name], err = v.c.value(ctx, out.output); err != nil {
				return result{}, nil, err
			}
		}
	}
	outputs["missing"] = nonNil(g.missing)
	out, err := v.judge(ctx, n, items, g, outputs)
	return out, g, err
}

// gatherEach goes through the steps of a block in the order of the items,
// holding one item's records and the results so far.
func (v *view) gatherEach(ctx context.Context, n *loop.Node, items []int, head *record.Step) (result, *gathered, error) {
	g := &gathered{}
	at := address(n, items)
	group := map[record.Address]*record.Step{}
	flush := func() error {
		if g.parts >= head.Block.Count {
			return nil
		}
		inner := append(append([]int(nil), items...), g.parts)
		err := v.gatherItem(ctx, n, inner, group, g)
		group = map[record.Address]*record.Step{}
		return err
	}
	prefix := record.StepsPrefix(at)
	q := store.Query{Part: record.RunKey(v.run.ID).Part, Prefix: prefix, Limit: 500}
	err := v.c.each(ctx, q, func(item *store.Item) error {
		index, ok := itemIndex(item.Sort, prefix)
		if !ok {
			return nil
		}
		for g.parts < index {
			if err := flush(); err != nil {
				return err
			}
		}
		step, err := record.DecodeStep(item)
		if err == nil {
			group[step.Address] = step
		}
		return err
	})
	for err == nil && g.parts < head.Block.Count {
		err = flush()
	}
	if err != nil {
		return result{}, nil, err
	}
	counts := map[string]any{"items": int64(g.parts), "completed": int64(g.completed), "missing": int64(len(g.missing))}
	out, err := v.judge(ctx, n, items, g, map[string]any{"results": nonNil(g.results), "missing": nonNil(g.missing), "counts": counts})
	return out, g, err
}

func (v *view) gatherItem(ctx context.Context, n *loop.Node, inner []int, group map[record.Address]*record.Step, g *gathered) error {
	one := *v
	one.steps = group
	one.whole = address(n, inner).Item(inner[n.Depth])
	one.items = map[record.Address]any{}
	outer := v.steps
	for a, step := range outer { // what is outside the item, heads of blocks above all
		if !one.covers(a) {
			group[a] = step
		}
	}
	p, err := one.partResult(ctx, n.Body, inner)
	if errors.Is(err, errNotSettled) && n.Join.Enough > 0 {
		g.parts++
		g.open++
		return nil
	}
	if err != nil {
		return err
	}
	g.parts++
	if p.outcome.Missing() {
		g.lose(one.itemKey(ctx, n, inner), p)
		return nil
	}
	g.completed++
	if p.outcome.HasOutput() {
		raw, err := v.c.raw(ctx, p.output)
		if err != nil {
			return err
		}
		g.results = append(g.results, raw)
	}
	return nil
}

// itemIndex reads the index of the item that a sort key below a block belongs to.
func itemIndex(sort, prefix string) (int, bool) {
	rest, ok := strings.CutPrefix(sort, prefix+"@")
	if !ok {
		return 0, false
	}
	digits, _, _ := strings.Cut(rest, "/")
	index, err := strconv.Atoi(digits)
	return index, err == nil
}

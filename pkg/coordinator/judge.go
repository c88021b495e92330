package coordinator

import (
	"context"
	"fmt"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/protocol"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/gate"
	"github.com/outerloop-dev/outerloop/pkg/loop"
)

// judge applies the join rule.
func (v *view) judge(ctx context.Context, n *loop.Node, items []int, g *gathered, value map[string]any) (result, error) {
	at := address(n, items)
	head := v.steps[at]
	enough := n.Join.Enough > 0 && g.completed >= n.Join.Enough
	if !enough && g.open > 0 {
		return result{}, fmt.Errorf("%s %w", n.Path, errNotSettled)
	}
	if !enough && g.completed < n.Join.Need.Of(g.parts) && (head == nil || !head.Accepted) {
		failed := &joinError{node: n, at: at, name: v.name(ctx, n, items), completed: g.completed, parts: g.parts, first: g.first()}
		if n.Join.Otherwise != loop.EndingSkip {
			return result{}, failed
		}
		return result{settled: true, outcome: outerloop.OutcomeSkipped, reason: failed.Error()}, nil
	}
	kept, err := v.c.keep(ctx, value)
	return result{settled: true, outcome: outerloop.OutcomeCompleted, output: kept}, err
}

// recordJoin settles the block's own record, once, while the run is open.
func (v *view) recordJoin(ctx context.Context, n *loop.Node, items []int, out result, g *gathered) (result, error) {
	at := address(n, items)
	step := v.blockRecord(ctx, n, items)
	step.Output, step.Reason = out.output, out.reason
	if out.missing != "" {
		step.Missing = out.missing
	}
	if g != nil {
		step.Block.Completed, step.Block.Missing = g.completed, len(g.missing)
		if n.Kind == loop.KindBranches {
			step.Block.Count = g.parts
		}
	}
	protocol.Settle(step, out.outcome, v.c.now(), gate.Note{})
	step.Note(record.Entry{At: v.c.now(), Kind: "joined", Outcome: string(out.outcome), Output: out.output.Hash})
	if err := v.c.write(ctx, step.Put(), v.checkRun()); err != nil {
		return result{}, fmt.Errorf("recording join of %s: %w", step.Name, err)
	}
	step.Stored++
	v.steps[at] = step
	if g != nil && g.open > 0 {
		if err := v.cancelRest(ctx, n, items); err != nil {
			v.c.cfg.Log.Warn("what is not needed any more ends by itself", "block", step.Name, "err", err)
		}
	}
	return v.of(n, items), nil
}

// blockRecord is the block's own record as it stands, or a new one.
func (v *view) blockRecord(ctx context.Context, n *loop.Node, items []int) *record.Step {
	at := address(n, items)
	if head := v.steps[at]; head != nil {
		step := head.Clone()
		if step.Block == nil {
			step.Block = &record.Block{}
		} else {
			block := *step.Block
			step.Block = &block
		}
		return step
	}
	return &record.Step{
		Run: v.run.ID, Address: at, Path: n.Path, Item: outerloop.FormatItem(items[:n.Depth]), Name: v.name(ctx, n, items),
		Visit: 1, State: outerloop.StepOpen, Gen: v.run.Gen, Started: v.c.now(), Block: &record.Block{},
	}
}

func nonNil(list []any) []any {
	if list == nil {
		return []any{}
	}
	return list
}

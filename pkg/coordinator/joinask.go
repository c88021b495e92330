package coordinator

import (
	"context"
	"errors"
	"fmt"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/protocol"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/gate"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// joinClass is the class of exceptions about a join.
const joinClass = "join"

const joinNeeds = "skip goes on with what there is; retry runs the missing parts again; close ends the run"

// join evaluates the join of a block whose rule is to ask: the state after the
// block waits for its token while a person decides, and what does not need the
// block goes on (R4).
//
//nolint:unparam // the shape of every operation
func (c *Coordinator) join(ctx context.Context, op operation) (gate.Verdict, error) {
	out, err := deciding(ctx, c, "joining "+op.Step, func(ctx context.Context) (ruling, error) {
		d, err := c.receive(ctx, op.delivery())
		if err != nil {
			return ruling{}, err
		}
		return d.join(ctx, op)
	})
	if err != nil || out.waits {
		return gate.Verdict{}, err
	}
	return gate.Verdict{}, c.complete(ctx, op.Token, out.verdict)
}

func (d *delivered) join(ctx context.Context, op operation) (ruling, error) {
	if !d.run.Open() || d.Gen != d.run.Gen || d.node.Join == nil {
		return rules(d.stop(d.c.now())), nil
	}
	if s := d.step(); s != nil && s.State != outerloop.StepSettled && s.Exception != "" {
		if out, done, err := d.asked(ctx, op); err != nil || done {
			return out, err
		}
	}
	verdict, err := d.joinVerdict(ctx)
	var short *joinError
	if errors.As(err, &short) {
		return d.askJoin(ctx, op, short.Error())
	}
	if f, ok := faultOf(err); ok {
		return d.askJoin(ctx, op, f.cause)
	}
	return rules(verdict), err
}

// joinVerdict settles the block where its join holds, and answers its state.
func (d *delivered) joinVerdict(ctx context.Context) (gate.Verdict, error) {
	out, err := d.joined(ctx, d.node, d.index)
	switch {
	case err != nil:
		return gate.Verdict{}, err
	case !out.settled:
		return gate.Verdict{Error: outerloop.ErrorStop, Cause: "not due: parts of " + d.Step + " are not settled"}, nil
	}
	return gate.Verdict{Note: gate.Note{Outcome: &out.outcome}}, nil
}

// askJoin keeps the state's token with an exception about the block alone.
func (d *delivered) askJoin(ctx context.Context, op operation, cause string) (ruling, error) {
	step := d.blockRecord(ctx, d.node, d.index)
	protocol.Release(step, d.run.Gen)
	exc := d.exceptionRecord(incident{
		at: d.at, path: d.Step, item: d.Item, name: step.Name, cause: cause, class: joinClass, token: op.Token,
		tried: "what each missing part's own rule says", ways: []string{WayRetry, WaySkip, WayClose}, needed: joinNeeds,
	})
	exc.ID = record.ExceptionID(d.run.ID, d.at, d.run.Gen, fmt.Sprintf("fence %d", step.Fence))
	exc.Next = op.Next
	step.Exception = exc.ID
	step.Note(record.Entry{At: d.c.now(), Kind: "asked", Rule: cut(cause, logText), Outcome: "exception " + exc.ID})
	question := store.Add(record.RunKey(d.run.ID), map[string]int64{record.RunQuestions: 1}, record.OpenAt(d.run.Gen)...)
	if err := d.c.write(ctx, step.Put(), exc.Put(), question); err != nil {
		return ruling{}, err
	}
	d.c.alert(ctx, exc, d.def)
	return ruling{waits: true}, nil
}

// resolvedVerdict is what the state that asked is told when its step goes on:
// the step's recorded answer, or the join that a person has accepted.
func (c *Coordinator) resolvedVerdict(ctx context.Context, exc *record.Exception) (gate.Verdict, error) {
	return deciding(ctx, c, "answering "+exc.Path, func(ctx context.Context) (gate.Verdict, error) {
		d, err := c.receive(ctx, gate.Delivery{Run: exc.Run, Gen: exc.Gen, Step: exc.Path, Item: exc.Item, Next: exc.Next})
		if err != nil {
			return gate.Verdict{}, err
		}
		if s := d.step(); exc.Class == joinClass && (s == nil || s.LastVerdict == nil) {
			return d.joinVerdict(ctx)
		}
		out, err := d.recorded(ctx)
		return out.verdict(), err
	})
}

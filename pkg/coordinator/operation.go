package coordinator

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/gate"
)

// The operations of the coordinator's own states in a machine.
const (
	opRegister = "register"
	opRule     = "rule"
	opDecide   = "decide_block"
	opFinish   = "finish"
	opAsk      = "ask"
	opAwait    = "await"
	opChild    = "start_child"
	opJoin     = "join"
)

// operation is what a coordinator state of a machine sends.
type operation struct {
	Op   string `json:"op"`
	Run  string `json:"run"`
	Gen  int    `json:"gen"`
	Step string `json:"step"`
	Item string `json:"item"`
	// Token is the task token of register and rule.
	Token string     `json:"token"`
	Error string     `json:"error"`
	Cause string     `json:"cause"`
	Next  *gate.Next `json:"next"`
}

func (o operation) delivery() gate.Delivery {
	return gate.Delivery{Run: o.Run, Gen: o.Gen, Step: o.Step, Item: o.Item, Token: o.Token, Next: o.Next}
}

// StepError is an error that a machine is to see by name.
type StepError struct{ Name, Cause string }

// Error names it with its cause.
func (e *StepError) Error() string { return e.Name + ": " + e.Cause }

// Step serves the states that a machine has for the coordinator itself:
// register (an approval's token), rule (a failed step's rule), decide_block
// (what a block begins with), ask (a person gives the output), await (an
// event), start_child (a sub-loop), join (a block whose join asks a person) and
// finish. An error of type *StepError fails the state by its name; any other is
// to be tried again.
func (c *Coordinator) Step(ctx context.Context, raw json.RawMessage) (json.RawMessage, error) {
	var op operation
	if err := json.Unmarshal(raw, &op); err != nil {
		return nil, fmt.Errorf("reading operation: %w", err)
	}
	switch op.Op {
	case opRegister:
		return c.answer(c.register(ctx, op))
	case opRule:
		return c.answer(c.rule(ctx, op))
	case opDecide:
		return c.answer(c.decideBlock(ctx, op))
	case opFinish:
		return c.answer(c.finish(ctx, op))
	case opAsk:
		return c.answer(c.ask(ctx, op))
	case opAwait:
		return c.answer(c.await(ctx, op))
	case opChild:
		return c.answer(c.startChild(ctx, op))
	case opJoin:
		return c.answer(c.join(ctx, op))
	}
	return nil, &StepError{Name: outerloop.ErrorFatal, Cause: fmt.Sprintf("no operation %q", op.Op)}
}

// answer is a verdict as a function's answer: its note, or its error by name.
func (c *Coordinator) answer(v gate.Verdict, err error) (json.RawMessage, error) {
	if err != nil {
		return nil, err
	}
	if v.Error != "" {
		return nil, &StepError{Name: v.Error, Cause: cut(v.Cause, causeLimit)}
	}
	return json.Marshal(v.Note)
}

// decideBlock records what a block begins with, where no step's answer could.
func (c *Coordinator) decideBlock(ctx context.Context, op operation) (gate.Verdict, error) {
	return deciding(ctx, c, "deciding "+op.Step, func(ctx context.Context) (gate.Verdict, error) {
		if op.Step == "" && op.Next != nil {
			op.Step = op.Next.Block
		}
		d, err := c.receive(ctx, op.delivery())
		if err != nil {
			return gate.Verdict{}, err
		}
		if !d.run.Open() || d.Gen != d.run.Gen {
			return d.stop(c.now()), nil
		}
		next := op.Next
		if next == nil {
			next = &gate.Next{Block: op.Step}
		}
		note, ops, err := d.answerNext(ctx, next, d.index)
		if out, isEarly := notDueVerdict(err); isEarly {
			return out, nil
		}
		if err != nil {
			out, err := d.blockedBy(ctx, err)
			if err != nil {
				return gate.Verdict{}, err
			}
			return *out.Verdict, nil
		}
		if len(ops) > 0 {
			if err := c.write(ctx, append(ops, d.checkRun())...); err != nil {
				return gate.Verdict{}, err
			}
		}
		return gate.Verdict{Note: note}, nil
	})
}

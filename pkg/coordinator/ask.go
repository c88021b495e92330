package coordinator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/protocol"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/gate"
	"github.com/outerloop-dev/outerloop/pkg/loop"
	"github.com/outerloop-dev/outerloop/pkg/schema"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// ask lets a person of the row's group give the step's output (R51). The
// request is an approval whose content is the step's input: it is approved with
// an edit, which is the output. The state's token waits with it.
//
//nolint:unparam // the shape of every operation
func (c *Coordinator) ask(ctx context.Context, op operation) (gate.Verdict, error) {
	out, err := deciding(ctx, c, "asking about "+op.Step, func(ctx context.Context) (ruling, error) {
		d, err := c.receive(ctx, op.delivery())
		if err != nil {
			return ruling{}, err
		}
		return d.ask(ctx, op)
	})
	if err != nil || out.waits {
		return gate.Verdict{}, err
	}
	return gate.Verdict{}, c.complete(ctx, op.Token, out.verdict)
}

func (d *delivered) ask(ctx context.Context, op operation) (ruling, error) {
	if !d.run.Open() || d.Gen != d.run.Gen {
		return rules(d.stop(d.c.now())), nil
	}
	s := d.step()
	protocol.Renew(s, d.run.Gen)
	if s == nil || s.State != outerloop.StepParked {
		if s != nil && s.State == outerloop.StepSettled {
			out, err := d.recorded(ctx)
			return rules(out.verdict()), err
		}
		return d.askNow(ctx, op)
	}
	ap, err := d.approval(ctx, s)
	switch {
	case err != nil:
		return ruling{}, err
	case ap == nil || !ap.Void && !protocol.Register(ap, op.Gen, op.Token):
		return rules(d.stop(d.c.now())), nil
	case ap.Void && !ap.Decided(), ap.Decided() && ap.Decision != record.DecisionApproved && s.Gen < d.run.Gen:
		step := d.record(ctx)
		archive := step.Archive()
		protocol.Revisit(step, d.run.Gen)
		if err := d.c.write(ctx, step.Put(), archive, d.checkRun()); err != nil {
			return ruling{}, err
		}
		return ruling{}, &store.ConditionError{Key: record.StepKey(d.run.ID, d.at)} // ask on the new visit
	}
	ap.Next = op.Next
	if err := d.c.writeRecord(ctx, ap.Put(), &ap.Stored); err != nil {
		return ruling{}, err
	}
	return ruling{waits: true}, d.c.deliver(ctx, ap)
}

// verdict is what the admission tells the machine.
func (a admission) verdict() gate.Verdict {
	if a.Verdict == nil {
		return gate.Verdict{}
	}
	return *a.Verdict
}

// askNow makes the request. What keeps the step's input from being computed is
// a failure, which its rule decides.
func (d *delivered) askNow(ctx context.Context, op operation) (ruling, error) {
	row := d.row()
	if row == nil || row.Ask == "" {
		return rules(gate.Verdict{Error: outerloop.ErrorStop, Cause: "no row of " + d.Step + " that asks a person was chosen"}), nil
	}
	content, err := d.workInput(ctx)
	if f, ok := faultOf(err); ok {
		return rules(gate.Verdict{Error: f.class.ErrorName(), Cause: f.cause}), nil
	}
	if err != nil {
		return ruling{}, err
	}
	step := d.record(ctx)
	ap := &record.Approval{
		ID: record.ApprovalID(d.run.ID, d.at, step.Visit), Run: d.run.ID, Loop: d.run.Loop, Address: d.at, Path: d.Step,
		Step: step.Name, Visit: step.Visit, Hash: content.Hash, Content: content, Answer: true,
		Ask: "Give the answer of " + step.Name + " in place of a worker: approve it with an edit", Approvers: []string{row.Ask}, People: 1,
		Reasons: []string{"row " + *step.Block.Label + " asks " + row.Ask}, Since: d.c.now(), Expires: d.answerBy(),
		Gen: d.run.Gen, Token: op.Token, Next: op.Next,
	}
	protocol.Park(step, ap.ID, ap.Ask)
	step.Gen, step.Reasons, step.Started = d.run.Gen, ap.Reasons, earliest(step.Started, ap.Since)
	step.Note(record.Entry{At: ap.Since, Kind: "parked", Rule: join(ap.Reasons), Outcome: outerloop.ErrorNeedsApproval, Input: ap.Hash})
	add := store.Add(record.RunKey(d.run.ID), map[string]int64{record.RunAwaiting: 1}, record.OpenAt(d.run.Gen)...)
	if err := d.c.write(ctx, step.Put(), ap.Put(), add); err != nil {
		return ruling{}, err
	}
	return ruling{waits: true}, nil
}

// answerBy is how long what a step waits for may take: its own bound, at most the run's deadline.
func (d *delivered) answerBy() (until time.Time) {
	until = d.run.Deadline
	if within := d.node.Within; within > 0 {
		if at := d.c.now().Add(within); at.Before(until) {
			until = at
		}
	}
	return until
}

// workInput is the step's declared input, kept: facts read, references resolved.
func (d *delivered) workInput(ctx context.Context) (record.Value, error) {
	if err := d.readFacts(ctx, &prepared{}); err != nil {
		return record.Value{}, err
	}
	var value any = map[string]any{}
	if d.node.Input != nil {
		var err error
		if value, err = d.tree(ctx, d.node.Input, d.index, nil); err != nil {
			return record.Value{}, err
		}
	}
	return d.c.keep(ctx, value)
}

// outputSchema is what a step's output must fit: its worker's, of a table its
// first worker's, of a sub-loop nothing, since that was checked there.
func outputSchema(n *loop.Node) *schema.Schema {
	if n.Worker != nil {
		return n.Worker.Output
	}
	for _, row := range n.Routes {
		if row.Worker != nil {
			return row.Worker.Output
		}
	}
	return nil
}

// checkAnswer checks what a person gives as the step's output.
func (d *delivered) checkAnswer(ctx context.Context, req DecideRequest) (record.Value, error) {
	if len(req.Edit) == 0 {
		return record.Value{}, &InputError{What: "answer to " + d.Step, Faults: []string{"give the step's output: approve it with an edit"}}
	}
	value, err := checked("answer", outputSchema(d.node), req.Edit)
	if err != nil {
		return record.Value{}, err
	}
	if err := d.readFacts(ctx, &prepared{}); err != nil {
		return record.Value{}, err
	}
	err = d.accepts(ctx, &after{output: value})
	if f, ok := faultOf(err); ok {
		return record.Value{}, &InputError{What: "answer", Faults: []string{f.cause}}
	}
	if err != nil {
		return record.Value{}, err
	}
	return d.c.keep(ctx, value)
}

// checked reads a document by its schema; nil takes any.
func checked(what string, s *schema.Schema, raw []byte) (any, error) {
	if s == nil {
		return parse(what, raw)
	}
	value, faults := s.Check(raw)
	if len(faults) > 0 {
		return nil, &InputError{What: what, Faults: faultTexts(faults)}
	}
	return value, nil
}

// accepts applies the step's own conditions of completed work.
func (d *delivered) accepts(ctx context.Context, work *after) error {
	return (&call{delivered: d}).checkAccept(ctx, d.node.Accept, work)
}

// settleAnswer settles a step with what a person gave as its output, and answers what its token gets.
func (c *Coordinator) settleAnswer(ctx context.Context, ap *record.Approval) (gate.Verdict, error) {
	return deciding(ctx, c, "settling "+ap.Path, func(ctx context.Context) (gate.Verdict, error) {
		d, err := c.receive(ctx, gate.Delivery{Run: ap.Run, Gen: ap.Gen, Step: ap.Path, Item: itemOf(ap.Address), Next: ap.Next})
		if err != nil {
			return gate.Verdict{}, err
		}
		s := d.step()
		switch {
		case s != nil && s.State == outerloop.StepSettled:
			out, err := d.recorded(ctx)
			return out.verdict(), err
		case s == nil || !d.run.Open() || d.Gen != d.run.Gen:
			return d.stop(c.now()), nil
		}
		output, err := c.value(ctx, ap.Content)
		if err != nil {
			return gate.Verdict{}, err
		}
		step := d.record(ctx)
		step.Output, step.Approved, step.DecidedBy, step.Gen = ap.Content, true, ap.By, d.run.Gen
		step.Confidence, step.Because = outerloop.ConfidenceHigh, "given by "+ap.By
		verdict, err := d.conclude(ctx, step, ending{
			outcome: outerloop.OutcomeCompleted, work: workOf(step, output), by: ap.By, rule: "answered: " + ap.Ask,
		})
		if err != nil && !errors.Is(err, store.ErrCondition) {
			err = fmt.Errorf("settling the answer: %w", err)
		}
		return verdict, err
	})
}

package coordinator

import (
	"context"
	"slices"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/protocol"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/gate"
	"github.com/outerloop-dev/outerloop/pkg/loop"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// ruling is what a failure rule came to. waits: the token is kept with an
// exception. notNow: the state asks again later.
type ruling struct {
	verdict gate.Verdict
	waits   bool
	notNow  bool
}

func rules(v gate.Verdict) ruling { return ruling{verdict: v} }

func again(cause string) ruling {
	return rules(gate.Verdict{Error: outerloop.ErrorAgain, Cause: cause})
}

// rule applies a step's failure rule (R28), and completes the state's token
// with what it came to, unless a person has to answer first.
func (c *Coordinator) rule(ctx context.Context, op operation) (gate.Verdict, error) {
	out, err := deciding(ctx, c, "ruling on "+op.Step, func(ctx context.Context) (ruling, error) {
		d, err := c.receive(ctx, op.delivery())
		if err != nil {
			return ruling{}, err
		}
		if d.node.Review != nil && !d.review {
			if s := d.step(); s != nil && s.State == outerloop.StepSettled && s.Outcome == outerloop.OutcomeCompleted {
				d.review, d.at = true, reviewOf(d.at) // the work is there; its review is what failed
			}
		}
		return d.rule(ctx, op)
	})
	switch {
	case err != nil:
		return gate.Verdict{}, err
	case out.notNow:
		return out.verdict, nil
	case out.waits:
		return gate.Verdict{}, nil
	}
	return gate.Verdict{}, c.complete(ctx, op.Token, out.verdict)
}

func (d *delivered) rule(ctx context.Context, op operation) (ruling, error) {
	if !d.run.Open() || d.Gen != d.run.Gen {
		return rules(d.stop(d.c.now())), nil
	}
	s := d.step()
	protocol.Renew(s, d.run.Gen)
	switch {
	case s == nil:
	case s.State == outerloop.StepSettled:
		out, err := d.recorded(ctx)
		if err != nil {
			return ruling{}, err
		}
		return rules(*out.Verdict), nil
	case s.State == outerloop.StepParked:
		return d.ruleParked(ctx, op)
	case s.Exception != "":
		if out, done, err := d.asked(ctx, op); err != nil || done {
			return out, err
		}
	}
	if out, done, err := d.ruleAction(ctx, op); err != nil || done {
		return out, err
	}
	return d.apply(ctx, op, d.whatFailed(op))
}

// whatFailed is the error the rule is for: what exhausted the step's tries,
// else what the machine reports.
func (d *delivered) whatFailed(op operation) record.Fault {
	if s := d.step(); s != nil && s.GaveUp != nil {
		return *s.GaveUp
	}
	return record.Fault{Error: op.Error, Cause: op.Cause}
}

// ruleParked decides a step that waits for an approval: expired now, decided in
// the last second, or declined.
func (d *delivered) ruleParked(ctx context.Context, op operation) (ruling, error) {
	ap, err := d.approval(ctx, d.step())
	if err != nil {
		return ruling{}, err
	}
	if ap == nil {
		return again("its approval is gone"), nil
	}
	if ap.Void && !ap.Decided() {
		return again("its request was closed with the run's end"), nil
	}
	if !ap.Decided() {
		if op.Error != "States.Timeout" && d.c.now().Before(ap.Expires) {
			return again("its approval is not decided"), nil
		}
		if err := d.expire(ctx, d.node, ap); err != nil {
			return ruling{}, err
		}
	}
	if !ap.Delivered {
		ap.Delivered = true // the state that waited has ended
		if err := d.c.write(ctx, ap.Put()); err != nil {
			return ruling{}, err
		}
	}
	if ap.Decision == record.DecisionApproved {
		return again("it was approved"), nil
	}
	fault := record.Fault{Error: outerloop.ErrorGiveUp, Cause: declined(ap)}
	ending, outcome := declinedEnding(d.node, ap)
	switch ending {
	case loop.EndingRevise:
		return d.ruleRevise(ctx, ap)
	case loop.EndingHalt:
		return d.ruleHalt(ctx, fault)
	}
	return d.ruleEnd(ctx, fault, ruledEnd{outcome: outcome, by: ap.By})
}

// ruleRevise sends rejected work back to its author with the reason.
func (d *delivered) ruleRevise(ctx context.Context, ap *record.Approval) (ruling, error) {
	feedback := gate.Feedback{From: ap.By, Faults: []string{declined(ap)}}
	ops := []store.Op{d.checkRun()}
	reopen := func(s *record.Step, told bool) {
		archive := s.Archive()
		next := s.Clone()
		protocol.Revisit(next, d.run.Gen)
		if told {
			next.Feedback = lastFeedback(append(next.Feedback, feedback))
		}
		next.Note(record.Entry{At: d.c.now(), Kind: "revise", By: ap.By, Rule: declined(ap), Outcome: outerloop.ErrorAgain})
		ops = append(ops, next.Put(), archive)
	}
	if d.review {
		reopen(d.steps[address(d.node, d.index)], true)
	}
	reopen(d.step(), !d.review)
	if err := d.c.write(ctx, ops...); err != nil {
		return ruling{}, err
	}
	return again("sent back by " + ap.By), nil
}

// asked handles a rule that has asked a person before: it waits on, or gives
// the answer that was not delivered.
func (d *delivered) asked(ctx context.Context, op operation) (ruling, bool, error) {
	exc, err := one(ctx, d.c, record.ExceptionKey(d.step().Exception), record.DecodeException)
	if err != nil {
		return ruling{}, true, err
	}
	switch {
	case exc == nil || exc.Blocks || exc.Resolved() && (exc.Delivered || exc.Gen != d.run.Gen):
		return ruling{}, false, nil
	case exc.Token == op.Token && !exc.Resolved():
		return ruling{waits: true}, true, nil
	}
	exc.Before = record.Earlier(exc.Before, exc.Token, op.Token)
	exc.Token, exc.Next, exc.Gen, exc.Delivered = op.Token, op.Next, d.run.Gen, false
	if err := d.c.write(ctx, exc.Put()); err != nil {
		return ruling{}, true, err
	}
	exc.Stored++
	return ruling{waits: true}, true, d.c.deliverException(ctx, exc)
}

// apply does what the rule says.
func (d *delivered) apply(ctx context.Context, op operation, f record.Fault) (ruling, error) {
	then := loop.EndingHalt
	if d.node.Failure != nil {
		then = d.node.Failure.Then
	}
	switch {
	case f.Halt:
		return d.ruleHalt(ctx, f)
	case f.Ask || then == loop.EndingAsk:
		return d.ruleAsk(ctx, op, f, nil)
	case then == loop.EndingSkip:
		return d.ruleEnd(ctx, f, ruledEnd{outcome: outerloop.OutcomeSkipped})
	case then == loop.EndingSubstitute:
		return d.ruleSubstitute(ctx, op, f)
	}
	return d.ruleHalt(ctx, f)
}

// ruledEnd is how a rule settles a step.
type ruledEnd struct {
	outcome outerloop.Outcome
	output  record.Value
	by      string
}

// settledByRule makes the record that nobody's attempt can settle any more, and
// the run's part of the write.
func (d *delivered) settledByRule(ctx context.Context, f record.Fault) (*record.Step, store.Op) {
	step := d.record(ctx)
	runOp := d.returnReservation(step)
	protocol.Release(step, d.run.Gen)
	step.Cause = cut(f.Error+": "+f.Cause, causeLimit)
	step.Reason = step.Cause
	if d.node.Failure != nil && d.node.Failure.Say != nil {
		if say, err := d.text(ctx, d.node.Failure.Say, d.index, nil, ""); err == nil && say != "" {
			step.Reason = say
		}
	}
	return step, runOp
}

func (d *delivered) ruleEnd(ctx context.Context, f record.Fault, end ruledEnd) (ruling, error) {
	step, runOp := d.settledByRule(ctx, f)
	step.Output, step.DecidedBy = end.output, end.by
	if end.by != "" {
		step.Reason, step.Cause = f.Cause, f.Cause
	}
	verdict, err := d.conclude(ctx, step, ending{outcome: end.outcome, rule: "on_failure: " + f.Error + ": " + cut(f.Cause, logText), by: end.by, run: &runOp})
	if err != nil {
		return ruling{}, err
	}
	return rules(verdict), nil
}

func (d *delivered) ruleSubstitute(ctx context.Context, op operation, f record.Fault) (ruling, error) {
	value, err := d.substitute(ctx)
	if err == nil {
		if primary, _ := d.workers(); primary != nil && !d.review {
			if faults := primary.Output.CheckValue(value); len(faults) > 0 {
				err = ruleFault("the substitute does not fit the schema: %s", join(faultTexts(faults)))
			}
		}
	}
	if wrong, ok := faultOf(err); ok {
		return d.ruleAsk(ctx, op, record.Fault{Error: f.Error, Cause: f.Cause + "; and the substitute failed: " + wrong.cause}, nil)
	}
	if err != nil {
		return ruling{}, err
	}
	output, err := d.c.keep(ctx, value)
	if err != nil {
		return ruling{}, err
	}
	return d.ruleEnd(ctx, f, ruledEnd{outcome: outerloop.OutcomeSubstituted, output: output})
}

// substitute computes what stands for the work, of facts as they are now.
func (d *delivered) substitute(ctx context.Context) (any, error) {
	tree := d.node.Failure.Substitute
	used := func(name string) bool { return slices.Contains(tree.Uses.Facts, name) }
	if len(tree.Uses.Facts) > 0 {
		if err := d.readThese(ctx, &prepared{}, used); err != nil {
			return nil, err
		}
	}
	return d.tree(ctx, tree, d.index, nil)
}

// ruleHalt blocks the run and leaves the step open for the next generation.
func (d *delivered) ruleHalt(ctx context.Context, f record.Fault) (ruling, error) {
	step := d.record(ctx)
	run := *d.run
	run.Numbers = cloneNumbers(run.Numbers)
	returnInto(&run, step)
	d.run = &run
	protocol.Release(step, d.run.Gen)
	step.Cause = cut(f.Error+": "+f.Cause, causeLimit)
	ops, exc, err := d.block(ctx, incident{
		at: d.at, path: d.Step, item: d.Item, name: step.Name, cause: f.Cause, class: f.Error, to: f.To,
		tried: triedText(d.step()), blocks: true, ways: stepWays,
	})
	if err != nil {
		return ruling{}, err
	}
	step.Exception = exc.ID
	step.Note(record.Entry{At: d.c.now(), Kind: "halted", Rule: cut(f.Cause, logText), Outcome: outerloop.ErrorHalt})
	if err := d.c.write(ctx, append([]store.Op{step.Put()}, ops...)...); err != nil {
		return ruling{}, err
	}
	d.c.alert(ctx, exc, d.def)
	return rules(gate.Verdict{Error: outerloop.ErrorHalt, Cause: cut(exc.Cause, causeLimit)}), nil
}

func cloneNumbers(in map[string]int64) map[string]int64 {
	out := make(map[string]int64, len(in))
	for name, value := range in {
		out[name] = value
	}
	return out
}

package coordinator

import (
	"context"
	"fmt"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/protocol"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/gate"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// maxVerified is how often a rule sends a step back only to find out what
// became of its action, before a person is asked.
const maxVerified = 2

// ruleAction keeps a rule from passing over an action whose outcome is open.
func (d *delivered) ruleAction(ctx context.Context, op operation) (ruling, bool, error) {
	s := d.step()
	if s == nil || s.Entry == "" || d.review {
		return ruling{}, false, nil
	}
	a, err := one(ctx, d.c, record.ActionKey(d.run.Loop, s.Entry), record.DecodeAction)
	if err != nil || protocol.Passable(a) || a.Address != d.at || a.Run != d.run.ID {
		return ruling{}, false, err
	}
	if a.State == record.ActionExecuting {
		if d.c.now().UnixMilli() < a.UntilMs {
			return ruling{notNow: true, verdict: gate.Verdict{Error: outerloop.ErrorNotNow, Cause: s.Entry + " is executing until " + time.UnixMilli(a.UntilMs).UTC().Format(time.RFC3339)}}, true, nil
		}
		protocol.Lost(a)
		if err := d.c.write(ctx, a.Put()); err != nil {
			return ruling{}, true, err
		}
		a.Stored++
	}
	if verifies(d.node) && s.Verified < maxVerified {
		step := s.Clone()
		step.Verified++
		step.GaveUp, step.Tries = nil, record.Tries{}
		if err := d.c.write(ctx, step.Put(), d.checkRun()); err != nil {
			return ruling{}, true, err
		}
		return again("its action is of unknown outcome: to be verified"), true, nil
	}
	out, err := d.ruleAsk(ctx, op, record.Fault{Error: outerloop.ErrorRefused, Cause: "the outcome of " + s.Entry + " is unknown"}, a)
	return out, true, err
}

// ruleAsk raises an exception that holds this step only: its state waits with
// the token until a person answers.
func (d *delivered) ruleAsk(ctx context.Context, op operation, f record.Fault, a *record.Action) (ruling, error) {
	step := d.record(ctx)
	runOp := d.returnReservation(step)
	protocol.Release(step, d.run.Gen)
	step.Cause = cut(f.Error+": "+f.Cause, causeLimit)
	in := incident{
		at: d.at, path: d.Step, item: d.Item, name: step.Name, cause: f.Cause, class: f.Error, to: f.To,
		tried: triedText(d.step()), ways: stepWays, token: op.Token,
	}
	if a != nil {
		in.entry, in.ways = a.Entry, []string{WayRetry, WaySkip, WayClose}
		in.needed = "find out at the provider whether it was done: retry or skip, with the outcome done or failed"
	}
	exc := d.exceptionRecord(in)
	exc.ID = record.ExceptionID(d.run.ID, d.at, d.run.Gen, fmt.Sprintf("fence %d", step.Fence))
	exc.Next = op.Next
	step.Exception = exc.ID
	step.Note(record.Entry{At: d.c.now(), Kind: "asked", Rule: cut(f.Cause, logText), Outcome: "exception " + exc.ID})
	question := store.Add(record.RunKey(d.run.ID), map[string]int64{record.RunQuestions: 1}, record.OpenAt(d.run.Gen)...)
	ops := []store.Op{step.Put(), exc.Put(), mergeRun(question, runOp)}
	if a != nil {
		a.Asked = exc.ID
		ops = append(ops, a.Put())
	}
	if err := d.c.write(ctx, ops...); err != nil {
		return ruling{}, err
	}
	d.c.alert(ctx, exc, d.def)
	return ruling{waits: true}, nil
}

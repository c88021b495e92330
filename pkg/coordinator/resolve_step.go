package coordinator

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/protocol"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// onStep goes on with a step: again, edited, skipped or substituted.
func (r *resolution) onStep(ctx context.Context) error {
	step := r.record(ctx)
	returnInto(r.run, step) // of an attempt that began while people were asked
	runOp := r.run.Put()
	if step.State == outerloop.StepSettled {
		r.exc.Error = ""
		return r.commit(ctx, runOp, r.exc.Put())
	}
	switch r.req.Way {
	case WayRetry, WayEdit:
		return r.retry(ctx, step, runOp)
	case WaySkip, WaySubstitute:
		protocol.Release(step, r.run.Gen)
		step.Reason, step.DecidedBy = "decided by "+r.req.By+reasonText(r.req.Reason), r.req.By
		outcome := outerloop.OutcomeSkipped
		if r.req.Way == WaySubstitute {
			outcome = outerloop.OutcomeSubstituted
			value, err := r.substitute(ctx)
			if err != nil {
				return err
			}
			step.Output = value
		}
		r.exc.Error = ""
		_, err := r.conclude(ctx, step, ending{
			outcome: outcome, rule: "resolved: " + r.req.Way, by: r.req.By, run: &runOp, more: append(r.ops, r.exc.Put()),
		})
		if err == nil {
			r.exc.Stored++
		}
		return err
	}
	return fmt.Errorf("%s of %s: no action of it declares an undo: %w", r.req.Way, r.Step, ErrNotPossible)
}

// retry gives the step its tries anew, with another input where one is given.
// What was approved was the old input: an edit opens a new visit, which asks again.
func (r *resolution) retry(ctx context.Context, step *record.Step, runOp store.Op) error {
	r.exc.Error = outerloop.ErrorAgain
	if r.req.Way == WayEdit {
		value, err := r.editedInput(ctx)
		if err != nil {
			return err
		}
		if step.Approval != "" {
			r.ops = append(r.ops, step.Archive())
			protocol.Revisit(step, r.run.Gen)
		}
		step.Override = value
	}
	protocol.Release(step, r.run.Gen)
	step.Tries, step.GaveUp, step.Backup, step.Verified = record.Tries{}, nil, false, 0
	step.Note(record.Entry{At: r.c.now(), Kind: "resolved", By: r.req.By, Outcome: r.req.Way})
	return r.commit(ctx, step.Put(), runOp, r.exc.Put())
}

func (r *resolution) editedInput(ctx context.Context) (record.Value, error) {
	primary, _ := r.workers()
	if primary == nil || len(r.req.Value) == 0 {
		return record.Value{}, &InputError{What: "resolution", Faults: []string{"edit needs the new input of the step"}}
	}
	value, faults := primary.Input.Check(r.req.Value)
	if len(faults) > 0 {
		return record.Value{}, &InputError{What: "edited input", Faults: faultTexts(faults)}
	}
	return r.c.keep(ctx, value)
}

func (r *resolution) substitute(ctx context.Context) (record.Value, error) {
	raw := r.req.Value
	if len(raw) == 0 {
		raw = json.RawMessage("null")
	}
	primary, _ := r.workers()
	if r.review {
		primary = r.node.Worker
	}
	if primary == nil {
		value, err := parse("substitute", raw)
		if err != nil {
			return record.Value{}, err
		}
		return r.c.keep(ctx, value)
	}
	value, faults := primary.Output.Check(raw)
	if len(faults) > 0 {
		return record.Value{}, &InputError{What: "substitute", Faults: faultTexts(faults)}
	}
	return r.c.keep(ctx, value)
}

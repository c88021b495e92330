package coordinator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/protocol"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/gate"
	"github.com/outerloop-dev/outerloop/pkg/loop"
	"github.com/outerloop-dev/outerloop/pkg/registry"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// ending is how a step is about to be settled.
type ending struct {
	outcome outerloop.Outcome
	// work is what it put out, where its facts and events are to be written.
	work *after
	// rule, by and input go into the log.
	rule, by, input string
	// run is the operation on the run that goes with it; nil: it is checked.
	run *store.Op
	// more goes into the same write.
	more []store.Op
}

// conclude settles the step with all that belongs to it in one write: the
// answer for the machine, what the next block needs, facts and events. Where
// the next block cannot begin, the same write blocks the run.
func (q *delivered) conclude(ctx context.Context, step *record.Step, end ending) (gate.Verdict, error) {
	now := q.c.now()
	verdict := protocol.Settle(step, end.outcome, now, gate.Note{})
	step.Note(record.Entry{
		At: now, Kind: "settled", Worker: step.Worker, Rule: end.rule, Outcome: string(end.outcome), Input: end.input,
		Output: step.Output.Hash, Ms: now.Sub(step.Started).Milliseconds(), By: end.by,
	})
	q.steps[q.at] = step
	effects, err := q.effects(ctx, step, end)
	if err != nil {
		return gate.Verdict{}, err
	}
	note, blocks, err := q.answerNext(ctx, q.Next, q.index)
	var halt *haltError
	var short *joinError
	if errors.As(err, &halt) || errors.As(err, &short) {
		end.more = append(effects, end.more...)
		return q.concludeBlocked(ctx, step, end, err)
	}
	if err != nil {
		return gate.Verdict{}, err
	}
	verdict.Note = merged(verdict.Note, note)
	step.LastVerdict = &verdict
	runOp := q.checkRun()
	if end.run != nil {
		runOp = *end.run
	}
	ops := append([]store.Op{q.c.records.PutStep(step), runOp}, blocks...)
	ops = append(append(ops, effects...), end.more...)
	moot, err := q.mootQuestion(ctx, step, ops)
	if err != nil {
		return gate.Verdict{}, err
	}
	if moot != nil {
		ops = append(ops, moot.Put())
	}
	if err := q.c.write(ctx, ops...); err != nil {
		return gate.Verdict{}, fmt.Errorf("settling: %w", err)
	}
	q.tellMoot(ctx, moot)
	q.tellClashes(ctx)
	q.seeWhetherEnough(ctx)
	return verdict, nil
}

// concludeBlocked settles the step although the run cannot go on after it.
func (q *delivered) concludeBlocked(ctx context.Context, step *record.Step, end ending, cause error) (gate.Verdict, error) {
	ops, exc, err := q.halt(ctx, cause)
	if err != nil {
		return gate.Verdict{}, err
	}
	if end.run != nil {
		ops[0] = alsoAdded(ops[0], *end.run)
	}
	ops = append(append([]store.Op{step.Put()}, ops...), end.more...)
	moot, err := q.mootQuestion(ctx, step, ops)
	if err != nil {
		return gate.Verdict{}, err
	}
	if moot != nil {
		moot.Delivered = true // the execution ends
		ops = append(ops, moot.Put())
	}
	if err := q.c.write(ctx, ops...); err != nil {
		return gate.Verdict{}, fmt.Errorf("settling: %w", err)
	}
	q.c.alert(ctx, exc, q.def)
	return gate.Verdict{Error: outerloop.ErrorHalt, Cause: cut(exc.Cause, causeLimit)}, nil
}

// effects are the facts and events that are written with a step's completion,
// never for a substitute (R11, R23). Of a reviewed step they come with its review.
func (q *delivered) effects(ctx context.Context, step *record.Step, end ending) ([]store.Op, error) {
	last := q.review || q.node.Review == nil
	if end.outcome != outerloop.OutcomeCompleted || end.work == nil || !last {
		return nil, nil
	}
	var ops []store.Op
	for i := range q.node.Writes {
		w := &q.node.Writes[i]
		name, err := q.keyText(ctx, "fact's name", w.Fact, texting{q.index, end.work})
		if err != nil {
			return nil, err
		}
		value, err := q.tree(ctx, w.Value, q.index, end.work)
		if err != nil {
			return nil, err
		}
		if w.Schema != nil {
			if faults := w.Schema.CheckValue(value); len(faults) > 0 {
				return nil, &fault{class: outerloop.ClassInvalidOutput, cause: "fact " + name + ": " + join(faultTexts(faults))}
			}
		}
		op, err := q.writeFact(ctx, step, name, value)
		if err != nil {
			return nil, err
		}
		ops = append(ops, op)
	}
	event, err := q.emission(ctx, step, end.work)
	if err != nil || event == nil {
		return ops, err
	}
	return append(ops, *event), nil
}

// writeFact puts a new version of a fact. A fact that the step read must stand
// as it was read; one that the charter does not name is not written (R25).
func (q *delivered) writeFact(ctx context.Context, step *record.Step, name string, value any) (store.Op, error) {
	if w := q.author(); w != nil && !mayWrite(w.Charter.Writes, name) {
		return store.Op{}, &fault{class: outerloop.ClassRefused, final: true, cause: fmt.Sprintf("worker %s may not write fact %s", w.Charter.Worker, name)}
	}
	fact, err := one(ctx, q.c, record.FactKey(name), record.DecodeFact)
	if err != nil {
		return store.Op{}, fmt.Errorf("reading fact %s: %w", name, err)
	}
	if fact == nil {
		fact = &record.Fact{Name: name}
	}
	reader := q.steps[address(q.node, q.index)]
	if reader == nil {
		reader = step
	}
	if read, known := reader.Facts[name]; known && read != fact.Stored && (read != 0 || !fact.Gone(q.c.now())) {
		return store.Op{}, &fault{class: outerloop.ClassConflict, cause: fmt.Sprintf("fact %s has changed since it was read (version %d, now %d)", name, read, fact.Stored)}
	}
	before := fact.Value
	if fact.Value, err = q.c.keep(ctx, value); err != nil {
		return store.Op{}, err
	}
	q.seeClash(fact, before)
	fact.At, fact.Run, fact.Step, fact.ApprovedBy, fact.Until = q.c.now(), q.run.ID, q.Step, approvedBy(step), time.Time{}
	if p := q.def.Project; p != nil {
		if declared, ok := p.Fact(name); ok && declared.Keep > 0 {
			fact.Until = fact.At.Add(declared.Keep)
		}
	}
	return fact.Put(), nil
}

// mayWrite tells whether a charter that lists facts allows one.
func mayWrite(declared []string, name string) bool {
	return slices.ContainsFunc(declared, func(d string) bool { return registry.Fits(d, name) })
}

func (q *delivered) emission(ctx context.Context, step *record.Step, work *after) (*store.Op, error) {
	emit := q.node.Emit
	if emit == nil {
		return nil, nil
	}
	var data any
	if emit.Data != nil {
		var err error
		if data, err = q.tree(ctx, emit.Data, q.index, work); err != nil {
			return nil, err
		}
	}
	raw, err := canonical(data)
	if err != nil {
		return nil, err
	}
	if emit.Schema != nil {
		if _, faults := emit.Schema.Check(raw); len(faults) > 0 {
			return nil, &fault{class: outerloop.ClassInvalidOutput, cause: "event " + emit.Event + ": " + join(faultTexts(faults))}
		}
	}
	event := &record.Event{
		ID:   q.eventID(step),
		Name: emit.Event, Data: raw, Run: q.run.ID, Step: q.Step, At: q.c.now(),
	}
	op := event.Put()
	return &op, nil
}

// eventID sorts the events of a run as their steps depend on each other, where
// the clock did not move between.
func (q *delivered) eventID(step *record.Step) string {
	return fmt.Sprintf("%s.%04d.%s", q.run.ID, q.node.Position, record.ShortID("event", string(q.at), fmt.Sprint(step.Visit)))
}

// author is the worker whose charter says which facts the step may write; nil: none does the work.
func (q *delivered) author() *loop.Worker {
	if row := q.row(); row != nil && q.node.Kind == loop.KindRoute {
		return row.Worker
	}
	return q.node.Worker
}

// checkRun demands that the run is in progress and of the generation that was read.
func (v *view) checkRun() store.Op { return record.CheckRun(v.run.ID, v.run.Gen) }

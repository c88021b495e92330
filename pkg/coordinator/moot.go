package coordinator

import (
	"context"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/protocol"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// mootQuestion answers the question that a step's rule has asked people when the
// step is settled all the same: by a message that came late, or after a redrive.
// It joins the run's operation among ops, which counts the questions; nil:
// nothing is asked, or the answer is among ops.
func (q *delivered) mootQuestion(ctx context.Context, step *record.Step, ops []store.Op) (*record.Exception, error) {
	if step.Exception == "" {
		return nil, nil
	}
	for _, op := range ops {
		if op.Item.Key == record.ExceptionKey(step.Exception) {
			return nil, nil
		}
	}
	exc, err := one(ctx, q.c, record.ExceptionKey(step.Exception), record.DecodeException)
	if err != nil || exc == nil || exc.Resolved() || exc.Blocks {
		return nil, err
	}
	exc.Resolution, exc.By, exc.At, exc.Reason = WayRetry, "the step itself", q.c.now(), "it was settled before anybody answered"
	exc.Gen, exc.Error = q.run.Gen, ""
	for i := range ops {
		if ops[i].Item.Key == record.RunKey(q.run.ID) {
			ops[i] = oneQuestionLess(ops[i])
			return exc, nil
		}
	}
	return exc, nil
}

// oneQuestionLess is an operation on a run that also counts a question as answered.
func oneQuestionLess(op store.Op) store.Op {
	switch op.Kind {
	case store.KindReplace:
		op.Item.Numbers[record.RunQuestions]--
	case store.KindAdd:
		op.Deltas[record.RunQuestions]--
	default:
		op = store.Add(op.Item.Key, map[string]int64{record.RunQuestions: -1}, op.Where...)
	}
	return op
}

// alsoAdded is a run's replacement with what another operation adds to it and drops.
func alsoAdded(put, add store.Op) store.Op {
	if add.Kind != store.KindAdd {
		return put
	}
	for name, delta := range add.Deltas {
		put.Item.Numbers[name] += delta
	}
	for _, name := range add.Drop {
		delete(put.Item.Numbers, name)
	}
	return put
}

// tellMoot completes the token of the state that waited for the answer. What
// does not come to that is left to the watch.
func (q *delivered) tellMoot(ctx context.Context, exc *record.Exception) {
	if exc == nil {
		return
	}
	exc.Stored++
	if err := q.c.deliverException(ctx, exc); err != nil {
		q.c.cfg.Log.Warn("a question that is moot is told by the watch", "exception", exc.ID, "err", err)
	}
}

// openAction tells whether the action that the step began keeps it from ending
// at the door: until when it may be executing, or that nobody knows its outcome,
// which is the rule's to find out.
func (q *call) openAction(ctx context.Context) (*fault, time.Time, error) {
	s := q.step()
	if s == nil || s.Entry == "" || q.review {
		return nil, time.Time{}, nil
	}
	a, err := one(ctx, q.c, record.ActionKey(q.run.Loop, s.Entry), record.DecodeAction)
	if err != nil || protocol.Passable(a) || a.Run != q.run.ID || a.Address != q.at {
		return nil, time.Time{}, err
	}
	if until := time.UnixMilli(a.UntilMs).UTC(); a.State == record.ActionExecuting && q.c.now().Before(until) {
		return nil, until, nil
	}
	return &fault{class: outerloop.ClassRefused, final: true, cause: "the outcome of " + s.Entry + " is unknown"}, time.Time{}, nil
}

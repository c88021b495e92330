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
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// admission is an admit's answer; silent: its token is left to whoever stops
// the older generation.
type admission struct {
	gate.AdmitAnswer
	silent bool
}

// Admit decides whether a delivery may run its step now (PROTOCOL "Step").
func (g *workerGate) Admit(ctx context.Context, req gate.AdmitRequest) (gate.AdmitAnswer, error) {
	out, err := deciding(ctx, g.c, "admitting "+req.Step, func(ctx context.Context) (admission, error) {
		q, err := g.open(ctx, req.Call)
		if err != nil {
			return admission{}, err
		}
		return q.admit(ctx, req)
	})
	if err != nil {
		return gate.AdmitAnswer{}, err
	}
	if out.Decision == gate.Answered && !out.silent {
		if err := g.c.complete(ctx, req.Token, *out.Verdict); err != nil {
			return gate.AdmitAnswer{}, err
		}
	}
	return out.AdmitAnswer, nil
}

func answered(v gate.Verdict) admission {
	return admission{AdmitAnswer: gate.AdmitAnswer{Decision: gate.Answered, Verdict: &v}}
}

func later(until time.Time, reason string) admission {
	return admission{AdmitAnswer: gate.AdmitAnswer{Decision: gate.Later, Until: until, Reason: reason}}
}

func (q *call) admit(ctx context.Context, req gate.AdmitRequest) (admission, error) {
	approval, err := q.approval(ctx, q.step())
	if err != nil {
		return admission{}, err
	}
	if q.wake(approval) {
		approval = nil
	}
	at := protocol.Standing{
		Run: q.run, Step: q.step(), Approval: approval, Gen: q.Gen, Nonce: q.attempt,
		Backup: q.backup, Now: q.c.now(), CrashLimit: q.c.cfg.CrashLimit,
	}
	switch row := protocol.Admit(at); row {
	case protocol.AdmitStale:
		out := answered(q.stop(at.Now))
		out.silent = true
		return out, nil
	case protocol.AdmitStop:
		return answered(q.stop(at.Now)), nil
	case protocol.AdmitRecorded:
		return q.recorded(ctx)
	case protocol.AdmitSameCall:
		return answered(*q.step().LastVerdict), nil
	case protocol.AdmitUndecided:
		return answered(gate.Verdict{Error: outerloop.ErrorNeedsApproval, Cause: "approval " + q.step().Approval + " is not decided"}), nil
	case protocol.AdmitDeclined:
		return answered(gate.Verdict{Error: outerloop.ErrorGiveUp, Cause: declined(approval)}), nil
	case protocol.AdmitReopen:
		return q.reopen(ctx)
	case protocol.AdmitBusy:
		return later(time.UnixMilli(q.step().LeaseMs).UTC(), "another attempt is at work"), nil
	case protocol.AdmitGiveUp:
		return answered(giveUp(q.step())), nil
	case protocol.AdmitCrash:
		return q.crashed(ctx)
	case protocol.AdmitApproved:
		if q.node.Action == nil || q.review {
			return q.settleApproved(ctx, approval)
		}
	}
	return q.prepareAndClaim(ctx, at, req)
}

// approval is the request that a step's record names.
func (v *view) approval(ctx context.Context, s *record.Step) (*record.Approval, error) {
	if s == nil || s.Approval == "" {
		return nil, nil
	}
	ap, err := one(ctx, v.c, record.ApprovalKey(s.Approval), record.DecodeApproval)
	if err != nil {
		return nil, fmt.Errorf("reading approval %s: %w", s.Approval, err)
	}
	return ap, nil
}

func declined(ap *record.Approval) string {
	if ap.Decision == record.DecisionExpired {
		return ap.Reason
	}
	text := fmt.Sprintf("%s by %s", ap.Decision, ap.By)
	if ap.Reason != "" {
		text += ": " + ap.Reason
	}
	return text
}

func giveUp(s *record.Step) gate.Verdict {
	cause := "the tries are used up"
	if s.GaveUp != nil {
		cause = s.GaveUp.Error + ": " + s.GaveUp.Cause
	}
	return gate.Verdict{Error: outerloop.ErrorGiveUp, Cause: cause}
}

// recorded gives a settled step's answer, with what the next block needs: as it
// was decided, or decided now where no delivery had asked.
func (q *delivered) recorded(ctx context.Context) (admission, error) {
	verdict := *q.step().LastVerdict
	note, ops, err := q.answerNext(ctx, q.Next, q.index)
	if err != nil {
		return q.blockedBy(ctx, err)
	}
	if len(ops) > 0 {
		if err := q.c.write(ctx, append(ops, q.checkRun())...); err != nil {
			return admission{}, fmt.Errorf("recording the next block: %w", err)
		}
	}
	verdict.Note = merged(verdict.Note, note)
	return answered(verdict), nil
}

// reopen opens a new visit after a rejection of an older generation.
func (q *call) reopen(ctx context.Context) (admission, error) {
	step := q.record(ctx)
	archive := step.Archive()
	protocol.Revisit(step, q.run.Gen)
	if err := q.c.write(ctx, step.Put(), archive, q.checkRun()); err != nil {
		return admission{}, err
	}
	return admission{}, &store.ConditionError{Key: record.StepKey(q.run.ID, q.at)} // decide again on the new visit
}

// crashed leaves the step open at the crash limit: its rule decides.
func (q *call) crashed(ctx context.Context) (admission, error) {
	step := q.record(ctx)
	runOp := q.returnReservation(step)
	dead := step.Tries.Crash
	protocol.Release(step, q.run.Gen)
	step.GaveUp = &record.Fault{Error: outerloop.ErrorCrashed, Cause: fmt.Sprintf("its worker died %d times without an answer", dead+1)}
	verdict := giveUp(step)
	step.LastVerdict = &verdict
	step.Note(record.Entry{At: q.c.now(), Kind: "gave up", Worker: step.Worker, Outcome: outerloop.ErrorCrashed})
	if err := q.c.write(ctx, step.Put(), runOp); err != nil {
		return admission{}, err
	}
	q.failedAttempt(ctx, q.before.Nonce, step.GaveUp.Cause)
	return answered(verdict), nil
}

// blockedBy turns a halt into a blocked run with its exception, in one write,
// and the verdict that ends the execution.
func (q *delivered) blockedBy(ctx context.Context, cause error) (admission, error) {
	ops, exc, err := q.halt(ctx, cause)
	if err != nil {
		return admission{}, err
	}
	if err := q.c.write(ctx, ops...); err != nil {
		return admission{}, err
	}
	q.c.alert(ctx, exc, q.def)
	return answered(gate.Verdict{Error: outerloop.ErrorHalt, Cause: cut(exc.Cause, causeLimit)}), nil
}

// notDue answers a delivery that came before its step is due: the machine moved
// although the store did not, and its execution ends; the watch blocks the run.
func notDue(err error) (admission, bool) {
	verdict, early := notDueVerdict(err)
	return answered(verdict), early
}

func notDueVerdict(err error) (gate.Verdict, bool) {
	if !errors.Is(err, errNotSettled) {
		return gate.Verdict{}, false
	}
	return gate.Verdict{Error: outerloop.ErrorStop, Cause: "not due: " + err.Error()}, true
}

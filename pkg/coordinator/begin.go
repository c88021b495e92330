package coordinator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/charter"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/protocol"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/gate"
	"github.com/outerloop-dev/outerloop/pkg/loop"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// Begin claims a business action immediately before its call (PROTOCOL "Action").
func (g *workerGate) Begin(ctx context.Context, req gate.BeginRequest) (gate.BeginAnswer, error) {
	return deciding(ctx, g.c, "beginning "+req.Action, func(ctx context.Context) (gate.BeginAnswer, error) {
		q, err := g.open(ctx, req.Call)
		if err != nil {
			return gate.BeginAnswer{}, err
		}
		return q.begin(ctx, req)
	})
}

func refused(class outerloop.Class, format string, args ...any) gate.BeginAnswer {
	return gate.BeginAnswer{Claim: gate.ClaimRefused, Class: class, Reason: fmt.Sprintf(format, args...)}
}

func (q *call) begin(ctx context.Context, req gate.BeginRequest) (gate.BeginAnswer, error) {
	rule := q.node.Action
	s := q.step()
	switch {
	case rule == nil || q.review || rule.Declared.Name != req.Action:
		return refused(outerloop.ClassFatal, "step %s declares no action %q", q.Step, req.Action), nil
	case !protocol.Owns(s, q.attempt, q.fence):
		return refused(outerloop.ClassTransient, "the attempt no longer owns the step"), nil
	case !q.run.Open() || q.Gen != q.run.Gen:
		return refused(outerloop.ClassTransient, "%s", q.stop(q.c.now()).Cause), nil
	}
	payload, err := parse("payload", req.Payload)
	if err != nil {
		return refused(outerloop.ClassFatal, "%v", err), nil
	}
	spelled, err := canonical(payload)
	if err != nil {
		return gate.BeginAnswer{}, err
	}
	hash := record.HashOf(spelled)
	if answer, err := q.asApproved(ctx, s, hash); err != nil || answer != nil {
		return derefBegin(answer), err
	}
	a, err := one(ctx, q.c, record.ActionKey(q.run.Loop, s.Entry), record.DecodeAction)
	if err != nil {
		return gate.BeginAnswer{}, fmt.Errorf("reading action %s: %w", s.Entry, err)
	}
	return q.beginRow(ctx, s, a, hash)
}

func derefBegin(a *gate.BeginAnswer) gate.BeginAnswer {
	if a == nil {
		return gate.BeginAnswer{}
	}
	return *a
}

// asApproved refuses another payload than the one that was approved.
func (q *call) asApproved(ctx context.Context, s *record.Step, hash string) (*gate.BeginAnswer, error) {
	ap, err := q.approval(ctx, s)
	if err != nil || ap == nil {
		return nil, err
	}
	var answer gate.BeginAnswer
	switch {
	case ap.Decision != record.DecisionApproved:
		answer = refused(outerloop.ClassRefused, "approval %s does not stand", ap.ID)
	case ap.Hash != hash:
		answer = refused(outerloop.ClassConflict, "approved was the payload %s, this one is %s", ap.Hash, hash)
	default:
		return nil, nil
	}
	return &answer, nil
}

func (q *call) beginRow(ctx context.Context, s *record.Step, a *record.Action, hash string) (gate.BeginAnswer, error) {
	unknown := q.node.Action.Declared.Unknown
	answer := gate.BeginAnswer{Entry: s.Entry, ProviderKey: record.ProviderKey(q.run.Loop, s.Entry)}
	switch protocol.Begin(a, q.attempt, hash, unknown, q.c.now()) {
	case protocol.BeginConflict:
		out := refused(outerloop.ClassConflict, "%s was begun with the payload %s, this one is %s", s.Entry, a.Hash, hash)
		out.Entry, out.ProviderKey = answer.Entry, answer.ProviderKey
		return out, nil
	case protocol.BeginDone:
		answer.Claim, answer.Result = gate.ClaimDone, a.Result
		return answer, nil
	case protocol.BeginMine:
		answer.Claim, answer.Until = gate.ClaimGo, time.UnixMilli(a.UntilMs).Add(-q.c.cfg.ActionGrace).UTC()
		return answer, nil
	case protocol.BeginBusy:
		answer.Claim, answer.Until = gate.ClaimBusy, time.UnixMilli(a.UntilMs).UTC()
		return answer, nil
	case protocol.BeginLost:
		protocol.Lost(a)
		if err := q.c.write(ctx, a.Put()); err != nil {
			return gate.BeginAnswer{}, err
		}
		a.Stored++
		return q.beginRow(ctx, s, a, hash)
	case protocol.BeginVerify:
		answer.Claim, answer.Seen = gate.ClaimVerify, a.Fence
		return answer, nil
	case protocol.BeginAsk:
		out := refused(outerloop.ClassRefused, "the outcome of %s is unknown: a person must say", s.Entry)
		out.Entry, out.ProviderKey = answer.Entry, answer.ProviderKey
		return out, nil
	}
	return q.beginCall(ctx, s, a, beginning{hash: hash, answer: answer})
}

// beginning is a call that may be made.
type beginning struct {
	hash   string
	answer gate.BeginAnswer
}

// beginCall records that the call is about to be made: in one transaction that
// demands that the attempt owns its step, that the run is open, and that the
// resource is still its own.
func (q *call) beginCall(ctx context.Context, s *record.Step, a *record.Action, b beginning) (gate.BeginAnswer, error) {
	now := q.c.now()
	until := now.Add(q.actionTime())
	if last := time.UnixMilli(s.LeaseMs); until.After(last) {
		// The lease must outlast the call: it is extended first, in the same write.
		until = earlierTime(until, time.UnixMilli(s.LimitMs))
	}
	if !until.After(now) {
		return refused(outerloop.ClassTransient, "no time is left for %s", s.Entry), nil
	}
	if a == nil {
		a = &record.Action{
			Loop: q.run.Loop, Entry: s.Entry, Action: q.node.Action.Declared.Name, Hash: b.hash,
			ProviderKey: b.answer.ProviderKey,
		}
	}
	protocol.Executing(a, q.attempt, now, until.Add(q.c.cfg.ActionGrace))
	a.Worker, a.Run, a.Step, a.Address = q.worker.Charter.Worker, q.run.ID, s.Name, q.at
	if err := q.recordUndo(ctx, s, a); err != nil {
		return gate.BeginAnswer{}, err
	}
	// The step's record changes with its action: who is about to pass over the
	// step, and has read both before, finds out.
	extended := s.Clone()
	extended.LeaseMs = max(s.LeaseMs, until.UnixMilli())
	ops := []store.Op{extended.Put(), record.CheckRun(q.run.ID, q.Gen)}
	if s.Resource != "" {
		ops = append(ops, record.Held(s.Resource, s.ResourceFence))
	}
	quota, answer, err := q.takeQuota(ctx, a, now)
	if err != nil || answer != nil {
		return derefBegin(answer), err
	}
	if quota != nil {
		ops = append(ops, *quota)
	}
	err = q.c.write(ctx, append(ops, a.Put())...)
	var lost *store.ConditionError
	if s.Resource != "" && errors.As(err, &lost) && lost.Key == record.LeaseKey(s.Resource) {
		return refused(outerloop.ClassTransient, "%s was taken over by another step", s.Resource), nil
	}
	if err != nil {
		return gate.BeginAnswer{}, err
	}
	b.answer.Claim, b.answer.Until = gate.ClaimGo, until.UTC()
	return b.answer, nil
}

// actionTime is how long the call may take: the worker's own time-out.
func (q *call) actionTime() time.Duration {
	if timeout := q.worker.Charter.Dispatch.Timeout; timeout > 0 {
		return timeout
	}
	return q.c.cfg.Lease
}

func earlierTime(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// takeQuota counts the action against its quota (R73). The N+1st is refused and
// told from when it would be possible.
func (q *call) takeQuota(ctx context.Context, a *record.Action, now time.Time) (*store.Op, *gate.BeginAnswer, error) {
	most := q.node.Action.Declared.AtMost
	if most == nil {
		return nil, nil, nil
	}
	by, err := q.quotaKey(ctx, q.node.Action, a)
	if err != nil {
		if f, ok := faultOf(err); ok {
			answer := refused(f.class, "%s", f.cause)
			return nil, &answer, nil
		}
		return nil, nil, err
	}
	id := record.QuotaID(a.Worker, a.Action, by)
	quota, err := one(ctx, q.c, record.QuotaKey(id), record.DecodeQuota)
	if err != nil {
		return nil, nil, fmt.Errorf("reading quota %s: %w", id, err)
	}
	if quota == nil {
		quota = &record.Quota{ID: id}
	}
	free, from := quota.Take(a.Loop+"#"+a.Entry, now, most.Count, most.Per)
	if !free {
		answer := refused(outerloop.ClassRefused, "at most %d %s per %s for %s; the next is possible from %s",
			most.Count, a.Action, most.Per, by, from.UTC().Format(time.RFC3339))
		return nil, &answer, nil
	}
	a.Quota = id
	op := quota.Put()
	return &op, nil, nil
}

// quotaKey is the value that the quota counts by, over the worker's input.
func (q *call) quotaKey(ctx context.Context, rule *loop.ActionRule, a *record.Action) (string, error) {
	if rule.QuotaBy == nil {
		return a.Entry, nil
	}
	if q.work == nil {
		p := &prepared{}
		if err := q.again(ctx, p, q.step()); err != nil {
			return "", err
		}
	}
	return q.keyText(ctx, "what the quota counts by", rule.QuotaBy, texting{items: q.index})
}

// verifies tells whether the declared rule lets a worker find out.
func verifies(n *loop.Node) bool {
	return n.Action != nil && n.Action.Declared.Unknown == charter.UnknownVerify
}

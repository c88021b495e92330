package coordinator

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/outerloop-dev/outerloop/pkg/coordinator/protocol"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/gate"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// Report records an action's outcome at once, whether or not the run is still open.
func (g *workerGate) Report(ctx context.Context, req gate.ReportRequest) (gate.ReportAnswer, error) {
	return deciding(ctx, g.c, "reporting "+req.Report.Entry, func(ctx context.Context) (gate.ReportAnswer, error) {
		q, err := g.open(ctx, req.Call)
		if err != nil {
			return gate.ReportAnswer{}, err
		}
		ops, row, err := q.report(ctx, req.Report)
		if err != nil {
			return gate.ReportAnswer{}, err
		}
		if len(ops) > 0 {
			if err := q.c.write(ctx, ops...); err != nil {
				return gate.ReportAnswer{}, err
			}
		}
		if row == protocol.ReportDuplicate {
			if err := q.possibleDuplicate(ctx, req.Report); err != nil {
				return gate.ReportAnswer{}, err
			}
		}
		return gate.ReportAnswer{Recorded: row == protocol.ReportWrite || row == protocol.ReportSame}, nil
	})
}

// resultKept bounds what an action's result takes in its record, in bytes.
const resultKept = 64 << 10

// reusable is a report whose result can be kept and given again: of one that
// cannot be, the outcome is recorded all the same, and why its result is not.
func reusable(r gate.ActionReport) gate.ActionReport {
	r.Reason = cut(r.Reason, causeLimit)
	switch {
	case len(r.Result) == 0 || r.Outcome != gate.ActionDone:
		return r
	case len(r.Result) > resultKept:
		r.Reason = fmt.Sprintf("its result of %d bytes is not kept, at most %d are: hand over where it is", len(r.Result), resultKept)
	case !json.Valid(r.Result):
		r.Reason = "its result is not kept: it is no JSON"
	default:
		return r
	}
	r.Result = nil
	return r
}

// report finds the row for a report and the writes of it.
func (q *call) report(ctx context.Context, r gate.ActionReport) ([]store.Op, protocol.ReportRow, error) {
	if r.Outcome != gate.ActionDone && r.Outcome != gate.ActionFailed {
		return nil, "", fmt.Errorf("outcome %q of %s: %w", r.Outcome, r.Entry, ErrInput)
	}
	a, err := one(ctx, q.c, record.ActionKey(q.run.Loop, r.Entry), record.DecodeAction)
	if err != nil {
		return nil, "", fmt.Errorf("reading action %s: %w", r.Entry, err)
	}
	if a != nil && a.Worker != q.worker.Charter.Worker {
		return nil, "", fmt.Errorf("action %s belongs to worker %s: %w", r.Entry, a.Worker, ErrNotAllowed)
	}
	r = reusable(r)
	row := protocol.Report(a, q.attempt, r)
	if row != protocol.ReportWrite {
		return nil, row, nil
	}
	protocol.Reported(a, r, q.c.now())
	ops := []store.Op{a.Put()}
	if r.Outcome == gate.ActionFailed && a.Quota != "" {
		quota, err := one(ctx, q.c, record.QuotaKey(a.Quota), record.DecodeQuota)
		if err != nil {
			return nil, "", fmt.Errorf("reading quota %s: %w", a.Quota, err)
		}
		if quota != nil && quota.Release(a.Loop+"#"+a.Entry) {
			ops = append(ops, quota.Put())
		}
	}
	return ops, row, nil
}

// reports are the writes for the actions that a settle brings with it.
func (q *call) reports(ctx context.Context, list []gate.ActionReport) ([]store.Op, error) {
	var ops []store.Op
	for _, r := range list {
		more, _, err := q.report(ctx, r)
		if err != nil {
			return nil, err
		}
		ops = append(ops, more...)
	}
	return ops, nil
}

// lateReports records outcomes although the step or its run has moved on.
func (q *call) lateReports(ctx context.Context, list []gate.ActionReport) error {
	ops, err := q.reports(ctx, list)
	if err != nil {
		return err
	}
	if len(ops) > 0 {
		if err := q.c.write(ctx, ops...); err != nil {
			return fmt.Errorf("recording an action's outcome: %w", err)
		}
	}
	return q.duplicates(ctx, list)
}

// duplicates raises an exception for every effect that may exist twice.
func (q *call) duplicates(ctx context.Context, list []gate.ActionReport) error {
	for _, r := range list {
		a, err := one(ctx, q.c, record.ActionKey(q.run.Loop, r.Entry), record.DecodeAction)
		if err != nil {
			return err
		}
		if r = reusable(r); protocol.Report(a, q.attempt, r) == protocol.ReportDuplicate {
			if err := q.possibleDuplicate(ctx, r); err != nil {
				return err
			}
		}
	}
	return nil
}

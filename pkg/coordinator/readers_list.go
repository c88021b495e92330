package coordinator

import (
	"context"
	"fmt"
	"slices"

	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// usualRuns is how many runs are listed where nothing is said.
const usualRuns = 50

// Runs lists runs, newest first: of closed ones with the counts they ended with.
func (c *Coordinator) Runs(ctx context.Context, q RunsQuery) ([]RunView, error) {
	page, err := c.RunsPage(ctx, q)
	return page.Items, err
}

// RunsPage is one page of Runs. Error: *InputError where After names no page.
func (c *Coordinator) RunsPage(ctx context.Context, q RunsQuery) (Page[RunView], error) {
	page := Page[RunView]{Items: []RunView{}}
	parts, err := c.runParts(ctx, q)
	if err != nil {
		return page, err
	}
	l := listing{parts: parts, descending: true, after: q.After, limit: sizeOf(q.Limit, usualRuns)}
	page.Next, err = c.list(ctx, l, func(item *store.Item) (bool, error) {
		run, err := record.DecodeRun(item)
		if err != nil {
			return false, err
		}
		view, err := c.listed(ctx, run)
		page.Items = append(page.Items, view)
		return true, err
	})
	return page, err
}

// runParts are the partitions of the list index that hold the runs asked for.
func (c *Coordinator) runParts(ctx context.Context, q RunsQuery) ([]string, error) {
	names := []string{q.Loop}
	if q.Loop == "" {
		names = nil
		if err := c.eachLoop(ctx, func(name string) error { names = append(names, name); return nil }); err != nil {
			return nil, err
		}
	}
	var parts []string
	for _, name := range names {
		parts = append(parts, record.RunListPart(name, true))
		if !q.Open {
			parts = append(parts, record.RunListPart(name, false))
		}
	}
	return parts, nil
}

func (c *Coordinator) listed(ctx context.Context, r *record.Run) (RunView, error) {
	if r.Status.Closed() && r.Counts != nil {
		return c.runView(ctx, r)
	}
	return c.observe(ctx, r, nil)
}

// Approvals lists what is undecided, oldest first: all of it where the query
// sets no limit.
func (c *Coordinator) Approvals(ctx context.Context, q ApprovalsQuery) ([]ApprovalView, error) {
	return whole(q.Limit, func(after string) (Page[ApprovalView], error) {
		if after != "" {
			q.After = after
		}
		return c.ApprovalsPage(ctx, q)
	})
}

// whole reads page after page, or the first of a size.
func whole[T any](limit int, read func(after string) (Page[T], error)) ([]T, error) {
	page, err := read("")
	list := page.Items
	for limit == 0 && page.Next != "" && err == nil {
		page, err = read(page.Next)
		list = append(list, page.Items...)
	}
	return list, err
}

// ApprovalsPage is one page of Approvals. Error: *InputError where After names no page.
func (c *Coordinator) ApprovalsPage(ctx context.Context, q ApprovalsQuery) (Page[ApprovalView], error) {
	page := Page[ApprovalView]{Items: []ApprovalView{}}
	open := map[string]bool{}
	l := listing{parts: []string{record.ApprovalsOpen}, after: q.After, limit: sizeOf(q.Limit, usualPage)}
	var err error
	page.Next, err = c.list(ctx, l, func(item *store.Item) (bool, error) {
		ap, err := record.DecodeApproval(item)
		if err != nil || ap.Decided() || q.Run != "" && ap.Run != q.Run {
			return false, err
		}
		if _, known := open[ap.Run]; !known {
			r, err := one(ctx, c, record.RunKey(ap.Run), record.DecodeRun)
			if err != nil {
				return false, err
			}
			open[ap.Run] = r != nil && !r.Status.Closed()
		}
		if !open[ap.Run] {
			return false, nil
		}
		view, err := c.approvalView(ctx, ap)
		page.Items = append(page.Items, view)
		return true, err
	})
	return page, err
}

func (c *Coordinator) approvalView(ctx context.Context, ap *record.Approval) (ApprovalView, error) {
	content, hide, err := c.shown(ctx, ap.Run, ap.Content)
	if err != nil {
		return ApprovalView{}, err
	}
	v, err := c.veilAt(ctx, ap.Run, spot{ap.Path, itemOf(ap.Address)})
	if err != nil {
		return ApprovalView{}, err
	}
	reasons := slices.Clone(ap.Reasons)
	for i := range reasons {
		reasons[i] = v.hide(hide.Replace(reasons[i]))
	}
	return ApprovalView{
		ID: ap.ID, Run: ap.Run, Step: ap.Step, Ask: v.hide(hide.Replace(ap.Ask)), Reasons: reasons, Since: ap.Since.UTC(), ExpiresAt: ap.Expires.UTC(),
		Approvers: ap.Approvers, Content: content, Decision: ap.Decision, By: ap.By, Reason: v.hide(ap.Reason), At: momentOf(ap.At),
	}, nil
}

// Approval reads one request, decided or not. Error: ErrNoApproval.
func (c *Coordinator) Approval(ctx context.Context, id string) (ApprovalView, error) {
	ap, err := one(ctx, c, record.ApprovalKey(id), record.DecodeApproval)
	if err != nil {
		return ApprovalView{}, err
	}
	if ap == nil {
		return ApprovalView{}, fmt.Errorf("%s: %w", id, ErrNoApproval)
	}
	return c.approvalView(ctx, ap)
}

// Exceptions lists what is open, oldest first: all of it where the query sets
// no limit.
func (c *Coordinator) Exceptions(ctx context.Context, q ExceptionsQuery) ([]ExceptionView, error) {
	return whole(q.Limit, func(after string) (Page[ExceptionView], error) {
		if after != "" {
			q.After = after
		}
		return c.ExceptionsPage(ctx, q)
	})
}

// ExceptionsPage is one page of Exceptions. Error: *InputError where After names no page.
func (c *Coordinator) ExceptionsPage(ctx context.Context, q ExceptionsQuery) (Page[ExceptionView], error) {
	page := Page[ExceptionView]{Items: []ExceptionView{}}
	l := listing{parts: []string{record.ExceptionsOpen}, after: q.After, limit: sizeOf(q.Limit, usualPage)}
	var err error
	page.Next, err = c.list(ctx, l, func(item *store.Item) (bool, error) {
		exc, err := record.DecodeException(item)
		if err != nil || exc.Resolved() || q.Run != "" && exc.Run != q.Run {
			return false, err
		}
		view, err := c.exceptionView(ctx, exc)
		page.Items = append(page.Items, view)
		return true, err
	})
	return page, err
}

// Exception reads one exception, resolved or not. Error: ErrNoException.
func (c *Coordinator) Exception(ctx context.Context, id string) (ExceptionView, error) {
	exc, err := one(ctx, c, record.ExceptionKey(id), record.DecodeException)
	if err != nil {
		return ExceptionView{}, err
	}
	if exc == nil {
		return ExceptionView{}, fmt.Errorf("%s: %w", id, ErrNoException)
	}
	return c.exceptionView(ctx, exc)
}

func (c *Coordinator) exceptionView(ctx context.Context, e *record.Exception) (ExceptionView, error) {
	status := "open"
	if e.Resolved() {
		status = "resolved"
	}
	body, err := c.shownBody(ctx, e)
	if err != nil {
		return ExceptionView{}, err
	}
	v, err := c.veilAt(ctx, e.Run, spot{e.Path, e.Item})
	if err != nil {
		return ExceptionView{}, err
	}
	return ExceptionView{
		ID: e.ID, Run: e.Run, Loop: e.Loop, Step: e.Step, Cause: v.hide(e.Cause), Class: e.Class, Detail: v.hide(e.Detail),
		Tried: e.Tried, State: e.State, Needed: v.hide(e.Needed), Ways: e.Ways, Owner: e.Owner, Since: e.Since.UTC(), Status: status,
		Resolution: e.Resolution, By: e.By, Reason: v.hide(e.Reason), At: momentOf(e.At), Entry: e.Entry,
		Queue: e.Queue, Body: body,
	}, nil
}

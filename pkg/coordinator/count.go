package coordinator

import (
	"context"
	"fmt"

	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// counted counts a run's steps before it is completed and looks for what is
// left of it: undone is a step that has work to come. Requests of steps that
// were settled another way meanwhile, or of tool calls whose caller is done,
// are closed first, and the end is decided anew: ErrCondition.
func (d *delivered) counted(ctx context.Context, run *record.Run, twice *doneTwice) (undone string, err error) {
	var asked []string
	run.Counts, err = d.c.countSteps(ctx, run.ID, func(s *record.Step) {
		twice.look(s)
		if undone == "" && leftUndone(s) {
			undone = s.Name
		}
		if s.Approval != "" {
			asked = append(asked, s.Approval)
		}
	})
	if err != nil || undone != "" || run.Numbers[record.RunAwaiting] <= 0 {
		return undone, err
	}
	for _, id := range asked {
		closed, err := d.closeMoot(ctx, id)
		if err != nil {
			return "", err
		}
		if closed {
			return "", fmt.Errorf("request %s was closed, nobody needs it any more: %w", id, store.ErrCondition)
		}
	}
	return "", nil
}

// closeMoot closes a request that is undecided, in one write with its run's count.
func (d *delivered) closeMoot(ctx context.Context, id string) (bool, error) {
	ap, err := one(ctx, d.c, record.ApprovalKey(id), record.DecodeApproval)
	if err != nil || ap == nil || ap.Decided() || ap.Void {
		return false, err
	}
	ap.Void = true
	count := store.Add(record.RunKey(d.run.ID), map[string]int64{record.RunAwaiting: -1}, record.OpenAt(d.run.Gen)...)
	if err := d.c.write(ctx, ap.Put(), count); err != nil {
		return false, fmt.Errorf("closing request %s: %w", id, err)
	}
	return true, nil
}

package coordinator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/gate"
	"github.com/outerloop-dev/outerloop/pkg/loop"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// nudge reminds the approvers of an undecided request when that is due, and asks
// those of the next stages of its escalation too: they may decide from then on
// (R46). What was missed while nobody watched is made up for once.
func (c *Coordinator) nudge(ctx context.Context, ap *record.Approval, tick *Tick) error {
	now := c.now()
	if ap.Nudge.IsZero() || now.Before(ap.Nudge) {
		return nil
	}
	d, err := c.receive(ctx, gate.Delivery{Run: ap.Run, Gen: ap.Gen, Step: ap.Path, Item: itemOf(ap.Address)})
	if err != nil {
		return err
	}
	kind := KindReminder
	for _, stage := range reached(d.node.Approval, ap, now)[ap.Escalated:] {
		kind = KindEscalation
		ap.Escalated++
		for _, group := range stage.To {
			if !slices.Contains(ap.Approvers, group) {
				ap.Approvers = append(ap.Approvers, group)
			}
		}
	}
	at := ap.Nudge
	ap.Nudge = nextNudge(d.node.Approval, ap, now)
	if err := c.write(ctx, ap.Put()); errors.Is(err, store.ErrCondition) {
		return nil // it was decided, or somebody else was quicker
	} else if err != nil {
		return err
	}
	tick.repaired("approval %s: %s", ap.ID, kind)
	_, hide, err := c.shown(ctx, ap.Run, ap.Content)
	if err != nil {
		return err
	}
	for _, to := range ap.Approvers {
		c.cfg.Notify(ctx, Alert{
			To: to, Kind: kind, ID: record.ShortID(kind, ap.ID, to, store.TimeKey(at)), Run: ap.Run, Step: ap.Step, at: spot{ap.Path, itemOf(ap.Address)},
			Text: fmt.Sprintf("%s (asked %s, until %s)", hide.Replace(ap.Ask), ap.Since.Format(time.RFC3339), ap.Expires.Format(time.RFC3339)),
		})
	}
	return nil
}

// reached are the stages whose time has come, in the order of their times.
func reached(rule *loop.ApprovalRule, ap *record.Approval, now time.Time) []loop.Stage {
	var out []loop.Stage
	for _, stage := range stages(rule) {
		if !now.Before(ap.Since.Add(stage.After)) {
			out = append(out, stage)
		}
	}
	return out
}

func stages(rule *loop.ApprovalRule) []loop.Stage {
	return slices.SortedStableFunc(slices.Values(rule.Escalate), func(a, b loop.Stage) int { return int(a.After - b.After) })
}

// nextNudge is when a request is to be looked at again before it expires; zero: never.
func nextNudge(rule *loop.ApprovalRule, ap *record.Approval, now time.Time) time.Time {
	var next time.Time
	consider := func(at time.Time) {
		if at.After(now) && at.Before(ap.Expires) && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	if rule.Remind > 0 {
		consider(ap.Since.Add((now.Sub(ap.Since)/rule.Remind + 1) * rule.Remind))
	}
	for _, stage := range stages(rule) {
		consider(ap.Since.Add(stage.After))
	}
	return next
}

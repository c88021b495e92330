package coordinator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// watchRequests tells approvers of requests that wait for them (R46): each is
// told once by each process, to each of its groups, and the channels know what
// they were told before. What is decided before the watch looks is told to nobody.
func (c *Coordinator) watchRequests(ctx context.Context) error {
	var failed []error
	err := c.each(ctx, store.Query{Index: store.ByList, Part: record.ApprovalsOpen}, func(item *store.Item) error {
		key := "request " + item.Part
		if !c.opened.first(key) {
			return nil
		}
		if err := c.tellRequest(ctx, item.Key); err != nil {
			c.opened.forget(key)
			failed = append(failed, err)
		}
		return nil
	})
	return errors.Join(append(failed, err)...)
}

func (c *Coordinator) tellRequest(ctx context.Context, key store.Key) error {
	ap, err := one(ctx, c, key, record.DecodeApproval)
	if err != nil || ap == nil || ap.Decided() || ap.Void {
		return err
	}
	_, hide, err := c.shown(ctx, ap.Run, ap.Content)
	if err != nil {
		return err
	}
	for _, to := range ap.Approvers {
		c.cfg.Notify(ctx, Alert{
			To: to, Kind: KindRequest, ID: ap.ID, Run: ap.Run, Step: ap.Step, at: spot{ap.Path, itemOf(ap.Address)},
			Text: fmt.Sprintf("%s (until %s)", hide.Replace(ap.Ask), ap.Expires.Format(time.RFC3339)),
		})
	}
	return nil
}

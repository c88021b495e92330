package coordinator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/store"
)

// resends is how often a write is sent again under the same id when the store
// was busy or its answer was lost.
const resends = 4

// write does the operations once, and hands out the events among them.
func (c *Coordinator) write(ctx context.Context, ops ...store.Op) error {
	err := c.writeOnce(ctx, ops)
	if err == nil && raises(ops) {
		c.drain(ctx)
	}
	return err
}

// writeOnce sends the operations under one id. A lost answer is asked for again
// under it; that the very write had been done before is success.
func (c *Coordinator) writeOnce(ctx context.Context, ops []store.Op) error {
	id := c.cfg.IDs()
	for sent := 0; ; sent++ {
		err := c.cfg.Store.Write(ctx, id, ops...)
		switch {
		case err == nil || store.Won(err):
			return nil
		case sent < resends && ctx.Err() == nil && (errors.Is(err, store.ErrThrottled) || errors.Is(err, store.ErrOutcomeUnknown)):
			continue
		}
		return err
	}
}

// deciding runs load, decide and write again while the write loses races: each
// time on what stands there now. what names the operation in errors.
func deciding[T any](ctx context.Context, c *Coordinator, what string, once func(context.Context) (T, error)) (T, error) {
	var none T
	for range c.cfg.Attempts {
		answer, err := once(ctx)
		if err == nil {
			return answer, nil
		}
		if !errors.Is(err, store.ErrCondition) {
			return none, fmt.Errorf("%s: %w", what, err)
		}
	}
	return none, fmt.Errorf("%s: %w", what, ErrConflict)
}

// get reads items by key, in chunks that the port allows.
func (c *Coordinator) get(ctx context.Context, keys ...store.Key) ([]*store.Item, error) {
	const most = 100
	if len(keys) <= most {
		return c.cfg.Store.Get(ctx, keys...)
	}
	out := make([]*store.Item, 0, len(keys))
	for len(keys) > 0 {
		n := min(most, len(keys))
		part, err := c.cfg.Store.Get(ctx, keys[:n]...)
		if err != nil {
			return nil, err
		}
		out, keys = append(out, part...), keys[n:]
	}
	return out, nil
}

// one reads one record with its decoder.
func one[T any](ctx context.Context, c *Coordinator, key store.Key, decode func(*store.Item) (*T, error)) (*T, error) {
	items, err := c.cfg.Store.Get(ctx, key)
	if err != nil {
		return nil, err
	}
	return decode(items[0])
}

// each calls visit for every item of a query, page by page.
func (c *Coordinator) each(ctx context.Context, q store.Query, visit func(*store.Item) error) error {
	for {
		page, err := c.cfg.Store.List(ctx, q)
		if err != nil {
			return err
		}
		for i := range page.Items {
			if err := visit(&page.Items[i]); err != nil {
				return err
			}
		}
		if page.Next == "" {
			return nil
		}
		q.After = page.Next
	}
}

func (c *Coordinator) now() time.Time { return c.cfg.Clock().UTC().Truncate(time.Millisecond) }

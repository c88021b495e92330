package local

import (
	"context"
	"sync"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/alert"
	"github.com/outerloop-dev/outerloop/pkg/coordinator"
)

// lastPost bounds how long Close sends what people are still to be told; what
// is not sent then, the next owner sends.
const lastPost = 6 * time.Second

// post sends alerts beside everything else: no run waits for a channel.
type post struct {
	e     *Engine
	desk  *alert.Desk
	woken chan struct{}
	going sync.WaitGroup
}

// openPost makes the desk that keeps alerts in the engine's own store; without
// routes there is none.
func (e *Engine) openPost() error {
	if e.cfg.Alerts == nil {
		return nil
	}
	cfg := *e.cfg.Alerts
	cfg.Store, cfg.Clock, cfg.IDs = e.store, e.cfg.Clock.Now, e.id
	if cfg.Log == nil {
		cfg.Log = e.cfg.Log
	}
	desk, err := alert.New(cfg)
	if err != nil {
		return err
	}
	e.post = &post{e: e, desk: desk, woken: make(chan struct{}, 1)}
	return nil
}

// Alerts is the desk that keeps and sends alerts; nil where Config names no Alerts.
func (e *Engine) Alerts() *alert.Desk {
	if e.post == nil {
		return nil
	}
	return e.post.desk
}

// keep keeps an alert and has it sent soon.
func (p *post) keep(ctx context.Context, a coordinator.Alert) {
	if p == nil {
		return
	}
	p.desk.Notify(ctx, a)
	select {
	case p.woken <- struct{}{}:
	default:
	}
}

// serve sends what is due until the context ends.
func (p *post) serve(ctx context.Context) {
	if p == nil {
		return
	}
	p.going.Go(func() {
		for {
			out, err := p.desk.Deliver(ctx)
			if ctx.Err() != nil {
				return
			}
			if err != nil {
				p.e.cfg.Log.Error("alerts could not be read", "error", err)
			}
			next := p.e.soon(watchEvery)
			if !out.Next.IsZero() && out.Next.Before(next) {
				next = out.Next
			}
			select {
			case <-p.woken:
			case <-p.e.cfg.Clock.After(max(next.Sub(p.e.cfg.Clock.Now()), time.Second)):
			case <-ctx.Done():
				return
			}
		}
	})
}

// wait returns when serve has ended.
func (p *post) wait() {
	if p != nil {
		p.going.Wait()
	}
}

// last sends what is due before the engine closes.
func (p *post) last() error {
	if p == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), lastPost)
	defer cancel()
	if _, err := p.desk.Deliver(ctx); err != nil && ctx.Err() == nil {
		return err
	}
	return nil
}

// digests keeps the daily summaries that are due.
func (p *post) digests(ctx context.Context) {
	if p == nil {
		return
	}
	owner := func(name string) string {
		for _, l := range p.e.cfg.Loops {
			if l.Definition.Loop.Name == name {
				return l.Definition.Loop.Owner
			}
		}
		return ""
	}
	if err := p.desk.Digest(ctx, p.e.coord, owner); err != nil && ctx.Err() == nil {
		p.e.cfg.Log.Error("a digest was not kept", "error", err)
	}
}

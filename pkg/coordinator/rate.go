package coordinator

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/charter"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/gate"
	"github.com/outerloop-dev/outerloop/pkg/loop"
	"github.com/outerloop-dev/outerloop/pkg/registry"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// ratePoll is how soon an attempt asks again for a turn that others hold.
const ratePoll = 5 * time.Second

// provider is a provider key: what all runs of all loops share (R32).
type provider struct {
	name  string
	rates []registry.Rate
	// model: its calls and tokens are those of a language model.
	model bool
	// own: only this run takes turns there.
	own bool
}

// providers are what the worker calls: the connections of its tools and its
// endpoint, and its model with the model's connection.
func (q *call) providers() []provider {
	p := q.def.Project
	if p == nil {
		return q.blockTurns()
	}
	var out []provider
	seen := map[string]bool{}
	connection := func(name string, model bool) {
		for _, c := range p.Connections {
			if c.Name == name && !seen[name] {
				seen[name] = true
				out = append(out, provider{name: c.Name, rates: c.Rates, model: model})
			}
		}
	}
	if agent := q.worker.Charter.Agent; agent != nil {
		for _, m := range p.Models {
			if m.Name == agent.Model {
				out = append(out, provider{name: "model:" + m.Name, rates: m.Rates, model: true})
				connection(m.Connection, true)
			}
		}
	}
	for _, name := range q.worker.Charter.Connections() {
		connection(name, false)
	}
	return append(out, q.blockTurns()...)
}

// blockTurns are the places in the blocks of items around a step: at most
// at_once attempts of it at a time. Where its worker's own queue lets no more
// through, no turns are taken.
func (q *call) blockTurns() []provider {
	dispatch := q.worker.Charter.Dispatch
	var out []provider
	for _, block := range enclosing(q.node) {
		bounded := q.mode() == charter.ModeQueue && max(dispatch.AtOnce, 1) <= block.Each.AtOnce
		if !bounded && block.Each.MaxItems > block.Each.AtOnce {
			out = append(out, provider{
				own:   true,
				name:  "each:" + q.run.ID + ":" + string(address(block, q.index)) + ":" + q.Step,
				rates: []registry.Rate{{AtOnce: block.Each.AtOnce}},
			})
		}
	}
	return out
}

// mode is how the step's work is dispatched.
func (q *call) mode() charter.Mode {
	if row := q.row(); row != nil && q.node.Kind == loop.KindRoute && !q.review {
		return row.Mode
	}
	if q.review {
		return q.node.Review.Mode
	}
	return q.node.Mode
}

// turn is what an attempt asks of a provider key.
type turn struct {
	attempt string
	now     time.Time
	limit   time.Time
	retry   bool
	// loop is whose turn it is; empty: no other loop wants one there.
	loop   string
	calls  int64
	tokens int64
}

// turn takes the attempt's turn at every provider key of its worker, for all
// runs together, at all of them or at none. Waiting for a turn is no attempt.
func (q *call) turn(ctx context.Context, now, limit time.Time, inputBytes int) (*admission, error) {
	providers := q.providers()
	for range q.c.cfg.Attempts {
		var ops []store.Op
		for _, p := range providers {
			r, err := one(ctx, q.c, record.RateKey(p.name), record.DecodeRate)
			if err != nil {
				return nil, fmt.Errorf("reading turns at %s: %w", p.name, err)
			}
			if r == nil {
				r = &record.Rate{Name: p.name}
			}
			ask := turn{attempt: q.attempt, now: now, limit: limit, calls: 1, retry: q.step() != nil && len(q.step().Tries.Failed) > 0}
			if p.model {
				use := mostUse(q.worker, inputBytes)
				ask.calls, ask.tokens = use.calls, use.calls*(use.written+use.read)
			}
			if !p.own {
				ask.loop = q.run.Loop
			}
			mine := r.Holds(q.attempt)
			if free, until := nextTurn(r, p.rates, ask); !free {
				out := later(until, "waits for its turn at "+p.name)
				return &out, q.standsInLine(ctx, r, ask, until)
			}
			if !mine && len(p.rates) > 0 {
				ops = append(ops, r.Put())
			}
		}
		if len(ops) == 0 {
			return nil, nil
		}
		if err := q.c.write(ctx, ops...); !errors.Is(err, store.ErrCondition) {
			return nil, err
		}
	}
	out := later(now.Add(time.Second), "others are quicker to take their turns") // no failure: it waits
	return &out, nil
}

// nextTurn takes a turn in all windows at once, or in none. First tries leave
// the reserve of each rate to retries. What asks for more than a window holds
// gets the whole of it.
func nextTurn(r *record.Rate, rates []registry.Rate, ask turn) (bool, time.Time) {
	if ask.now.UnixMilli() < r.FloorMs {
		return false, ask.after(time.UnixMilli(r.FloorMs).UTC())
	}
	if r.Holds(ask.attempt) {
		return true, time.Time{}
	}
	busy, first := r.Busy(ask.now)
	ahead := ask.ahead(r)
	windows := maps.Clone(r.Windows)
	if windows == nil {
		windows = map[string]record.Window{}
	}
	for _, rate := range rates {
		if rate.AtOnce > 0 && busy >= ask.share(rate, rate.AtOnce) {
			return false, earlierTime(first, ask.now.Add(ratePoll))
		}
		if rate.AtOnce > 0 && busy+ahead >= ask.share(rate, rate.AtOnce) {
			return false, ask.now.Add(yieldPoll)
		}
		for _, use := range ask.uses(rate) {
			w := r.Windows[use.name]
			limit := int64(ask.share(rate, int(use.limit)))
			n := min(use.n, limit)
			if free, until := w.Free(ask.now, rate.Per, n, limit); !free {
				return false, until
			}
			if free, _ := w.Free(ask.now, rate.Per, n*int64(ahead+1), limit); !free {
				return false, ask.now.Add(yieldPoll)
			}
			windows[use.name] = w.Take(ask.now, ask.now, rate.Per, n)
		}
	}
	r.Windows, r.Last = windows, ask.attempt
	if ask.loop != "" && len(rates) > 0 {
		r.Served(ask.loop, ask.now)
	}
	if held(rates) {
		r.Turns = append(r.Turns, record.Turn{
			Attempt: ask.attempt, AtMs: ask.now.UnixMilli(), UntilMs: ask.limit.UnixMilli(), Tokens: ask.tokens,
		})
	}
	return true, time.Time{}
}

// share is how much of a limit the attempt may use: first tries not the reserve, but at least one.
func (t turn) share(rate registry.Rate, limit int) int {
	if t.retry {
		return limit
	}
	return max(limit-rate.Reserve.Of(limit), 1)
}

// use is what an attempt takes of a window.
type use struct {
	name     string
	n, limit int64
}

func (t turn) uses(rate registry.Rate) []use {
	var out []use
	if rate.Per > 0 && rate.Calls > 0 {
		out = append(out, use{name: fmt.Sprintf("%d calls/%s", rate.Calls, rate.Per), n: t.calls, limit: int64(rate.Calls)})
	}
	if rate.Per > 0 && rate.Tokens > 0 && t.tokens > 0 {
		out = append(out, use{name: tokenWindow(rate), n: t.tokens, limit: int64(rate.Tokens)})
	}
	return out
}

func tokenWindow(rate registry.Rate) string {
	return fmt.Sprintf("%d tokens/%s", rate.Tokens, rate.Per)
}

// held tells whether a turn is held until the attempt ends: where calls in
// flight are bounded, or what it used is known only then.
func held(rates []registry.Rate) bool {
	for _, rate := range rates {
		if rate.AtOnce > 0 || rate.Tokens > 0 {
			return true
		}
	}
	return false
}

// releaseTurns gives back the turns of an attempt that has ended, and the tokens
// that were counted for it and not used. Where it does not come to that, a turn runs out.
func (q *call) releaseTurns(ctx context.Context, used gate.Tokens) {
	for _, p := range q.providers() {
		if !held(p.rates) {
			continue
		}
		err := q.c.changeRate(ctx, p.name, func(r *record.Rate) bool {
			turn, found := r.Release(q.attempt)
			if !found {
				return false
			}
			at := time.UnixMilli(turn.AtMs)
			for _, rate := range p.rates {
				name := tokenWindow(rate)
				if w, counted := r.Windows[name]; counted && turn.Tokens > 0 && rate.Tokens > 0 {
					n := min(turn.Tokens, int64(rate.Tokens))
					r.Windows[name] = w.Take(at, q.c.now(), rate.Per, used.Input+used.Output+used.CacheWrite-n)
				}
			}
			return true
		})
		if err != nil {
			q.c.cfg.Log.Warn("turn not given back, it will run out", "provider", p.name, "err", err)
		}
	}
}

// holdBack makes a provider's own word the floor for everyone on its key.
func (q *call) holdBack(ctx context.Context, f *gate.Failure) error {
	if f == nil || !f.RetryAfter.After(q.c.now()) {
		return nil
	}
	until := f.RetryAfter.UnixMilli()
	for _, p := range q.providers() {
		err := q.c.changeRate(ctx, p.name, func(r *record.Rate) bool {
			changed := r.FloorMs < until
			r.FloorMs = max(r.FloorMs, until)
			return changed
		})
		if err != nil {
			return fmt.Errorf("holding %s back: %w", p.name, err)
		}
	}
	return nil
}

func (c *Coordinator) changeRate(ctx context.Context, name string, change func(*record.Rate) bool) error {
	_, err := deciding(ctx, c, "changing the turns of "+name, func(ctx context.Context) (struct{}, error) {
		r, err := one(ctx, c, record.RateKey(name), record.DecodeRate)
		if err != nil {
			return struct{}{}, err
		}
		if r == nil {
			r = &record.Rate{Name: name}
		}
		if !change(r) {
			return struct{}{}, nil
		}
		return struct{}{}, c.write(ctx, r.Put())
	})
	return err
}

// usedTokens is what an attempt reports of its model.
func usedTokens(req gate.SettleRequest) gate.Tokens {
	if req.Result != nil {
		return req.Result.Tokens
	}
	return req.Failure.Tokens
}

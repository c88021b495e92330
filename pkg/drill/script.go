package drill

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"sync"

	"github.com/outerloop-dev/outerloop/pkg/charter"
	"github.com/outerloop-dev/outerloop/pkg/local"
	"github.com/outerloop-dev/outerloop/pkg/loop"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// script says which variant of its value each worker answers.
type script map[string]uint64

// with is the script with another variant for one worker.
func (s script) with(name string, variant uint64) script {
	out := maps.Clone(s)
	out[name] = variant
	return out
}

// ledger is the world outside: what effects there are, by the provider's key,
// as a provider keeps them that dedupes by it.
type ledger struct {
	mu      sync.Mutex
	effects map[string]int
	// calls are the workers that worked, in their order.
	calls []string
	// outputs are what steps put out last, by loop and path.
	outputs map[string]json.RawMessage
}

func (l *ledger) put(path string, raw json.RawMessage) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.outputs[path] = raw
}

func (l *ledger) output(path string) (json.RawMessage, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	raw, known := l.outputs[path]
	return raw, known
}

func newLedger() *ledger {
	return &ledger{effects: map[string]int{}, outputs: map[string]json.RawMessage{}}
}

func (l *ledger) effect(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.effects[key]++
}

func (l *ledger) has(key string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.effects[key] > 0
}

// twice counts the effects that exist more than once.
func (l *ledger) twice() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for _, times := range l.effects {
		if times > 1 {
			n++
		}
	}
	return n
}

// note keeps the order in which workers did their work.
func (l *ledger) note(t call) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls = append(l.calls, t.worker)
}

// after are the workers that worked after one first did.
func (l *ledger) after(name string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := slices.Index(l.calls, name); i >= 0 {
		return slices.Clone(l.calls[i+1:])
	}
	return nil
}

// call is one call of a scripted worker.
type call struct {
	worker.Task[json.RawMessage]
	worker string
}

// cast are the scripted workers of a world.
type cast struct {
	script script
	world  *world
	// meddle breaks a call before the worker does anything, or after its effect; nil: nothing is broken.
	meddle meddling
}

// meddling is a fault inside a worker.
type meddling interface {
	// before answers an error for the worker; done false: it goes on.
	before(ctx context.Context, t call) (out worker.Result[json.RawMessage], err error, done bool)
	// result may change what is handed over.
	result(t call, out *worker.Result[json.RawMessage])
	// after is called when an action's effect exists, before its outcome is handed over.
	after(ctx context.Context, t call) error
}

// workers are scripted workers for all charters that the loops can reach.
func (c *cast) workers(loops []local.Loop) []local.Worker {
	known := map[string]bool{}
	var out []local.Worker
	for _, l := range loops {
		for name, declared := range l.Definition.Workers {
			if !known[name] {
				known[name] = true
				out = append(out, local.Worker{Code: c.scripted(name, declared), AtOnce: 1})
			}
		}
	}
	return out
}

func (c *cast) scripted(name string, declared *loop.Worker) worker.Worker {
	do := func(ctx context.Context, t worker.Task[json.RawMessage]) (worker.Result[json.RawMessage], error) {
		return c.play(ctx, call{t, name}, declared)
	}
	verify := func(_ context.Context, req worker.VerifyRequest) (worker.Verification, error) {
		if c.world.ledger.has(req.ProviderKey) {
			return worker.Verification{Finding: worker.Found, Result: c.result(name, declared)}, nil
		}
		return worker.Verification{Finding: worker.NotFound}, nil
	}
	return worker.New(name, max(declared.Charter.Contract, 1), do, worker.WithVerify(verify))
}

// result is what a provider says of an action that was done.
func (c *cast) result(name string, declared *loop.Worker) json.RawMessage {
	raw, _ := example(declared.Output, wish{variant: c.script[name], now: c.world.begun})
	return raw
}

// play is one call: broken on purpose, or what the schema asks for.
func (c *cast) play(ctx context.Context, t call, declared *loop.Worker) (worker.Result[json.RawMessage], error) {
	if c.meddle != nil {
		if out, err, done := c.meddle.before(ctx, t); done {
			return out, err
		}
	}
	out := worker.Result[json.RawMessage]{
		Output: c.choose(t, declared), Confidence: worker.High, Reason: "made for a drill",
		Evidence: []worker.Evidence{{Claim: "made for a drill", Source: "input"}},
	}
	if c.meddle != nil {
		c.meddle.result(t, &out)
	}
	c.world.ledger.note(t)
	if t.Action == "" {
		return out, nil
	}
	done, err := t.Do(ctx, t.Action, t.Task.Task.Input, func(ctx context.Context, a worker.Action) (any, error) {
		if !c.world.ledger.has(a.ProviderKey) || unknownRule(declared, t.Action) != charter.UnknownRetry {
			c.world.ledger.effect(a.ProviderKey)
		}
		if c.meddle != nil {
			if err := c.meddle.after(ctx, t); err != nil {
				return nil, err
			}
		}
		return out.Output, nil
	})
	if err != nil {
		return worker.Result[json.RawMessage]{}, err
	}
	out.Output = done.Result
	out.Evidence = append(out.Evidence, worker.Evidence{Claim: "it was done", Source: "action:" + done.Entry})
	return out, nil
}

// unknownRule is what an action declares for an unknown outcome.
func unknownRule(declared *loop.Worker, action string) charter.Unknown {
	for _, a := range declared.Charter.Actions {
		if a.Name == action {
			return a.Unknown
		}
	}
	return ""
}

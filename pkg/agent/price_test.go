package agent_test

import (
	"errors"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/outerloop-dev/outerloop/pkg/agent"
	"github.com/outerloop-dev/outerloop/pkg/gate"
)

func micro(n int64) *int64 { return &n }

// The price of the language's example: 3 and 15 USD per million tokens.
var listPrice = agent.Price{Input: 3_000_000, Output: 15_000_000, Currency: "USD", AsOf: "2026-11-01"}

func TestCost(t *testing.T) {
	t.Parallel()
	cached := listPrice
	cached.CacheRead, cached.CacheWrite = micro(300_000), micro(3_750_000)
	for name, c := range map[string]struct {
		price agent.Price
		used  gate.Tokens
		want  int64
	}{
		"nothing":              {listPrice, gate.Tokens{}, 0},
		"input and output":     {listPrice, gate.Tokens{Input: 1000, Output: 100}, 4500},
		"rounded up":           {agent.Price{Input: 150_000, Output: 600_000, Currency: "USD", AsOf: "2026-11-01"}, gate.Tokens{Input: 1}, 1},
		"cached, declared":     {cached, gate.Tokens{Input: 100, CacheRead: 1000, CacheWrite: 1000}, 300 + 300 + 3750},
		"cached, not declared": {listPrice, gate.Tokens{CacheRead: 1000, CacheWrite: 1000}, 3000 + 3750},
		"free":                 {agent.Price{Currency: "USD", AsOf: "2026-11-01"}, gate.Tokens{Input: 1 << 30, Output: 1 << 30}, 0},
		"free cache":           {agent.Price{Input: 10, CacheRead: micro(0), Currency: "USD", AsOf: "2026-11-01"}, gate.Tokens{CacheRead: 5_000_000}, 0},
	} {
		got, err := c.price.Cost(c.used)
		if err != nil || got != c.want {
			t.Errorf("%s: %d, %v; want %d", name, got, err, c.want)
		}
	}
}

// An unknown price is an error, not zero.
func TestUnknownPriceIsAnError(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]agent.Price{
		"none":     {},
		"undated":  {Input: 1, Output: 1, Currency: "USD"},
		"of what":  {Input: 1, Output: 1, AsOf: "2026-11-01"},
		"negative": {Input: -1, Currency: "USD", AsOf: "2026-11-01"},
		"absurd":   {Output: math.MaxInt64, Currency: "USD", AsOf: "2026-11-01"},
	} {
		if _, err := p.Cost(gate.Tokens{Input: 1}); !errors.Is(err, agent.ErrUnpriced) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := listPrice.Cost(gate.Tokens{Input: -1}); err == nil {
		t.Error("negative tokens were credited")
	}
}

// More tokens never cost less, and no allowed amount overflows.
func TestCostGrows(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		amount := rapid.Int64Range(0, 1_500_000_000)
		p := agent.Price{Input: amount.Draw(t, "in"), Output: amount.Draw(t, "out"), Currency: "USD", AsOf: "2026-11-01"}
		tokens := rapid.Int64Range(0, 1<<30)
		used := gate.Tokens{Input: tokens.Draw(t, "input"), Output: tokens.Draw(t, "output"), CacheRead: tokens.Draw(t, "read"), CacheWrite: tokens.Draw(t, "write")}
		more := used
		more.Output = min(more.Output+tokens.Draw(t, "more"), 1<<30)
		a, err := p.Cost(used)
		b, err2 := p.Cost(more)
		if err != nil || err2 != nil || a < 0 || b < a {
			t.Fatalf("%d, then %d, %v, %v", a, b, err, err2)
		}
	})
}

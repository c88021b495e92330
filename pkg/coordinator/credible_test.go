package coordinator_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/gate"
)

// A report of what cannot be neither earns a run money nor overflows its figures (R49).
func TestReportsThatCannotBe(t *testing.T) {
	t.Parallel()
	for name, used := range map[string]struct {
		cost   int64
		tokens gate.Tokens
	}{
		"negative":           {-500_000, gate.Tokens{Input: -1 << 50, Output: -7}},
		"negative tokens":    {0, gate.Tokens{Input: -1_000_000, Output: -1_000_000}},
		"huge":               {math.MaxInt64, gate.Tokens{Input: math.MaxInt64, Output: math.MaxInt64, CacheRead: math.MaxInt64}},
		"huge tokens":        {0, gate.Tokens{Input: math.MaxInt64, Output: math.MaxInt64}},
		"a name without end": {1, gate.Tokens{Input: 1, Model: strings.Repeat("m", 1<<20)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, run := studio(t)
			for i, fails := range []bool{true, false} {
				c := byHand(t, w, run, "writer", "talk", string(rune('a'+i)))
				if out := c.admit(); out.Decision != gate.Go {
					return // the overshoot is recorded, and nothing is left for another attempt
				}
				r := costing(used.cost)
				r.Tokens = used.tokens
				req := gate.SettleRequest{Result: r}
				if fails {
					req = gate.SettleRequest{Failure: &gate.Failure{Class: outerloop.ClassTransient, Message: "cut", Cost: used.cost, Tokens: used.tokens}}
				}
				c.settle(req)
				if left, spent, reserved, _ := w.money(run); left > 1_000_000 || spent < 0 || left+spent != 1_000_000 || reserved != 0 {
					t.Errorf("%d are left, %d spent, %d reserved", left, spent, reserved)
				}
			}
		})
	}
}

// An output with more faults than anybody reads is told by its first ones, and
// its step's record stays small.
func TestManyFaultsAreTold(t *testing.T) {
	t.Parallel()
	w, run := studio(t)
	c := byHand(t, w, run, "writer", "talk", "first")
	c.admit()
	var b strings.Builder
	for i := range 50_000 {
		fmt.Fprintf(&b, `,"field_%d":1`, i)
	}
	r := costing(1000)
	r.Output = json.RawMessage(`{"text":"x"` + b.String() + `}`)
	out := c.settle(gate.SettleRequest{Result: r})
	if cause := out.Verdict.Cause; !strings.Contains(cause, "field_0") || len(cause) > 1<<15 {
		t.Errorf("the cause has %d bytes: %.200s", len(cause), cause)
	}
	if item := w.store.(*memory).items[record.StepKey(run, "talk")]; item == nil || len(item.Body) > 1<<16 {
		t.Errorf("the step's record is %v", item)
	}
}

// What a worker says beside its output is bounded: it stands in the step's record.
func TestWordsBesideTheOutputAreBounded(t *testing.T) {
	t.Parallel()
	much := strings.Repeat("word ", 1<<17)
	for name, change := range map[string]func(*gate.Result){
		"reason":     func(r *gate.Result) { r.Reason = much },
		"decisions":  func(r *gate.Result) { r.Decisions = strings.Fields(much) },
		"unresolved": func(r *gate.Result) { r.Unresolved = []string{much} },
		"evidence":   func(r *gate.Result) { r.Evidence = []gate.Evidence{{Claim: much, Source: "input.text"}} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, run := studio(t)
			c := byHand(t, w, run, "writer", "talk", "first")
			c.admit()
			r := costing(1000)
			change(r)
			if out := c.settle(gate.SettleRequest{Result: r}); out.Verdict.Error == "" || !strings.Contains(out.Verdict.Cause, "be brief") {
				t.Errorf("settle is %+v", out.Verdict)
			}
		})
	}
}

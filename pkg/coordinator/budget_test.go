package coordinator_test

import (
	"testing"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/gate"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// TestBudgetOfWrites counts the write units of the shared state as DynamoDB
// would bill the table (1 KB each, doubled in a transaction; without indexes):
// the ceilings of the protocol.
func TestBudgetOfWrites(t *testing.T) {
	t.Parallel()
	units := func(t *testing.T, w *world) *float64 {
		m, total := w.store.(*memory), new(float64)
		m.counted = func(ops []store.Op, before, after []*store.Item) { *total += tableUnits(ops, before, after) }
		return total
	}
	t.Run("plain step", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, files(draftLoop("{then: skip}"), nil))
		total := units(t, w)
		run := start(t, w, `{"key":"a"}`)
		spent(t, "run start", total, 7)
		c := byHand(t, w, run, "writer", "draft", "r")
		c.admit()
		spent(t, "claim of a new run's first step", total, 1)
		c.settle(gate.SettleRequest{Result: &gate.Result{Output: []byte(`{"text":"x","n":1}`)}})
		spent(t, "settle", total, 4)
		b := byHand(t, w, run, "board", "board", "r2")
		b.admit()
		spent(t, "claim", total, 1)
		b.settle(gate.SettleRequest{Result: &gate.Result{Output: []byte(`{"n":1}`)}})
		spent(t, "settle", total, 4)
		raw := []byte(`{"op":"finish","run":"` + run + `","gen":1}`)
		if _, err := w.coord.Step(w.ctx, raw); err != nil {
			t.Fatal(err)
		}
		spent(t, "finish", total, 8) // the run is over 1 KB with its counts and log
		want(t, w, run, outerloop.StatusCompleted)
	})
	t.Run("action with a resource", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, files(sendLoop, nil))
		total := units(t, w)
		run := start(t, w, `{"key":"a"}`)
		*total = 0
		c := byHand(t, w, run, "sender", "send", "r")
		c.admit()
		spent(t, "claim and lease", total, 2)
		c.begin(`{"text":"a"}`)
		spent(t, "begin, the resource's fence checked", total, 6+2) // step, run, action; lease
		c.settle(gate.SettleRequest{Result: sent, Actions: done("a:send")})
		spent(t, "settle, done, lease released", total, 4+2+1)
	})
	t.Run("parked", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, files(askLoop, nil))
		total := units(t, w)
		run := start(t, w, `{"key":"a"}`)
		c := byHand(t, w, run, "writer", "draft", "r")
		c.admit()
		*total = 0
		c.settle(gate.SettleRequest{Result: &gate.Result{Output: []byte(`{"text":"x","n":1}`)}})
		spent(t, "settle, needs approval", total, 6)
		w.now = w.now.Add(time.Second)
	})
}

// spent checks what was written since the last look.
func spent(t *testing.T, what string, total *float64, ceiling float64) {
	t.Helper()
	if *total > ceiling {
		t.Errorf("%s took %.0f units, the ceiling is %.0f", what, *total, ceiling)
	}
	*total = 0
}

// tableUnits are the units of the table alone.
func tableUnits(ops []store.Op, before, after []*store.Item) float64 {
	bare := func(items []*store.Item) []*store.Item {
		out := make([]*store.Item, len(items))
		for i, item := range items {
			if out[i] = clone(item); out[i] != nil {
				out[i].List, out[i].Due = nil, nil
			}
		}
		return out
	}
	return store.Units(ops, bare(before), bare(after))
}

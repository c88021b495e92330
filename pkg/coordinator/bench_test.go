package coordinator_test

import (
	"fmt"
	"testing"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/gate"
)

// BenchmarkStep is a plain step at the gate, admit and settle, without a disk.
func BenchmarkStep(b *testing.B) {
	w := newWorld(b, files(eachLoop, nil))
	usual(w)
	run := start(b, w, `{"key":"a","n":40}`)
	c := byHand(b, w, run, "lister", "plan", "r")
	c.call.Next = &gate.Next{Block: "deals", Pages: []int{23}}
	c.admit()
	c.settle(gate.SettleRequest{Result: &gate.Result{Output: []byte(itemsJSON(40))}})
	m := w.store.(*memory)
	saved := map[string]bool{}
	for key := range m.items {
		saved[key.Part+key.Sort] = true
	}
	draft := &gate.Result{Output: []byte(`{"text":"Dear customer","n":3}`), Confidence: outerloop.ConfidenceHigh, Reason: "sure"}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if i%40 == 0 {
			for key := range m.items {
				if !saved[key.Part+key.Sort] {
					delete(m.items, key)
				}
			}
		}
		s := byHand(b, w, run, "writer", "deals/draft", fmt.Sprintf("s%d", i))
		s.call.Item = outerloop.FormatItem([]int{i % 40})
		if out := s.admit(); out.Decision != gate.Go {
			b.Fatalf("admit is %+v", out)
		}
		s.settle(gate.SettleRequest{Result: draft})
	}
}

func itemsJSON(n int) string {
	text := `{"items":[`
	for i := range n {
		if i > 0 {
			text += ","
		}
		text += fmt.Sprintf(`{"id":"D-%d","n":%d}`, i, i)
	}
	return text + "]}"
}

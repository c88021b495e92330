package drill

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// dear makes one step's call cost far more than the budget.
type dear struct {
	at
	cost int64
}

func (m dear) before(context.Context, call) (worker.Result[json.RawMessage], error, bool) {
	return worker.Result[json.RawMessage]{}, nil, false
}

func (m dear) result(t call, out *worker.Result[json.RawMessage]) {
	if m.hits(t) {
		out.Cost = m.cost
	}
}

const million = 1_000_000

// expensive lets one call cost ten times its loop's budget: the overshoot is on
// record, and nothing more that costs is begun.
func expensive(ctx context.Context, d *driller, p place) (outcome, error) {
	budget := p.loop.Loop.Budget
	m := dear{of(p, nil), 10 * max(budget.Cost.Micro, 1)}
	name := p.node.Worker.Charter.Worker
	return d.in(ctx, m, func(w *world) (outcome, error) {
		out := outcome{expected: fmt.Sprintf("%.2f %s are on record, no model is asked after it (otherwise: %s)", float64(m.cost)/million, budget.Cost.Currency, budget.Otherwise)}
		if err := w.start(ctx); err != nil {
			return out, err
		}
		if err := w.settle(ctx); err != nil {
			return out, err
		}
		got, err := w.look(ctx, p)
		if err != nil {
			return out, err
		}
		cost := 0.0
		for _, s := range got.steps {
			cost = max(cost, s.Cost)
		}
		var asked []string
		for _, other := range w.ledger.after(name) {
			if w.priced(other) && other != name {
				asked = append(asked, other)
			}
		}
		out.happened = fmt.Sprintf("%.2f %s on record, %s", cost, budget.Cost.Currency, got.says())
		if len(asked) > 0 {
			out.happened += fmt.Sprintf("; asked after it: %v", slices.Compact(asked))
		}
		out.held = cost*million >= float64(m.cost) && len(asked) == 0 && slices.ContainsFunc(got.steps, completed)
		return out, w.sound(ctx, &out)
	})
}

// priced tells whether a worker asks a model that costs money.
func (w *world) priced(name string) bool {
	for _, l := range w.d.loops() {
		declared := l.Definition.Workers[name]
		if declared == nil || declared.Charter.Agent == nil {
			continue
		}
		m, known := l.Definition.Project.Model(declared.Charter.Agent.Model)
		return known && (m.Price.Input.Micro > 0 || m.Price.Output.Micro > 0)
	}
	return false
}

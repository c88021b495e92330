package coordinator

import (
	"github.com/outerloop-dev/outerloop/pkg/charter"
	"github.com/outerloop-dev/outerloop/pkg/loop"
	"github.com/outerloop-dev/outerloop/pkg/registry"
)

const (
	// tokenBytes is how few bytes a token may stand for when a cost is estimated from above.
	tokenBytes = 3
	// longTokenBytes is how many bytes a token that a model writes stands for when
	// the input of a tool call is estimated from above.
	longTokenBytes = 4
	million        = 1_000_000
	// fixedText bounds in bytes what every request to a model says beside its data.
	fixedText = 2000
)

// need is the most that an attempt may cost, in micro-units: its own model's
// work, and that of the tools it may call.
type need struct{ own, calls int64 }

func (n need) total() int64 { return n.own + n.calls }

// estimate is what an attempt of the call's worker may cost at most.
func (q *call) estimate(inputBytes int) need { return q.estimateOf(q.worker, inputBytes) }

// estimateOf is what an attempt of a worker may cost at most: what its model may
// write in all its calls and what it reads, and as often as it may call a tool
// the dearest of them. Workers without a model cost nothing. Charters that call
// in circles do not validate, so it ends.
func (v *view) estimateOf(w *loop.Worker, inputBytes int) need {
	agent := w.Charter.Agent
	if w.Charter.Kind != charter.KindAgent || agent == nil || v.def.Project == nil {
		return need{}
	}
	var out need
	if price, priced := v.priceOf(agent.Model); priced {
		use := mostUse(w, inputBytes)
		out.own = use.calls * (use.written*price.Output.Micro + use.read*price.Input.Micro) / million
	}
	for _, name := range agent.Calls {
		if tool := v.def.Workers[name]; tool != nil && tool.Output != nil {
			out.calls = max(out.calls, v.estimateOf(tool, agent.MaxTokens*longTokenBytes).total())
		}
	}
	out.calls *= int64(agent.MaxCalls)
	return out
}

// priceOf is what the tokens of a model of the project cost.
func (v *view) priceOf(model string) (registry.Price, bool) {
	for _, m := range v.def.Project.Models {
		if m.Name == model {
			return m.Price, true
		}
	}
	return registry.Price{}, false
}

// modelUse is what an attempt may ask of a model: calls, and the tokens that each writes and reads.
type modelUse struct{ calls, written, read int64 }

// mostUse is the most that an attempt of a worker may use: its Agent is set.
func mostUse(w *loop.Worker, inputBytes int) modelUse {
	agent := w.Charter.Agent
	use := modelUse{calls: int64(agent.MaxCalls) + 1, written: int64(agent.MaxTokens)}
	read := inputBytes + len(w.Prompt) + len(w.Document) + len(w.Output.Raw()) + fixedText
	use.read = int64(read)/tokenBytes + (use.calls-1)*use.written
	return use
}

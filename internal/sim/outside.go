package sim

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/gate"
)

// outside is the world beyond the workers: what was done in it, by the
// provider's key. It dedupes only for actions that say retry.
type outside struct {
	s       *Sim
	effects map[string]int
	calls   map[string]int
	// done lists the effects in their order.
	done []string
}

// do is the call of the provider.
func (o *outside) do(v *invocation, claim gate.BeginAnswer) {
	key := claim.ProviderKey
	o.calls[key]++
	o.s.guard.called(v, claim)
	if strings.HasPrefix(v.m.worker, "ledger") && o.effects[key] > 0 {
		o.s.log("the provider knows %s: no second effect", claim.Entry)
		return
	}
	o.effects[key]++
	o.done = append(o.done, claim.Entry)
	o.s.log("EFFECT %s (%s)", claim.Entry, key)
	if o.effects[key] > 1 {
		o.s.guard.bad("I1", "%s was done %d times", claim.Entry, o.effects[key])
	}
}

// became is what the provider says of a key.
func (o *outside) became(key string) gate.ActionOutcome {
	if o.effects[key] > 0 {
		return gate.ActionDone
	}
	return gate.ActionFailed
}

// flaky tells whether a handler without an action fails this time.
func (s *Sim) flaky(v *invocation) bool {
	switch {
	case s.resting:
		return false
	case v.m.worker == "shaky":
		return s.random.IntN(3) > 0
	case v.m.worker == "poet" || v.m.worker == "writer":
		return s.draw(HandlerFails, 20)
	}
	return s.draw(HandlerFails, 30)
}

// cost is what an attempt of a model costs, at most.
func (s *Sim) cost(v *invocation, most int64) int64 {
	switch v.m.worker {
	case "poet":
		return most
	case "clerk", "poem":
		return most / 5
	}
	return 0
}

// handle is the workers' work.
func (s *Sim) handle(v *invocation) (*gate.Result, *gate.Failure) {
	var in struct {
		N    int
		Text string
	}
	_ = json.Unmarshal(v.task.Input, &in)
	if s.draw(ManyTimes, 60) {
		return nil, &gate.Failure{Class: outerloop.ClassFatal, Message: "cannot", Cost: s.cost(v, 30_000)}
	}
	var output any
	switch v.m.worker {
	case "lister":
		items := []any{}
		for i := range in.N {
			items = append(items, map[string]any{"id": fmt.Sprintf("D-%d", i), "n": i})
		}
		output = map[string]any{"items": items}
	case "checker":
		faults := []string{}
		if !s.resting && s.random.IntN(3) == 0 {
			faults = append(faults, fmt.Sprintf("fault %d", s.random.IntN(3)))
		}
		output = map[string]any{"faults": faults}
	case "sender", "ledger", "caller", "refund":
		output = map[string]any{"id": "sent"}
	case "board":
		output = map[string]any{"n": in.N}
	case "poet":
		output = map[string]any{"text": "a poem of " + in.Text, "n": s.random.IntN(4)}
	default:
		output = map[string]any{"text": v.m.worker + " " + in.Text, "n": in.N}
	}
	raw, err := json.Marshal(output)
	if err != nil {
		panic(err)
	}
	result := &gate.Result{Output: raw, Confidence: outerloop.ConfidenceHigh, Reason: "sure", Cost: s.cost(v, 100_000)}
	if v.m.worker == "poet" && s.random.IntN(8) == 0 {
		result.Cost = 450_000 // more than was reserved: the overshoot is recorded
	}
	return result, nil
}

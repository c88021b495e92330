package sim

import (
	"encoding/json"
	"fmt"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/gate"
)

// tools are the calls that a model chooses to make within an attempt: the same
// ones again when the attempt is repeated, in another order or not at all.
func (v *invocation) tools() {
	for range v.s.random.IntN(4) {
		if v.failure != nil {
			return
		}
		worker := []string{"refund", "poem"}[v.s.random.IntN(2)]
		input := fmt.Sprintf(`{"text":"order","n":%d}`, 1+v.s.random.IntN(3))
		v.callTool(worker, json.RawMessage(input))
	}
}

// callTool asks for a call, runs the tool's worker where it is to be run, and asks again.
func (v *invocation) callTool(worker string, input json.RawMessage) {
	for range 4 {
		req := gate.CallRequest{Call: v.call(), Worker: worker, Input: input}
		out, ok := called(v, "call", func(g gate.Gate) (gate.CallAnswer, error) {
			return g.(gate.Caller).Call(v.s.ctx, req)
		})
		switch {
		case !ok:
			v.dies()
		case out.Outcome == gate.CallStopped:
			v.fails(outerloop.ClassTransient, "stopped: "+out.Says)
			return
		case out.Outcome != gate.CallRun:
			v.s.guard.answeredCall(v, req, out)
			return
		}
		if !v.runTool(worker, *out.Delivery) {
			v.fails(outerloop.ClassTransient, worker+" cannot be run now")
			return
		}
	}
}

// runTool is the tool's own invocation, inside the caller's time. When its
// function dies, its caller lives on or, in one process, dies with it. false:
// it gave no answer.
func (v *invocation) runTool(worker string, d gate.Delivery) (answered bool) {
	s, a := v.s, v.actor
	tool := &invocation{
		s: s, m: &message{worker: worker, tool: true}, actor: a,
		request: "req" + s.id(), skew: s.skew(), delivery: d, limit: v.limit,
	}
	tool.m.body, _ = json.Marshal(d)
	a.work = tool
	defer func() {
		a.work = v
		if r := recover(); r != nil {
			if _, dead := r.(killed); !dead || a.ended || s.random.IntN(2) == 0 {
				panic(r)
			}
		}
	}()
	tool.run()
	return tool.m.done
}

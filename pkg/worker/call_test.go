package worker_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/gate"
	"github.com/outerloop-dev/outerloop/pkg/worker"
	"github.com/outerloop-dev/outerloop/pkg/worker/workertest"
)

// caller is a gate that answers tool calls one after the other.
type caller struct {
	*workertest.Gate
	answers []gate.CallAnswer
	asked   []gate.CallRequest
}

func (c *caller) Call(_ context.Context, req gate.CallRequest) (gate.CallAnswer, error) {
	c.asked = append(c.asked, req)
	return c.answers[min(len(c.asked), len(c.answers))-1], nil
}

// called makes one tool call within an attempt and gives what came of it.
func called(t *testing.T, g gate.Gate, run func(context.Context, string, gate.Delivery) error) (answer gate.CallAnswer, err error) {
	t.Helper()
	w := fn(func(ctx context.Context, in worker.Task[order]) (worker.Result[receipt], error) {
		answer, err = in.Call(ctx, "lookup", json.RawMessage(`{"id":"o-1"}`))
		return worker.Result[receipt]{Output: receipt{"r"}}, nil
	})
	inv := invocation(w, worker.InProcess(g))
	inv.Env.Run = run
	if _, handled := worker.Handle(t.Context(), inv); handled != nil {
		t.Fatal(handled)
	}
	return answer, err
}

// A call is run where the gate says so, and asked for again until it is answered (R8).
func TestCallRunsTheWorkerThatTheGateNames(t *testing.T) {
	t.Parallel()
	delivery := gate.Delivery{Run: "run", Gen: 1, Step: "pay.call.lookup.1"}
	g := &caller{Gate: &workertest.Gate{Task: task()}, answers: []gate.CallAnswer{
		{Outcome: gate.CallRun, Delivery: &delivery}, {Outcome: gate.CallDone, Output: json.RawMessage(`{"ok":true}`)},
	}}
	var ran []string
	answer, err := called(t, g, func(_ context.Context, name string, d gate.Delivery) error {
		ran = append(ran, name+" "+d.Step)
		return nil
	})
	if err != nil || answer.Outcome != gate.CallDone || string(answer.Output) != `{"ok":true}` || len(ran) != 1 || ran[0] != "lookup pay.call.lookup.1" {
		t.Errorf("%+v, %v, ran %v", answer, err, ran)
	}
	if len(g.asked) != 2 || g.asked[0].Fence != 7 || g.asked[0].Nonce == g.asked[1].Nonce || string(g.asked[0].Input) != `{"id":"o-1"}` {
		t.Errorf("asked %+v", g.asked)
	}
}

func TestCallEnds(t *testing.T) {
	t.Parallel()
	delivery := &gate.Delivery{Step: "pay.call.lookup.1"}
	quiet := func(context.Context, string, gate.Delivery) error { return nil }
	for name, c := range map[string]struct {
		answer  gate.CallAnswer
		run     func(context.Context, string, gate.Delivery) error
		outcome gate.CallOutcome
		class   outerloop.Class
	}{
		"waiting":             {gate.CallAnswer{Outcome: gate.CallWaiting, Says: "a person"}, quiet, gate.CallWaiting, ""},
		"never answered":      {gate.CallAnswer{Outcome: gate.CallRun, Delivery: delivery}, quiet, gate.CallFailed, ""},
		"worker not there":    {gate.CallAnswer{Outcome: gate.CallRun, Delivery: delivery}, func(context.Context, string, gate.Delivery) error { return errors.New("no such worker") }, "", outerloop.ClassTransient},
		"stopped":             {gate.CallAnswer{Outcome: gate.CallStopped}, quiet, "", outerloop.ClassTransient},
		"runtime without run": {gate.CallAnswer{Outcome: gate.CallDone}, nil, "", outerloop.ClassFatal},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answer, err := called(t, &caller{Gate: &workertest.Gate{Task: task()}, answers: []gate.CallAnswer{c.answer}}, c.run)
			if c.class != "" && (err == nil || worker.FailureOf(err).Class != c.class) || c.class == "" && (err != nil || answer.Outcome != c.outcome) {
				t.Errorf("%+v, %v", answer, err)
			}
		})
	}
	t.Run("gate without calls", func(t *testing.T) {
		t.Parallel()
		if _, err := called(t, &workertest.Gate{Task: task()}, quiet); err == nil {
			t.Error("a gate without tool calls made one")
		}
	})
}

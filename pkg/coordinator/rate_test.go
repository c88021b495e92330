package coordinator_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/gate"
)

// ratedLoop calls one provider from many items; rate is its declaration.
func ratedFiles(rate string) map[string]string {
	return files(loopHead+`
steps:
  plan: {worker: lister, input: {n: "${input.n}"}, on_failure: {then: halt}}
  deals:
    each: plan.items
    as: deal
    key: ${deal.id}
    max_items: 100
    at_once: 40
    join: {need: 100%, otherwise: halt}
    steps:
      draft: {worker: writer, input: {text: "${deal.id}"}, on_failure: {retry: {rate_limited: 2, transient: 1}, then: halt}}
    output: {id: "${deal.id}"}
  last: {worker: writer, input: {text: last}, after: [deals]}
`, map[string]string{
		"outerloop.yaml":                        strings.Replace(projectFile, "mail: {kind: outbox, may: [send]}", "mail: {kind: outbox, may: [send], rate: "+rate+"}", 1),
		"functions/workers/writer/charter.yaml": charterFile("writer", anyIn, textOut, "tools: {mail: [send]}"),
	})
}

// No period of any window's length holds more calls than declared, over all
// runs together; waiting for a turn is no attempt (R32).
func TestRatesHoldInEveryWindow(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ratedFiles(`[{calls: 5, per: 1m}, {calls: 9, per: 10m}]`))
	usual(w)
	var calls []time.Time
	w.work["writer"] = worker{do: w.work["writer"].do, result: func(gate.Task, *gate.Result) { calls = append(calls, w.now) }}
	runs := []string{start(t, w, `{"key":"a","n":8}`), start(t, w, `{"key":"b","n":7}`)}
	w.run(20*time.Hour, 20_000)
	for _, run := range runs {
		for path, s := range steps(want(t, w, run, outerloop.StatusCompleted)) {
			if s.Worker == "writer" && s.Attempts != 1 {
				t.Errorf("%s took %d attempts", path, s.Attempts)
			}
		}
	}
	slices.SortFunc(calls, time.Time.Compare)
	for i, at := range calls {
		for _, window := range []struct {
			per  time.Duration
			most int
		}{{time.Minute, 5}, {10 * time.Minute, 9}} {
			n := 0
			for _, other := range calls[i:] {
				if other.Sub(at) < window.per {
					n++
				}
			}
			if n > window.most {
				t.Errorf("%d calls in %s from %s", n, window.per, at)
			}
		}
	}
	if len(calls) != 17 {
		t.Errorf("%d calls", len(calls))
	}
}

const twoDrafts = loopHead + `
steps:
  one: {worker: writer, input: {text: a}, on_failure: {retry: {rate_limited: 3}, then: halt}}
  two: {worker: writer, input: {text: b}, on_failure: {retry: {rate_limited: 3}, then: halt}}
  six: {worker: writer, input: {text: c}, on_failure: {retry: {rate_limited: 3}, then: halt}}
`

func twoDraftFiles(rate string) map[string]string {
	out := ratedFiles(rate)
	out["statemachines/test.loop.yaml"] = twoDrafts
	return out
}

var drafted = &gate.Result{Output: []byte(`{"text":"x"}`)}

// Calls in flight are bounded; a turn comes back with the answer, or at the end
// of an attempt that died. The reserve is for retries only.
func TestRatesAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, twoDraftFiles(`{at_once: 2, reserve: 50%}`))
	run := start(t, w, `{"key":"a"}`)
	one, two := byHand(t, w, run, "writer", "one", "r1"), byHand(t, w, run, "writer", "two", "r2")
	if out := one.admit(); out.Decision != gate.Go {
		t.Fatalf("first is %+v", out)
	}
	if out := two.admit(); out.Decision != gate.Later || !strings.Contains(out.Reason, "mail") {
		t.Fatalf("beside the reserve only one may call: %+v", out)
	}
	one.settle(gate.SettleRequest{Failure: &gate.Failure{Class: outerloop.ClassRateLimited, Message: "slow down"}})
	if out := two.admit(); out.Decision != gate.Go {
		t.Fatalf("the turn did not come back: %+v", out)
	}
	again := byHand(t, w, run, "writer", "one", "r3")
	if out := again.admit(); out.Decision != gate.Go {
		t.Errorf("a retry did not get the reserve: %+v", out)
	}
	if out := byHand(t, w, run, "writer", "six", "r4").admit(); out.Decision != gate.Later {
		t.Errorf("the third is %+v", out)
	}
	w.now = w.now.Add(31 * time.Second) // both died: their time-out is 30 s
	if out := byHand(t, w, run, "writer", "six", "r5").admit(); out.Decision != gate.Go {
		t.Errorf("the turns of the dead stay: %+v", out)
	}
}

// A provider's Retry-After is the floor for everyone on its key, other runs too,
// who come back spread over a little while.
func TestRetryAfterHoldsEveryoneBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t, files(twoDrafts, map[string]string{
		"functions/workers/writer/charter.yaml": charterFile("writer", anyIn, textOut, "tools: {mail: [send]}"),
	}))
	run, other := start(t, w, `{"key":"a"}`), start(t, w, `{"key":"b"}`)
	until := w.now.Add(7 * time.Minute)
	c := byHand(t, w, run, "writer", "one", "r1")
	c.admit()
	c.settle(gate.SettleRequest{Failure: &gate.Failure{Class: outerloop.ClassRateLimited, Message: "429", RetryAfter: until}})
	spread := map[time.Time]bool{}
	for i := range 20 {
		out := byHand(t, w, []string{run, other}[i%2], "writer", "two", fmt.Sprintf("q%d", i)).admit()
		if out.Decision != gate.Later || out.Until.Before(until) || out.Until.Sub(until) > 5*time.Second {
			t.Errorf("attempt %d: %+v, want later from %s on", i, out, until)
		}
		spread[out.Until] = true
	}
	if len(spread) < 10 {
		t.Errorf("20 attempts come back at %d moments", len(spread))
	}
	w.now = until
	if out := byHand(t, w, other, "writer", "two", "q9").admit(); out.Decision != gate.Go {
		t.Errorf("after its time: %+v", out)
	}
}

// Tokens are counted before the call from above, and what was not used comes
// back with the answer.
func TestRatesOfTokens(t *testing.T) {
	t.Parallel()
	w := newWorld(t, files(twoDrafts, map[string]string{
		"functions/workers/writer/charter.yaml": agentCharter,
		"functions/workers/writer/prompt.md":    "Write.",
		"outerloop.yaml":                        projectFile + strings.Replace(models, "id: m,", "id: m, rate: {tokens: 60000, per: 1m},", 1),
	}))
	run := start(t, w, `{"key":"a"}`)
	one, two := byHand(t, w, run, "writer", "one", "r1"), byHand(t, w, run, "writer", "two", "r2")
	if out := one.admit(); out.Decision != gate.Go {
		t.Fatalf("first is %+v", out)
	}
	if out := two.admit(); out.Decision != gate.Later || !strings.Contains(out.Reason, "model:default") {
		t.Fatalf("both may use %+v", out)
	}
	one.settle(gate.SettleRequest{Result: &gate.Result{Output: drafted.Output, Tokens: gate.Tokens{Input: 300, Output: 100}, Cost: 1}})
	if out := two.admit(); out.Decision != gate.Go {
		t.Errorf("what was not used did not come back: %+v", out)
	}
}

// A loop with much to do does not starve another at a provider both use: who
// waits and had its turn longer ago goes first, wherever it stands in line (R32).
func TestOneLoopDoesNotStarveAnother(t *testing.T) {
	t.Parallel()
	for name, rate := range map[string]string{
		"a window": `{calls: 2, per: 1m}`, "at once": `{at_once: 2}`, "both, and a reserve": `[{calls: 3, per: 1m, reserve: 34%}, {at_once: 2}]`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all, text := ratedFiles(rate), loopHead+"\nsteps:\n"
			for i := range 100 {
				text += fmt.Sprintf("  s%d: {worker: writer, input: {text: a}, on_failure: {then: halt}}\n", i)
			}
			all["statemachines/test.loop.yaml"], all["statemachines/other.loop.yaml"] = text, strings.Replace(text, "loop: test", "loop: other", 1)
			w := newWorld(t, all)
			big, small := start(t, w, `{"key":"a"}`), startOf(t, w, "other", `{"key":"b"}`)
			served := map[string]int{}
			for range 40 {
				var admitted []*gateCall
				for _, run := range []string{big, big, big, small} { // the big one is always first
					c := byHand(t, w, run, "writer", fmt.Sprint("s", served[run]), fmt.Sprint("r", len(admitted), w.now))
					if c.admit().Decision == gate.Go {
						admitted = append(admitted, c)
						served[run]++
					}
				}
				for _, c := range admitted {
					c.settle(gate.SettleRequest{Result: drafted})
				}
				w.now = w.now.Add(5 * time.Second)
			}
			if served[small] < 2 || 3*served[small] < served[big] || served[big] < 2 {
				t.Errorf("served %d of the big loop, %d of the small one", served[big], served[small])
			}
		})
	}
}

func startOf(t *testing.T, w *world, name, input string) string {
	t.Helper()
	out, err := w.coord.Start(w.ctx, coordinator.StartRequest{Loop: name, Input: json.RawMessage(input), Trigger: "manual", By: "ann"})
	if err != nil {
		t.Fatal(err)
	}
	return out.Run
}

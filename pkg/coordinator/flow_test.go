package coordinator_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/gate"
	"github.com/outerloop-dev/outerloop/pkg/store"
	"github.com/outerloop-dev/outerloop/pkg/store/sqlitestore"
)

// A join that needs more than it got blocks the run; skip goes on with what
// there is, retry runs the missing parts again (R4).
func TestJoin(t *testing.T) {
	t.Parallel()
	for way, output := range map[string]string{
		coordinator.WaySkip:  `{"completed":9,"items":10,"missing":1}`,
		coordinator.WayRetry: `{"completed":10,"items":10,"missing":0}`,
	} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, files(loopHead+`
steps:
  plan: {worker: lister, input: {n: 10}}
  deals:
    each: plan.items
    as: deal
    key: ${deal.id}
    max_items: 100
    join: {need: all, otherwise: halt}
    steps:
      draft: {worker: writer, input: {text: "${deal.id}"}}
    output: {text: "${draft.text}"}
  board: {worker: board, input: {n: "${deals.counts.completed}"}}
output: "${deals.counts}"
`, nil))
			usual(w)
			first := true
			echo := w.work["writer"].do
			w.work["writer"] = worker{do: func(t gate.Task) (any, *gate.Failure) {
				if strings.Contains(string(t.Input), "D-4") && first {
					first = false
					return nil, &gate.Failure{Class: outerloop.ClassFatal, Message: "bad row"}
				}
				return echo(t)
			}}
			run := start(t, w, `{"key":"a"}`)
			w.run(10*time.Minute, 2000)
			want(t, w, run, outerloop.StatusBlocked)
			exc := exceptionOf(t, w)
			if exc.Cause != "deals: 9 of 10 completed, 10 are needed; first missing: D-4 (draft: Worker.Fatal: bad row)" {
				t.Errorf("cause is %s", exc.Cause)
			}
			if _, err := w.coord.Resolve(w.ctx, coordinator.ResolveRequest{Exception: exc.ID, Way: way, By: "ann"}); err != nil {
				t.Fatal(err)
			}
			w.run(10*time.Minute, 2000)
			if view := want(t, w, run, outerloop.StatusCompleted); string(view.Output) != output {
				t.Errorf("output is %s", view.Output)
			}
		})
	}
}

// Branches, a switch and a false `when`: what did not run is named, and what
// needed it did not run either (R5, R13).
func TestBranchesAndSwitch(t *testing.T) {
	t.Parallel()
	for key, output := range map[string]string{
		"long":  `{"by":"writer","other":"none","web":"writer web"}`,
		"short": `{"by":"backup","other":"none","web":"writer web"}`,
	} {
		t.Run(key, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, files(loopHead+`
steps:
  sources:
    branches:
      web: {worker: writer, input: {text: web}}
      press: {worker: backup, input: {text: press}, on_failure: {then: skip}}
    join: {need: 1, otherwise: halt}
  reply:
    switch:
      - when: input.key.size() > 4 || sources.web.text == ""
        steps: {call: {worker: backup, input: {text: "${input.key}"}}}
        output: {by: backup, text: "${call.text}"}
      - when: input.key == "long"
        steps: {write: {worker: writer, input: {text: "${input.key}"}}}
        output: {by: writer, text: "${write.text}"}
      - otherwise: true
        steps: {again: {worker: backup, input: {text: "${input.key}"}}}
        output: {by: backup, text: "${again.text}"}
  other: {worker: writer, when: reply.text == "nobody", input: {text: x}}
  third: {worker: writer, input: {text: "${other.text}"}}
output: {by: "${reply.by}", web: "${sources.web.text}", other: '${default(third.text, "none")}'}
`, nil))
			usual(w)
			k := key
			if key == "short" {
				k = "shorter"
			}
			run := start(t, w, `{"key":"`+k+`"}`)
			w.run(10*time.Minute, 2000)
			view := want(t, w, run, outerloop.StatusCompleted)
			if string(view.Output) != output {
				t.Errorf("output is %s", view.Output)
			}
			got := steps(view)
			if s := got["other"]; s.Outcome != outerloop.OutcomeNotNeeded || !strings.HasPrefix(s.Reason, "when: reply.text == \"nobody\"") {
				t.Errorf("other is %+v", s)
			}
			if s := got["third"]; s.Outcome != outerloop.OutcomeNotNeeded || s.Reason != "needs other, which ended not_needed" {
				t.Errorf("third is %+v", s)
			}
		})
	}
}

// A fact that is absent is a failure of its own class; one that has changed
// since it was read is not written over (R23).
func TestFacts(t *testing.T) {
	t.Parallel()
	w := newWorld(t, files(loopHead+`
steps:
  first:
    worker: board
    input: {n: 1}
    writes: {board/state: "${output}"}
  second:
    worker: board
    after: [first]
    reads: {state: board/state}
    input: {n: "${facts.state.n + 1}"}
    writes: {board/state: "${output}"}
    on_failure: {retry: {conflict: 1}, then: halt}
output: {n: "${second.n}"}
`, nil))
	usual(w)
	other := false
	plain := w.work["board"].do
	w.work["board"] = worker{do: func(t gate.Task) (any, *gate.Failure) {
		if t.Step == "second" && !other { // another run writes between
			other = true
			run := start(w.t, w, `{"key":"other"}`)
			w.run(100*time.Millisecond, 500)
			want(w.t, w, run, outerloop.StatusCompleted)
		}
		return plain(t)
	}}
	run := start(t, w, `{"key":"a"}`)
	w.run(10*time.Minute, 500)
	view := want(t, w, run, outerloop.StatusCompleted)
	if s := steps(view)["second"]; string(view.Output) != `{"n":3}` || s.Attempts != 2 {
		t.Errorf("output is %s, second %+v", view.Output, s)
	}
}

const agentCharter = `
worker: writer
version: 1
owner: ops
objective: Write.
kind: agent
input: ` + anyIn + `
output: ` + textOut + `
reads: []
writes: []
tools: {}
authority: execute
risk: low
success: {metric: done, at_least: 90%}
fails_with: [timeout, transient, invalid_output]
dispatch: {mode: queue, timeout: 30s}
agent: {model: default, prompt: prompt.md, max_calls: 1, max_tokens: 10000}
`

const models = `
models:
  default: {connection: bedrock, id: m, price: {input: 1.00 USD, output: 20.00 USD, as_of: "2026-11-01"}}
`

// A model's attempt reserves what it may cost before it runs and pays what it
// did cost; parallel attempts never overspend together (R49).
func TestMoney(t *testing.T) {
	t.Parallel()
	w := newWorld(t, files(loopHead+`
steps:
  one: {worker: writer, input: {text: a}}
  two: {worker: writer, input: {text: b}}
  six: {worker: writer, input: {text: c}}
`, map[string]string{
		"functions/workers/writer/charter.yaml": agentCharter,
		"functions/workers/writer/prompt.md":    "Write.",
		"outerloop.yaml":                        projectFile + models,
	}))
	usual(w)
	conserves(t, w.store.(*memory), 1_000_000)
	text := w.work["writer"].do
	w.work["writer"] = worker{do: text, result: func(_ gate.Task, r *gate.Result) { r.Cost = 100_000 }}
	run := start(t, w, `{"key":"a"}`)
	w.run(time.Hour, 1000)
	// Each attempt may cost 0.41: two fit at once, the third has to wait for what comes back… or asks.
	view := show(t, w, run)
	if view.Counts["completed"] < 2 {
		t.Errorf("counts are %v", view.Counts)
	}
	log, _ := w.coord.Log(w.ctx, run)
	raw, _ := json.Marshal(log)
	if view.Status != outerloop.StatusCompleted && !strings.Contains(string(raw), "the budget has") {
		t.Errorf("run is %s: %s", view.Status, raw)
	}
}

// conserves holds that after each write a run's money is left, spent or reserved,
// and that none is reserved once it is closed.
func conserves(t *testing.T, m *memory, budget int64) {
	t.Helper()
	m.wrote = func(_, after []*store.Item) {
		for _, item := range after {
			if item == nil || item.Sort != "RUN" {
				continue
			}
			run, err := record.DecodeRun(item)
			if err != nil {
				t.Error(err)
				continue
			}
			sum := run.Numbers[record.RunLeft] + run.Numbers[record.RunSpent]
			for name, n := range run.Numbers {
				if strings.HasPrefix(name, "res.") {
					sum += n
					if run.Status.Closed() {
						t.Errorf("a reservation of %d outlives its run", n)
					}
				}
			}
			if sum != budget {
				t.Errorf("the run has %d in all, of %d", sum, budget)
			}
		}
	}
}

// Fifty thousand items are joined in bounded memory, and only once.
func TestManyItems(t *testing.T) {
	if testing.Short() {
		t.Skip("writes 50,000 items")
	}
	db, err := sqlitestore.Open(filepath.Join(t.TempDir(), "state.db"), sqlitestore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	w := newWorld(t, files(eachLoop, nil))
	w.store, w.blobs = db.Relaxed(), db.Relaxed()
	w.boot()
	usual(w)
	run := start(t, w, `{"key":"a","n":50000}`)
	c := byHand(t, w, run, "lister", "plan", "r")
	c.call.Next = &gate.Next{Block: "deals", Pages: []int{989, 23}}
	c.admit()
	out, failure := w.work["lister"].do(gate.Task{Input: json.RawMessage(`{"n":50000}`)})
	if failure != nil {
		t.Fatal(failure)
	}
	raw, _ := json.Marshal(out)
	answer := c.settle(gate.SettleRequest{Result: &gate.Result{Output: raw}})
	if items := string(answer.Verdict.Note.Items); len(items) > 1500 || !strings.HasPrefix(items, "[[0,988],[989,") {
		t.Fatalf("items are %s", items)
	}
	fill(t, w.store, run, 50000)
	before := heap()
	b := byHand(t, w, run, "board", "board", "b")
	if out := b.admit(); out.Decision != gate.Go || string(out.Task.Input) != `{"n":50000}` {
		t.Fatalf("admit is %+v", out)
	}
	if grown := heap() - before; grown > 100<<20 {
		t.Errorf("the join holds %d MB", grown>>20)
	}
	began := time.Now()
	if b.admit(); time.Since(began) > time.Second {
		t.Errorf("the join was evaluated again: %s", time.Since(began))
	}
}

func heap() int64 {
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return int64(s.HeapAlloc)
}

// fill writes the settled steps of every item, as the gate would have.
func fill(t testing.TB, db store.Store, run string, n int) {
	t.Helper()
	var ops []store.Op
	for i := range n {
		for _, s := range settledItem(run, i) {
			ops = append(ops, s.Put())
		}
		if len(ops) > store.MaxOps-3 || i == n-1 {
			if err := db.Write(t.Context(), fmt.Sprintf("fill%d", i), ops...); err != nil {
				t.Fatal(err)
			}
			ops = nil
		}
	}
}

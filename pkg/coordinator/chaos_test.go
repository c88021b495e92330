package coordinator_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/gate"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// seeds is how many interleavings a test tries; OUTERLOOP_SEEDS says another number.
func seeds(n int) int {
	if more, err := strconv.Atoi(os.Getenv("OUTERLOOP_SEEDS")); err == nil {
		return more
	}
	if testing.Short() {
		return n / 10
	}
	return n
}

// TestNothingTwiceNothingLost drives the real coordinator through random
// interleavings of deliveries, crashes, lost answers, late copies, paused
// owners, lost tokens, store faults, concurrent deciders and cancels, and checks
// every write against the promises of the protocol (R24, R26, R33, R37, R41).
func TestNothingTwiceNothingLost(t *testing.T) {
	t.Parallel()
	for name, with := range map[string]struct {
		loop  string
		seeds int
	}{"items": {eachLoop, 300}, "one action": {actionLoop, 1000}, "money": {moneyLoop, 300}, "patterns": {patternLoop, 300}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			total := map[string]int{}
			base := newWorld(t, files(with.loop, map[string]string{
				"functions/workers/poet/charter.yaml": strings.Replace(agentCharter, "worker: writer", "worker: poet", 1),
				"functions/workers/poet/prompt.md":    "Write.",
				"outerloop.yaml":                      eventsProject + models,
				"statemachines/inner.loop.yaml":       inner,
			}))
			for seed := range seeds(with.seeds) {
				seen, err := chaosRun(t, base, uint64(seed))
				if err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
				for name, n := range seen {
					total[name] += n
				}
			}
			t.Logf("faults: %v", total)
		})
	}
}

// actionLoop is one action that a person approves: all faults fall on it.
const actionLoop = loopHead + `
steps:
  send:
    worker: sender
    action: send
    resource: contact/${input.key}
    input: {text: "${input.key}"}
    approval: {when: "default(input.ask, false)", ask: "Send ${input.key}?"}
    on_failure: {retry: {transient: 3, timeout: 2}, then: halt}
output: {id: '${default(send.id, "")}'}
`

// TestTheGuardSees strips each kind of precondition from the writes and demands
// that some seed then breaks a promise: a guard that sees nothing proves nothing.
func TestTheGuardSees(t *testing.T) {
	t.Parallel()
	unversioned := func(prefix string) func(store.Op) store.Op {
		return func(op store.Op) store.Op {
			key := op.Item.Key
			if op.Kind == store.KindReplace && (strings.HasPrefix(key.Sort, prefix) || strings.HasPrefix(key.Part, prefix)) {
				op.Version, op.Item.Version = 0, 0
			}
			return op
		}
	}
	unchecked := func(number string) func(store.Op) store.Op {
		return func(op store.Op) store.Op {
			op.Where = slices.DeleteFunc(slices.Clone(op.Where), func(c store.Cond) bool { return c.Number == number })
			return op
		}
	}
	for name, with := range map[string]struct {
		loop  string
		strip func(store.Op) store.Op
	}{
		"step version": {eachLoop, unversioned("STEP#")}, "run open": {eachLoop, unchecked("open")},
		"run version": {eachLoop, unversioned("RUN")}, "action version": {actionLoop, unversioned("ACT#")},
		"approval version": {actionLoop, unversioned("APPROVAL#")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			base := newWorld(t, files(with.loop, nil))
			base.strip = with.strip
			for seed := range 4000 {
				if _, err := chaosRun(t, base, uint64(seed)); err != nil {
					line, _, _ := strings.Cut(err.Error(), "\n")
					t.Logf("seed %d: %s", seed, line)
					return
				}
			}
			t.Error("no seed saw it")
		})
	}
}

// moneyLoop is two model's steps side by side that cost most of the budget.
const moneyLoop = loopHead + `
steps:
  one: {worker: poet, input: {text: a}, on_failure: {retry: {transient: 3, timeout: 3}, then: halt}}
  two: {worker: poet, input: {text: b}, on_failure: {retry: {transient: 3, timeout: 3}, then: skip}}
  six: {worker: writer, input: {text: "${one.text}"}}
`

// patternLoop has what waits for others: a sub-loop, an event, a row that asks
// a person, and branches of which one is enough.
const patternLoop = loopHead + `
steps:
  plan: {worker: writer, input: {text: "${input.key}"}}
  sub: {loop: inner, input: {text: "${plan.text}"}, budget: {cost: 0.20 USD}, on_failure: {then: skip}}
  closed:
    wait: {event: session.closed, match: event.key == input.key, within: 30m}
    after: [plan]
    on_failure: {then: {substitute: {key: late}}}
  reply:
    route:
      - {task: [a], ask: leads}
      - {worker: writer}
    by: {task: closed.key}
    input: {text: "${plan.text}"}
    on_failure: {then: ask}
  sides:
    after: [closed]
    branches:
      fast: {worker: writer, input: {text: fast}}
      asks: {worker: backup, input: {text: asks}, approval: {ask: "Right?"}}
      sub2: {loop: inner, input: {text: other}, budget: {cost: 0.10 USD}, on_failure: {then: ask}}
    join: {need: 1, enough: 2, otherwise: ask}
output: {sub: '${default(sub.text, "none")}', reply: '${default(reply.text, "none")}'}
`

// again is a new world with the same checked project.
func (w *world) again(t testing.TB) *world {
	m := newMemory()
	out := &world{
		t: t, ctx: w.ctx, now: w.now, store: m, blobs: m, defs: w.defs, latest: w.latest, machine: w.machine,
		runs: map[string]*execution{}, tokens: map[string]waiting{}, work: map[string]worker{},
	}
	out.boot()
	return out
}

func chaosRun(t testing.TB, base *world, seed uint64) (map[string]int, error) {
	w := base.again(t)
	usual(w)
	w.work["poet"] = worker{do: func(gate.Task) (any, *gate.Failure) {
		if w.rand.IntN(4) == 0 {
			return nil, &gate.Failure{Class: outerloop.ClassTransient, Message: "no answer", Cost: 20_000}
		}
		return map[string]any{"text": "a poem"}, nil
	}, result: func(_ gate.Task, r *gate.Result) { r.Cost = 100_000 }}
	w.rand = rand.New(rand.NewPCG(seed, 7))
	w.chaos = &chaos{rand: w.rand, budget: 1 + w.rand.IntN(8), seen: map[string]int{}}
	for range 3 {
		w.chaos.focus = append(w.chaos.focus, faultNames[w.rand.IntN(len(faultNames))])
	}
	m := w.store.(*memory)
	m.strip = base.strip
	g := watchOver(m, 1_000_000)
	m.fault = func() (error, bool) {
		if w.chaos.draw("store throttled", 60) {
			return store.ErrThrottled, false
		}
		return nil, w.chaos.draw("store answer lost", 60)
	}
	depth := 0
	m.meanwhile = func() { // another operation comes between this one's reads and its write
		if depth < 2 && w.chaos.budget > 0 && w.rand.IntN(5) == 0 {
			depth++
			w.log("  meanwhile:")
			w.step(w.now.Add(2 * time.Minute))
			w.log("  and then")
			depth--
		}
	}
	run := start(t, w, `{"key":"a","n":3,"ask":true}`)
	for range 6 { // the watch, people, and new processes
		w.later(time.Duration(w.rand.IntN(600))*time.Second, "watch", func() { _, _ = w.coord.Watch(w.ctx) })
	}
	for range 4 {
		w.later(time.Duration(w.rand.IntN(200))*time.Second, "person looks", w.person)
	}
	if _, waits := w.defs[w.latest["test"]].Node("closed"); waits {
		w.later(time.Duration(w.rand.IntN(120))*time.Second, "an event", w.event)
	}
	if w.rand.IntN(4) == 0 {
		w.later(time.Duration(w.rand.IntN(120))*time.Second, "cancel", func() {
			_, _ = w.coord.Cancel(w.ctx, coordinator.PersonRequest{Run: run, By: "ann"})
		})
	}
	switch w.rand.IntN(4) {
	case 0:
		w.later(time.Duration(w.rand.IntN(200))*time.Second, "a new process", w.boot)
	case 1:
		for range 3 {
			w.later(time.Duration(w.rand.IntN(60000))*time.Millisecond, "the engine dies and is taken over", w.die)
		}
	}
	for n := 0; w.step(w.now.Add(6 * time.Hour)); n++ {
		if n > 3000 {
			return nil, fmt.Errorf("does not come to rest:\n%s", w.tail(60))
		}
		if len(g.broken) > 0 {
			return nil, fmt.Errorf("%v\n%s", g.broken, w.tail(80))
		}
	}
	if err := w.rest(run, g); err != nil {
		return nil, fmt.Errorf("%w\n%s", err, w.tail(120))
	}
	return w.chaos.seen, nil
}

// event is told by its sender until it is taken.
func (w *world) event() {
	for range 20 {
		_, err := w.coord.Publish(w.ctx, coordinator.PublishRequest{Event: "session.closed", ID: "e1", Data: []byte(`{"key":"a"}`)})
		if err == nil {
			return
		}
	}
}

// person decides what is open, one way or the other.
func (w *world) person() {
	list, err := w.coord.Approvals(w.ctx, coordinator.ApprovalsQuery{})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, ap := range list {
		verdict := coordinator.Approve
		if w.rand.IntN(3) == 0 {
			verdict = coordinator.Reject
		}
		req := coordinator.DecideRequest{Approval: ap.ID, Verdict: verdict, By: "bob"}
		if strings.HasPrefix(ap.Ask, "Give the answer") {
			req.Edit = []byte(`{"text":"by hand"}`)
		}
		_, err := w.coord.Decide(w.ctx, req)
		w.log("  %s %s: %v", verdict, ap.Step, err)
	}
}

// rest lets the watch and people finish what they can, without new faults, and
// demands that everything has ended or waits for something that is listed.
func (w *world) rest(run string, g *guard) error {
	w.chaos.budget = 0
	w.rand = rand.New(rand.NewPCG(1, 1))
	for round := range 60 {
		w.now = w.now.Add(30 * time.Second)
		if _, err := w.coord.Watch(w.ctx); err != nil {
			return fmt.Errorf("watch: %w", err)
		}
		w.person()
		for n := 0; w.step(w.now.Add(20 * time.Minute)); n++ {
			if n > 3000 {
				return fmt.Errorf("does not come to rest in round %d", round)
			}
		}
		if len(g.broken) > 0 {
			return fmt.Errorf("%v", g.broken)
		}
		view := show(w.t, w, run)
		if view.Status.Closed() {
			break
		}
		if view.Status == outerloop.StatusBlocked {
			if len(view.Waiting) == 0 {
				return fmt.Errorf("blocked without an exception")
			}
			if round%3 == 0 {
				if _, err := w.coord.Redrive(w.ctx, coordinator.PersonRequest{Run: run, By: "ann"}); err != nil {
					return fmt.Errorf("redrive: %w", err)
				}
			}
		}
		if err := w.resolveAll(run, round); err != nil {
			return err
		}
	}
	g.settledAll(run)
	if len(g.broken) > 0 {
		return fmt.Errorf("%v", g.broken)
	}
	for key, n := range w.provider().effects {
		if n > 1 {
			return fmt.Errorf("I1 %s was done %d times", key, n)
		}
	}
	if view := show(w.t, w, run); !view.Status.Closed() {
		return fmt.Errorf("I7 run is %s, waiting %+v", view.Status, view.Waiting)
	}
	subs, err := w.coord.Runs(w.ctx, coordinator.RunsQuery{Loop: "inner", Open: true})
	if err != nil || len(subs) > 0 {
		return fmt.Errorf("sub-loops outlive their parent: %+v (%w)", subs, err)
	}
	return nil
}

// resolveAll answers every open exception.
func (w *world) resolveAll(run string, round int) error {
	list, err := w.coord.Exceptions(w.ctx, coordinator.ExceptionsQuery{})
	if err != nil {
		return err
	}
	for _, exc := range list {
		way := coordinator.WayRetry
		if round > 4 && slices.Contains(exc.Ways, coordinator.WaySkip) {
			way = coordinator.WaySkip
		}
		_, err := w.coord.Resolve(w.ctx, coordinator.ResolveRequest{Exception: exc.ID, Way: way, By: "ann", Outcome: "failed"})
		w.log("  %s %s: %v", way, exc.Cause, err)
		if err != nil && !errors.Is(err, coordinator.ErrNotPossible) && !errors.Is(err, coordinator.ErrRunClosed) {
			return fmt.Errorf("resolve: %w", err)
		}
	}
	return nil
}

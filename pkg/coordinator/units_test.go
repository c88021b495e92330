package coordinator_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/gate"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

const unitsLoop = loopHead + `
steps:
  draft: {worker: writer, input: {text: "${input.key}"}}
  model: {worker: backup, after: [draft], input: {text: "${input.key}"}}
  send:
    worker: sender
    action: send
    after: [model]
    resource: contact/1
    input: {text: "${draft.text}"}
    approval: {when: 'default(input.ask, false)', ask: "Send?"}
  board: {worker: board, after: [send], input: {n: 1}, writes: {board/state: "${output}"}}
output: {id: '${default(send.id, "")}'}
`

// failingUnitsLoop is for what the first loop's steps do not do.
const failingUnitsLoop = loopHead + `
steps:
  unneeded: {worker: writer, input: {text: "${input.key}"}, when: input.key == "b"}
  draft: {worker: writer, input: {text: "${input.key}"}}
  crash: {worker: backup, input: {text: "${input.key}"}}
  look:
    worker: writer
    input: {text: "${input.key}"}
    approval: {when: output.n > 0, ask: "Good?"}
  mail:
    worker: writer
    input: {text: "${input.key}"}
    review: {worker: checker, input: {text: "${output.text}"}, pass: verdict.faults.size() == 0, revisions: 1, otherwise: approve}
  send: {worker: sender, action: send, input: {text: "${input.key}"}}
  last: {worker: writer, input: {text: "${input.key}"}, on_failure: {then: halt}}
`

// apart adds up what the writes that succeed cost, by what it is for.
type apart struct {
	store.Store
	// cost is of records that PROTOCOL names, beside of those it does not know.
	cost, beside store.Cost
}

// unnamed begin the keys of records that PROTOCOL does not count: circuit
// breakers, exceptions, what people have been told of.
var unnamed = []string{"BREAKER#", "EXC#", "TOLD#"}

func (c *apart) Write(ctx context.Context, id string, ops ...store.Op) error {
	keys := make([]store.Key, len(ops))
	for i, op := range ops {
		keys[i] = op.Item.Key
	}
	before, err := c.Get(ctx, keys...)
	if err != nil {
		return err
	}
	if err := c.Store.Write(ctx, id, ops...); err != nil {
		return err
	}
	after, err := c.Get(ctx, keys...)
	if err != nil {
		return err
	}
	for i := range ops {
		one := store.CostOf(ops[i:i+1], before[i:i+1], after[i:i+1])
		if len(ops) > 1 {
			one.Records, one.Sizes = 2*one.Records, 2*one.Sizes
		}
		sum := &c.cost
		if slices.ContainsFunc(unnamed, func(kind string) bool { return strings.HasPrefix(keys[i].Part, kind) }) {
			sum = &c.beside
		}
		sum.Records, sum.Sizes, sum.Indexes = sum.Records+one.Records, sum.Sizes+one.Sizes, sum.Indexes+one.Indexes
	}
	return nil
}

// meter counts the units of single operations over the fake, as DynamoDB charges them.
type meter struct {
	t     *testing.T
	w     *world
	apart *apart
	table strings.Builder
}

// allowed is what PROTOCOL says that an operation may cost.
type allowed struct {
	// figure is PROTOCOL's own; 0 with none: it gives none.
	figure float64
	none   bool
	// above is by how much the operation passes it; docs/store.md says why.
	above float64
}

func atMost(figure float64) allowed { return allowed{figure: figure} }

// charge does an operation and holds its records, with their sizes, to
// PROTOCOL's figure. Index entries, and records that PROTOCOL does not know, are
// counted beside it.
func (m *meter) charge(what string, most allowed, do func()) {
	m.t.Helper()
	plain := m.w.ctx
	ctx, count := store.WithMeter(plain)
	m.w.ctx, m.apart.cost, m.apart.beside = ctx, store.Cost{}, store.Cost{}
	do()
	m.w.ctx = plain
	cost, beside, charged := m.apart.cost, m.apart.beside.Units(), count.Usage().WriteUnits
	records := cost.Records + cost.Sizes
	figure := fmt.Sprint(most.figure)
	switch {
	case most.none:
		figure = "–"
	case most.above > 0:
		figure += fmt.Sprintf(" and %g", most.above)
	}
	fmt.Fprintf(&m.table, "| %s | %g | %s | %g | %g | %g |\n", what, records, figure, cost.Indexes, beside, charged)
	if charged != cost.Units()+beside {
		m.t.Errorf("%s: %g units were charged, its parts come to %+v and %g", what, charged, cost, beside)
	}
	if !most.none && records > most.figure+most.above {
		m.t.Errorf("%s costs %+v, PROTOCOL allows %g", what, cost, most.figure)
	}
}

func newMeter(t *testing.T, loop string, more map[string]string) *meter {
	t.Helper()
	b := onFake(t)
	parts := &apart{Store: b.store}
	b.store = parts
	m := &meter{t: t, w: worldOver(t, b, files(loop, more)), apart: parts}
	usual(m.w)
	return m
}

// Every operation of the gate protocol stays within PROTOCOL's budget of
// writes, and docs/store.md says what it costs.
func TestUnitsOfOperations(t *testing.T) {
	t.Parallel()
	loop := map[string]string{
		"functions/workers/backup/charter.yaml": strings.Replace(agentCharter, "worker: writer", "worker: backup", 1),
		"functions/workers/backup/prompt.md":    "Write.",
		"functions/workers/writer/charter.yaml": charterFile("writer", anyIn, textOut, "dispatch: {mode: queue, timeout: 10m}"),
		"outerloop.yaml": projectFile + `
models:
  default: {connection: bedrock, id: m, price: {input: 1.00 USD, output: 20.00 USD, as_of: "2026-11-01"}}
`,
	}
	m := newMeter(t, unitsLoop, loop)
	m.run(`{"key":"a","ask":true}`)
	f := newMeter(t, failingUnitsLoop, nil)
	f.runFailing(`{"key":"a"}`)
	m.table.WriteString(f.table.String())
	r := newMeter(t, loopHead+"steps: {call: {worker: writer, input: {text: a}}}\n", map[string]string{
		"outerloop.yaml":                        strings.Replace(projectFile, "may: [send]}", "may: [send], rate: [{calls: 5, per: 1m}]}", 1),
		"functions/workers/writer/charter.yaml": charterFile("writer", anyIn, textOut, "tools: {mail: [send]}"),
	})
	call := byHand(t, r.w, start(t, r.w, `{"key":"a"}`), "writer", "call", "c")
	r.charge("admit under a declared rate", atMost(1+1), func() { call.admit() })
	m.table.WriteString(r.table.String())
	docs, err := os.ReadFile("../../docs/store.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(docs), m.table.String()) {
		t.Errorf("docs/store.md does not hold the table as measured:\n%s", m.table.String())
	}
}

func (m *meter) run(input string) {
	t, w := m.t, m.w
	t.Helper()
	var run string
	m.charge("start a run", atMost(7), func() { run = start(t, w, input) })

	draft := byHand(t, w, run, "writer", "draft", "d")
	m.charge("admit: claim", atMost(1), func() { draft.admit() })
	w.now = w.now.Add(20 * time.Second)
	m.charge("heartbeat", atMost(1), func() { draft.beat() })
	m.charge("settle", atMost(4), func() { draft.settle(gate.SettleRequest{Result: result(`{"text":"hello"}`)}) })
	m.charge("admit or settle again: the recorded answer", atMost(0), func() { draft.admit() })

	model := byHand(t, w, run, "backup", "model", "m")
	m.charge("admit with money: claim and reserve", atMost(4), func() { model.admit() })
	m.charge("settle with money", atMost(4), func() {
		r := result(`{"text":"hello"}`)
		r.Cost = 1000
		model.settle(gate.SettleRequest{Result: r})
	})

	send := byHand(t, w, run, "sender", "send", "s")
	m.charge("admit of an action that needs approval: park", atMost(6), func() { send.admit() })
	list, err := w.coord.Approvals(w.ctx, coordinator.ApprovalsQuery{})
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	m.charge("register the token of an approval", allowed{none: true}, func() {
		op, _ := json.Marshal(map[string]any{"op": "register", "run": run, "gen": 1, "step": "send", "item": "", "token": "t"})
		if _, err := w.coord.Step(w.ctx, op); err != nil {
			t.Fatal(err)
		}
	})
	m.charge("decide and deliver", allowed{none: true}, func() {
		if err := decide(w, list[0], coordinator.Approve, "bob", ""); err != nil {
			t.Fatal(err)
		}
	})
	send = byHand(t, w, run, "sender", "send", "s2")
	m.charge("admit of an action with a resource: lease and claim", atMost(2), func() { send.admit() })
	var begun gate.BeginAnswer
	m.charge("begin with a resource", allowed{figure: 4, above: 4}, func() { begun = send.begin(`{"text":"hello"}`) })
	m.charge("settle with an action done, resource released", atMost(4+2+1), func() {
		send.settle(gate.SettleRequest{Result: result(`{"id":"m1"}`), Actions: done(begun.Entry)})
	})

	board := byHand(t, w, run, "board", "board", "b")
	board.admit()
	m.charge("settle with a fact", atMost(6), func() { board.settle(gate.SettleRequest{Result: result(`{"n":1}`)}) })
	m.charge("finish", atMost(6), func() {
		op, _ := json.Marshal(map[string]any{"op": "finish", "run": run, "gen": 1})
		if _, err := w.coord.Step(w.ctx, op); err != nil {
			t.Fatal(err)
		}
	})
	want(t, w, run, outerloop.StatusCompleted)
}

func result(output string) *gate.Result {
	return &gate.Result{Output: json.RawMessage(output), Confidence: outerloop.ConfidenceHigh, Reason: "sure"}
}

func (c *gateCall) beat() {
	c.t.Helper()
	if _, err := c.g.Heartbeat(c.w.ctx, gate.HeartbeatRequest{Call: c.call}); err != nil {
		c.t.Fatal(err)
	}
}

// step calls the coordinator's own function, as the machine does.
func (m *meter) step(op map[string]any) {
	m.t.Helper()
	raw, err := json.Marshal(op)
	if err != nil {
		m.t.Fatal(err)
	}
	if _, err := m.w.coord.Step(m.w.ctx, raw); err != nil {
		m.t.Fatal(err)
	}
}

func (m *meter) runFailing(input string) {
	t, w := m.t, m.w
	t.Helper()
	run := start(t, w, input)
	rule := func(step string) {
		m.step(map[string]any{"op": "rule", "run": run, "gen": 1, "step": step, "item": "", "token": "t", "error": "Worker.Fatal", "cause": "no"})
	}
	fails := gate.SettleRequest{Failure: &gate.Failure{Class: outerloop.ClassTransient, Message: "no answer"}}
	unneeded := byHand(t, w, run, "writer", "unneeded", "u")
	m.charge("admit: `when` says no", atMost(4), func() { unneeded.admit() })

	draft := byHand(t, w, run, "writer", "draft", "d")
	draft.admit()
	m.charge("settle: retryable", atMost(4), func() { draft.settle(fails) })
	m.charge("rule: skip", atMost(4), func() { rule("draft") })

	for i := range 4 {
		byHand(t, w, run, "backup", "crash", fmt.Sprint("c", i)).admit()
		w.now = w.now.Add(2 * time.Minute)
	}
	m.charge("admit: crash limit", atMost(4), func() { byHand(t, w, run, "backup", "crash", "c").admit() })
	rule("crash")

	look := byHand(t, w, run, "writer", "look", "l")
	look.admit()
	m.charge("settle: needs approval", atMost(6), func() { look.settle(gate.SettleRequest{Result: result(`{"text":"hello","n":1}`)}) })
	if err := decide(w, asked(t, w), coordinator.Approve, "bob", ""); err != nil {
		t.Fatal(err)
	}
	m.charge("admit after approval: settled as approved", atMost(4), func() { byHand(t, w, run, "writer", "look", "l2").admit() })

	mail := byHand(t, w, run, "writer", "mail", "m")
	mail.admit()
	mail.settle(gate.SettleRequest{Result: result(`{"text":"hello"}`)})
	review := byHand(t, w, run, "checker", "mail.review", "r")
	review.admit()
	m.charge("settle of a reviewer: a new visit", allowed{figure: 6, above: 2}, func() { review.settle(gate.SettleRequest{Result: result(`{"faults":["no"]}`)}) })
	rule("mail")

	send := byHand(t, w, run, "sender", "send", "s")
	send.admit()
	m.charge("begin", allowed{figure: 4, above: 2}, func() { send.begin(`{"text":"a"}`) })
	last := byHand(t, w, run, "writer", "last", "z")
	last.admit()
	last.settle(fails)
	m.charge("rule: halt", atMost(4), func() { rule("last") })
}

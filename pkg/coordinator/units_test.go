package coordinator_test

import (
	"encoding/json"
	"fmt"
	"os"
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

// meter counts the units of single operations over the fake, as DynamoDB charges them.
type meter struct {
	t     *testing.T
	w     *world
	table strings.Builder
}

// charge does an operation and holds what it costs to its ceiling: what
// PROTOCOL allows for the records, and one for each index entry set or removed.
func (m *meter) charge(what string, ceiling float64, do func()) {
	m.t.Helper()
	plain := m.w.ctx
	ctx, count := store.WithMeter(plain)
	m.w.ctx = ctx
	do()
	m.w.ctx = plain
	used := count.Usage()
	fmt.Fprintf(&m.table, "| %s | %g | %g |\n", what, used.WriteUnits, ceiling)
	if used.WriteUnits > ceiling {
		m.t.Errorf("%s costs %g write units, at most %g are allowed", what, used.WriteUnits, ceiling)
	}
}

// Every operation of the gate protocol stays within PROTOCOL's budget of
// writes, and docs/store.md says what it costs.
func TestUnitsOfOperations(t *testing.T) {
	t.Parallel()
	loop := files(unitsLoop, map[string]string{
		"functions/workers/backup/charter.yaml": strings.Replace(agentCharter, "worker: writer", "worker: backup", 1),
		"functions/workers/backup/prompt.md":    "Write.",
		"functions/workers/writer/charter.yaml": charterFile("writer", anyIn, textOut, "dispatch: {mode: queue, timeout: 10m}"),
		"outerloop.yaml": projectFile + `
models:
  default: {connection: bedrock, id: m, price: {input: 1.00 USD, output: 20.00 USD, as_of: "2026-11-01"}}
`,
	})
	m := &meter{t: t, w: worldOver(t, onFake(t), loop)}
	usual(m.w)
	m.run(`{"key":"a","ask":true}`)
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
	m.charge("start a run", 7, func() { run = start(t, w, input) })

	draft := byHand(t, w, run, "writer", "draft", "d")
	m.charge("admit: claim", 1, func() { draft.admit() })
	w.now = w.now.Add(20 * time.Second)
	m.charge("heartbeat", 1, func() { draft.beat() })
	m.charge("settle", 4, func() { draft.settle(gate.SettleRequest{Result: result(`{"text":"hello"}`)}) })
	m.charge("admit or settle again: the recorded answer", 0, func() { draft.admit() })

	model := byHand(t, w, run, "backup", "model", "m")
	m.charge("admit with money: claim and reserve", 4, func() { model.admit() })
	m.charge("settle with money", 4, func() {
		r := result(`{"text":"hello"}`)
		r.Cost = 1000
		model.settle(gate.SettleRequest{Result: r})
	})

	send := byHand(t, w, run, "sender", "send", "s")
	m.charge("admit of an action that needs approval: park", 6+2, func() { send.admit() })
	list, err := w.coord.Approvals(w.ctx, coordinator.ApprovalsQuery{})
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	m.charge("register the token of an approval", 1, func() {
		op, _ := json.Marshal(map[string]any{"op": "register", "run": run, "gen": 1, "step": "send", "item": "", "token": "t"})
		if _, err := w.coord.Step(w.ctx, op); err != nil {
			t.Fatal(err)
		}
	})
	m.charge("decide and deliver", 4+5, func() {
		if err := decide(w, list[0], coordinator.Approve, "bob", ""); err != nil {
			t.Fatal(err)
		}
	})
	send = byHand(t, w, run, "sender", "send", "s2")
	m.charge("admit of an action with a resource: lease and claim", 2, func() { send.admit() })
	var begun gate.BeginAnswer
	m.charge("begin", 8+2, func() { begun = send.begin(`{"text":"hello"}`) })
	m.charge("settle with an action done, resource released", 8+2, func() {
		send.settle(gate.SettleRequest{Result: result(`{"id":"m1"}`), Actions: done(begun.Entry)})
	})

	board := byHand(t, w, run, "board", "board", "b")
	board.admit()
	m.charge("settle with a fact", 6, func() { board.settle(gate.SettleRequest{Result: result(`{"n":1}`)}) })
	m.charge("finish", 6+3, func() {
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

package coordinator

import (
	"fmt"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/charter"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

const (
	// tokenBytes is how few bytes a token may stand for when a cost is estimated from above.
	tokenBytes = 3
	million    = 1_000_000
	// fixedText bounds in bytes what every request to a model says beside its data.
	fixedText = 2000
)

// estimate is the most that an attempt of the worker may cost, in micro-units:
// what its model may write in all its calls, and what it reads. Workers without
// a model cost nothing.
func (q *call) estimate(inputBytes int) int64 {
	agent := q.worker.Charter.Agent
	if q.worker.Charter.Kind != charter.KindAgent || agent == nil || q.def.Project == nil {
		return 0
	}
	for _, m := range q.def.Project.Models {
		if m.Name == agent.Model {
			use := q.mostUse(inputBytes)
			return use.calls * (use.written*m.Price.Output.Micro + use.read*m.Price.Input.Micro) / million
		}
	}
	return 0
}

// modelUse is what an attempt may ask of a model: calls, and the tokens that each writes and reads.
type modelUse struct{ calls, written, read int64 }

// mostUse is the most that an attempt may use: the worker's Agent is set.
func (q *call) mostUse(inputBytes int) modelUse {
	agent := q.worker.Charter.Agent
	use := modelUse{calls: int64(agent.MaxCalls) + 1, written: int64(agent.MaxTokens)}
	read := inputBytes + len(q.worker.Prompt) + len(q.worker.Document) + len(q.worker.Output.Raw()) + fixedText
	use.read = int64(read)/tokenBytes + (use.calls-1)*use.written
	return use
}

// reserve gives the attempt its money and takes the dead attempt's over, in
// one operation on the run; nil: no money is involved. exhausted: the run has
// not enough left.
func (q *call) reserve(step *record.Step, previous string) (op *store.Op, exhausted bool) {
	need, held := q.estimate(step.Input.Size), step.Reserved
	if need == 0 && held == 0 {
		return nil, false
	}
	if q.run.Numbers[record.RunLeft]+held < need {
		return nil, true
	}
	deltas := map[string]int64{record.RunLeft: held - need}
	where := append(record.OpenAt(q.run.Gen), store.AtLeast(record.RunLeft, need-held))
	if need > 0 {
		deltas[record.Reservation(q.attempt)] = need
	}
	step.Reserved = need
	add := store.Add(record.RunKey(q.run.ID), deltas, where...)
	if held > 0 {
		add = add.Dropping(record.Reservation(previous))
	}
	return &add, false
}

func (q *call) noMoney(inputBytes int) *fault {
	return q.exhausted(fmt.Sprintf("the budget has %s left, the next attempt may cost %s",
		money(q.run.Numbers[record.RunLeft]), money(q.estimate(inputBytes))))
}

// waitsForMoney says that the run has too little for the attempt now, but
// enough once what others have reserved comes back: that is no failure.
func (q *call) waitsForMoney(now time.Time, inputBytes int) *admission {
	need := q.estimate(inputBytes)
	left := q.run.Numbers[record.RunLeft]
	if s := q.step(); s != nil {
		left += s.Reserved
	}
	if need <= left || need > left+q.run.ReservedByOthers(q.step()) {
		return nil
	}
	out := later(now.Add(q.c.cfg.ResourcePoll), "waits for money that other steps have reserved")
	return &out
}

// spend is the run's part of a write that ends an attempt: its reservation
// comes back, its cost is spent, overshoot included. Without money it checks the run.
func (q *call) spend(step *record.Step, cost int64) store.Op {
	held := step.Reserved
	step.Reserved = 0
	step.Cost += cost
	if held == 0 && cost == 0 {
		return q.checkRun()
	}
	op := store.Add(record.RunKey(q.run.ID), map[string]int64{record.RunLeft: held - cost, record.RunSpent: cost}, record.OpenAt(q.run.Gen)...)
	if held > 0 {
		op = op.Dropping(record.Reservation(q.attempt))
	}
	return op
}

// money words micro-units without rounding what matters away.
func money(micros int64) string {
	text := fmt.Sprintf("%.6f", float64(micros)/micro)
	for text[len(text)-1] == '0' && text[len(text)-3] != '.' {
		text = text[:len(text)-1]
	}
	return text
}

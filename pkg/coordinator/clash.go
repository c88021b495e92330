package coordinator

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/loop"
)

// seeClash notes that two steps of one run, of which neither builds on the
// other, give one fact different values (R58).
func (q *delivered) seeClash(fact *record.Fact, before record.Value) {
	if fact.Run != q.run.ID || fact.Step == q.Step || before.Hash == fact.Value.Hash {
		return
	}
	other, _, known := lookup(q.def, fact.Step)
	if !known || buildsOn(q.node, other) {
		return
	}
	q.clashes = append(q.clashes, Alert{
		To: told(q.def), Kind: KindConflict, ID: record.ShortID("conflict", q.run.ID, fact.Name, fact.Step, q.Step), Loop: q.run.Loop, Run: q.run.ID, Step: q.Step,
		Text: fmt.Sprintf("%s and %s gave the fact %s different values in one run; the one of %s stands", fact.Step, q.Step, fact.Name, q.Step),
	})
}

// tellClashes tells of them once they are written.
func (q *delivered) tellClashes(ctx context.Context) {
	for _, a := range q.clashes {
		q.c.cfg.Notify(ctx, a)
	}
}

// buildsOn tells whether a step, or a block around it, waits for another step.
func buildsOn(n, other *loop.Node) bool {
	for at := n; at != nil; at = at.Parent {
		for _, need := range at.Needs {
			if need.Node == other || buildsOn(need.Node, other) {
				return true
			}
		}
	}
	return false
}

// doneTwice finds actions of a run that were done with the same payload under
// two keys, and a worker that was paid for the same input again and again (R58).
type doneTwice struct {
	actions, paid map[string][]string
}

// paidOften is how many steps may pay for the same work before it is told.
const paidOften = 3

func (d *doneTwice) look(s *record.Step) {
	if s.Entry == "" && s.Cost == 0 || s.Outcome != outerloop.OutcomeCompleted {
		return
	}
	input := ""
	for _, e := range s.Log {
		if e.Input != "" {
			input = e.Input // of the last attempt
		}
	}
	if input == "" {
		return
	}
	if d.actions == nil {
		d.actions, d.paid = map[string][]string{}, map[string][]string{}
	}
	key := s.Worker + "\x00" + input
	switch {
	case s.Entry == "":
		d.paid[key] = append(d.paid[key], s.Name)
	case !slices.Contains(d.actions[key], s.Entry):
		d.actions[key] = append(d.actions[key], s.Entry)
	}
}

// tell tells of them, once for each run.
func (d *doneTwice) tell(ctx context.Context, c *Coordinator, run *record.Run) {
	d.tellPaid(ctx, c, run)
	first, pairs := "", 0
	for _, entries := range d.actions {
		if len(entries) < 2 {
			continue
		}
		text := fmt.Sprintf("%s and %s", entries[0], entries[1])
		if pairs++; first == "" || text < first {
			first = text
		}
	}
	if pairs == 0 {
		return
	}
	text := first + " were done with the same payload: does the key tell apart what it should not?"
	if pairs > 1 {
		text += fmt.Sprintf(" (and %d other pairs)", pairs-1)
	}
	c.tellOf(ctx, run, Alert{Kind: KindTwice, ID: run.ID, Text: text})
}

func (d *doneTwice) tellPaid(ctx context.Context, c *Coordinator, run *record.Run) {
	first, others := "", 0
	for key, steps := range d.paid {
		if len(steps) < paidOften {
			continue
		}
		worker, _, _ := strings.Cut(key, "\x00")
		text := fmt.Sprintf("%s was paid %d times for the same input, by %s", worker, len(steps), strings.Join(steps[:paidOften], ", "))
		if others++; first == "" || text < first {
			first = text
		}
	}
	if others == 0 {
		return
	}
	text := first + ": could one step do it for all?"
	if others > 1 {
		text += fmt.Sprintf(" (and %d other inputs)", others-1)
	}
	c.tellOf(ctx, run, Alert{Kind: KindRepeated, ID: run.ID, Text: text})
}

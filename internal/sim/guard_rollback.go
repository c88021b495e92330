package sim

import (
	"slices"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
)

// undone: I20 a completed rollback has undone what it lists, each once, the last
// first, and nothing else.
func (g *guard) undone(run *record.Run) {
	if run.Rollback == nil || run.Status != outerloop.StatusCompleted {
		return
	}
	last := -1
	for _, step := range run.Rollback.Steps {
		key := record.ProviderKey(run.Loop, step.Entry)
		at := slices.Index(g.s.outside.done, step.Entry)
		switch {
		case g.s.outside.effects[key] != 1:
			g.bad("I20", "%s of rollback %s was done %d times", step.Entry, run.ID, g.s.outside.effects[key])
		case at < last:
			g.bad("I20", "%s was undone before what was done after it", step.Undoes)
		case at < slices.Index(g.s.outside.done, step.Undoes):
			g.bad("I20", "%s was undone before it was done", step.Undoes)
		}
		last = max(last, at)
	}
}

package loop

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/charter"
	"github.com/outerloop-dev/outerloop/pkg/schedule"
)

const (
	// manyWorkers is from where a loop is better divided (R10).
	manyWorkers = 15
	// levels of loops: two are normal, three get a warning, more are an error.
	warnLevels, maxLevels = 3, 3
)

// structure checks the loop as a whole, after its rules were compiled.
func (c *checker) structure() {
	c.eachNode(c.def.Body, c.effect)
	if c.problems.Errors() == 0 { // a wrong reference would make its step look unused
		c.eachNode(c.def.Body, c.unused)
	}
	c.manyWorkers()
	c.nesting()
	c.rhythm()
}

// effect demands a person before an action with an effect, below limited autonomy (R46).
func (c *checker) effect(n *Node) {
	a := n.Action
	if a == nil || !a.Declared.Consequential() || a.Stage.AtLeast(charter.StageLimited) {
		return
	}
	if n.Step.Approval != nil || a.Stage != charter.StageApproval {
		return
	}
	what := "cannot be undone"
	if a.Declared.Effect != charter.EffectNone {
		what = "has a " + string(a.Declared.Effect) + " effect"
	}
	c.faultSee(n.Step.Source.Get("action"), a.Declared.Source, "E220", fmt.Sprintf("%s %s and starts at the stage %q, so a person must approve it. Add `approval` to the step, or start it at `limited` in the charter.", a.Declared.Name, what, a.Stage))
}

// unused warns of a step whose output nobody reads and that changes nothing.
func (c *checker) unused(n *Node) {
	if n.Kind != KindWorker && n.Kind != KindRoute && n.Kind != KindLoop {
		return
	}
	if n.Action != nil || len(n.Writes) > 0 || n.Emit != nil || n.Step.Approval != nil || len(n.Step.Accept) > 0 || n.Kind == KindLoop || c.isRead(n) {
		return
	}
	if n.Parent != nil && n.Parent.Kind == KindBranches {
		return
	}
	c.fault(c.labelOf(n), "W303", "Nobody reads the output of %q, and it writes no fact, does no action and sends no event. Use its output, or remove the step.", n.Name)
}

// isRead tells whether any expression of the loop reads the node's output or record.
func (c *checker) isRead(n *Node) bool {
	read := false
	c.eachNode(c.def.Body, func(other *Node) {
		read = read || slices.ContainsFunc(c.depends[other], func(d Dependency) bool { return d.Node == n })
	})
	for body := range c.bodies() {
		if body.Output != nil {
			read = read || slices.Contains(body.Output.Uses.Outputs, n) || slices.Contains(body.Output.Uses.About, n)
		}
	}
	if out := c.def.Output; out != nil {
		read = read || slices.Contains(out.Uses.Outputs, n) || slices.Contains(out.Uses.About, n)
	}
	for _, accept := range c.def.Accept {
		if accept.Rule != nil {
			read = read || slices.Contains(accept.Rule.Uses.Outputs, n) || slices.Contains(accept.Rule.Uses.About, n)
		}
	}
	return read
}

// bodies goes through all bodies below the loop's own.
func (c *checker) bodies() func(yield func(*Body) bool) {
	return func(yield func(*Body) bool) {
		goOn := true
		c.eachNode(c.def.Body, func(n *Node) {
			if goOn && n.Body != nil {
				goOn = yield(n.Body)
			}
		})
	}
}

func (c *checker) manyWorkers() {
	steps := 0
	var largest *Node
	c.eachNode(c.def.Body, func(n *Node) {
		if n.Kind == KindWorker || n.Kind == KindRoute {
			steps++
		}
		if n.Body != nil && n.Kind != KindCase && (largest == nil || len(n.Body.Nodes) > len(largest.Body.Nodes)) {
			largest = n
		}
	})
	workers := len(c.def.Workers)
	if workers <= manyWorkers {
		return
	}
	advice := "Make loops of their own of steps that belong together, and call them with `loop:`."
	if largest != nil && len(largest.Body.Nodes) > 2 {
		advice = fmt.Sprintf("The steps of %q would make a loop of their own; call it with `loop:`.", largest.Name)
	}
	c.fault(c.loop.Source.Key("steps"), "W302", "This loop uses %d workers in %d steps, more than %d: that is hard to oversee. %s", workers, steps, manyWorkers, advice)
}

// nesting checks how deep loops call loops.
func (c *checker) nesting() {
	c.eachNode(c.def.Body, func(n *Node) {
		if n.Sub == nil {
			return
		}
		chain := deepest(n.Sub, []string{c.loop.Name})
		at := n.Step.Source.Get("loop")
		advice := fmt.Sprintf("Flatten: let %q call %q itself, and pass on what it needs.", chain[0], chain[len(chain)-1])
		switch {
		case len(chain) > maxLevels:
			c.fault(at, "E207", "Loops call loops over %d levels: %s. %d are the most. %s", len(chain), strings.Join(chain, " → "), maxLevels, advice)
		case len(chain) == warnLevels:
			c.fault(at, "W301", "Loops call loops over %d levels: %s. Two are normal. %s", len(chain), strings.Join(chain, " → "), advice)
		}
	})
}

// deepest is the longest chain of loops from here down.
func deepest(d *Definition, above []string) []string {
	chain := append(slices.Clone(above), d.Loop.Name)
	longest := chain
	for _, n := range d.Nodes {
		if n.Sub == nil {
			continue
		}
		if found := deepest(n.Sub, chain); len(found) > len(longest) {
			longest = found
		}
	}
	return longest
}

// rhythm warns of a schedule that fires more often than its subject changes:
// the further runs would be duplicates.
func (c *checker) rhythm() {
	if c.def.Subject == nil {
		return
	}
	least := period(c.def.Subject)
	if least == 0 {
		return
	}
	for _, t := range c.def.Triggers {
		if t.Schedule == nil {
			continue
		}
		if interval, repeats := t.Schedule.Interval(); repeats && interval < least {
			c.faultSee(t.Source.Get("schedule"), c.loop.Subject.Node, "W304", fmt.Sprintf("This fires every %s, but the subject changes every %s only: the runs in between would be duplicates.", schedule.FormatDuration(interval), schedule.FormatDuration(least)))
		}
	}
}

// periods are how long the functions of a time keep their value, at least.
var periods = []struct {
	function string
	hours    int
}{{"day(", 23}, {"week(", 7*24 - 1}, {"month(", 28*24 - 1}, {"quarter(", 90*24 - 1}}

// period is how long a subject made of run.as_of alone keeps its value; 0: it
// holds something else as well.
func period(subject *Phrase) time.Duration {
	refs := subject.References()
	if len(refs) != 1 || refs[0].String() != "run.as_of" {
		return 0
	}
	for _, p := range periods {
		if strings.Contains(subject.Source(), p.function+"run.as_of)") {
			return time.Duration(p.hours) * time.Hour
		}
	}
	return 0
}

package loop

import (
	"fmt"
	"slices"

	"github.com/outerloop-dev/outerloop/pkg/schema"
)

func (c *checker) compileSub(n *Node) {
	name := n.Step.Loop
	at := n.Step.Source.Get("loop")
	sub, exists := c.around.Loops[name]
	if !exists {
		names := make([]string, 0, len(c.around.Loops))
		for other := range c.around.Loops {
			names = append(names, other)
		}
		slices.Sort(names)
		message := fmt.Sprintf("There is no loop %q.", name)
		if nearest := schema.Nearest(name, names); nearest != "" {
			message += fmt.Sprintf(" Did you mean %q?", nearest)
		}
		c.fault(at, "E209", "%s", message)
	}
	if sub == nil {
		c.incomplete = true // its problems are reported there
		return
	}
	n.Sub = sub
	n.OutputType = sub.OutputType
	for _, w := range sub.Workers {
		c.use(w)
	}
	c.share(n)
}

// share checks the sub-loop's part of the budget.
func (c *checker) share(n *Node) {
	b := n.Step.Budget
	if b == nil {
		return
	}
	if b.Deadline.Set() || b.Reviews != nil || b.Approvals != nil || b.PerDay.Micro != 0 || b.Source.Get("otherwise") != nil {
		c.fault(b.Source, "E239", "A sub-loop's share is a cost alone: its other bounds are its own. Write {cost: …}.")
	}
	if b.Source.Get("cost") == nil {
		c.fault(b.Source, "E111", "A sub-loop's share needs \"cost\".")
		return
	}
	whole := c.loop.Budget.Cost
	if b.Cost.Micro > whole.Micro || b.Cost.Currency != whole.Currency && whole.Currency != "" {
		c.fault(b.Source.Find("cost"), "E239", "The share of %s is more than the run's budget of %s, or in another currency.", b.Cost, whole)
	}
}

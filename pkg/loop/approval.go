package loop

import (
	"slices"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/charter"
	"github.com/outerloop-dev/outerloop/pkg/registry"
	"github.com/outerloop-dev/outerloop/pkg/schedule"
	"github.com/outerloop-dev/outerloop/pkg/source"
)

// approval finds how people are asked, and whether every reason to ask can ask.
func (c *checker) approval(n *Node, after extras) {
	names := after
	if n.Action != nil {
		names = nil
	}
	a := n.Step.Approval.completed(c.loop.Defaults.Approval)
	why := c.reasonsToAsk(n)
	p := place{node: n}
	if a.Source == nil {
		for _, reason := range why {
			c.fault(reason.at, "E216", "%s, but neither the step nor `defaults` says who approves, within what time, and what happens then. Add `approval`.", reason.what)
		}
		return
	}
	if n.Step.Approval == nil && len(why) == 0 && !(c.mayDistrust(n) && c.wholeApproval(a)) {
		return
	}
	rule := &ApprovalRule{
		Declared: n.Step.Approval != nil, Approvers: a.Approvers, Within: a.Within, Expired: a.Expired, Rejected: a.Rejected,
		People: max(1, a.People), Remind: a.Remind, Escalate: a.Escalate,
	}
	if n.Step.Approval != nil {
		rule.When = c.rule(p, n.Step.Approval.When, names)
	}
	rule.Ask = c.phrase(p, a.Ask, names)
	for _, never := range a.Never {
		rule.Never = append(rule.Never, c.phrase(p, never, nil))
	}
	n.Approval = rule
	c.completeApproval(n, a, why)
}

// mayDistrust tells whether finished work can be such that a person must look:
// a model's, of a confidence that does not reach its charter's risk (R45), or
// one that the charter escalates. Work without a model is sure unless it says
// otherwise; where it does, an exception asks.
func (c *checker) mayDistrust(n *Node) bool {
	if n.Action != nil {
		return false
	}
	authors := []*Worker{n.Worker, n.Backup}
	for _, row := range n.Routes {
		authors = append(authors, row.Worker, row.Backup)
	}
	table := registry.DefaultConfidence()
	if c.around.Project != nil {
		table = c.around.Project.Confidence
	}
	least := table.Passes(outerloop.ConfidenceLow, n.Review != nil)
	return slices.ContainsFunc(authors, func(w *Worker) bool {
		if w == nil {
			return false
		}
		return len(w.Charter.Escalate) > 0 || w.Charter.Kind == charter.KindAgent && !w.Charter.Risk.AtMost(least)
	})
}

// wholeApproval tells whether defaults.approval says all that a request needs,
// within the run's time: it may then ask where no step declares an approval.
func (c *checker) wholeApproval(a Approval) bool {
	if m := c.loop.Budget.Deadline.Moment; m != nil {
		if deadline, fixed := m.After(); fixed && a.Within >= deadline {
			return false
		}
	}
	return a.Within > 0 && len(a.Approvers) > 0 && a.Expired != "" && a.Rejected != ""
}

// askingTool is the first tool of an agent's step that may ask a person; empty: none.
func (c *checker) askingTool(n *Node) string {
	if n.Worker == nil || n.Worker.Charter.Agent == nil {
		return ""
	}
	for _, name := range n.Worker.Charter.Agent.Calls {
		if tool := c.around.Workers[name]; tool != nil && mayAsk(tool.Charter) {
			return name
		}
	}
	return ""
}

// mayAsk tells whether a limit or an action of a charter may ask a person.
func mayAsk(w *charter.Charter) bool {
	return slices.ContainsFunc(w.Limits, func(l charter.Limit) bool { return l.Otherwise == charter.OtherwiseApprove }) ||
		slices.ContainsFunc(w.Actions, func(a charter.Action) bool { return w.Stage(a) == charter.StageApproval })
}

// completed fills in what the approval leaves out; both may be nil.
func (a *Approval) completed(by *Approval) Approval {
	out := Approval{}
	if a != nil {
		out = *a
	}
	if by == nil {
		return out
	}
	if !out.Ask.Set() {
		out.Ask = by.Ask
	}
	if out.Approvers == nil {
		out.Approvers = by.Approvers
	}
	if out.Never == nil {
		out.Never = by.Never
	}
	if out.Escalate == nil {
		out.Escalate = by.Escalate
	}
	fill(&out.Within, by.Within)
	fill(&out.Remind, by.Remind)
	fill(&out.Expired, by.Expired)
	fill(&out.Rejected, by.Rejected)
	fill(&out.People, by.People)
	if out.Source == nil {
		out.Source = by.Source
	}
	return out
}

func fill[T comparable](into *T, from T) {
	var zero T
	if *into == zero {
		*into = from
	}
}

// reason is why people may be asked about a step.
type reason struct {
	at   *source.Node
	what string
	// words: the reason brings its own question.
	words bool
}

func (c *checker) reasonsToAsk(n *Node) []reason {
	var out []reason
	for i, limit := range n.Step.Limits {
		if limit.Otherwise == charter.OtherwiseApprove {
			out = append(out, reason{n.Step.Limits[i].Rule.Node, "This limit lets a person approve", true})
		}
	}
	if n.Worker != nil {
		for _, limit := range n.Worker.Charter.Limits {
			if limit.Otherwise == charter.OtherwiseApprove {
				out = append(out, reason{n.Step.Source.Get("worker"), "A limit in the charter of " + n.Step.Worker + " lets a person approve", true})
			}
		}
	}
	if v := n.Step.Review; v != nil && v.Otherwise == charter.OtherwiseApprove {
		out = append(out, reason{v.Source.Find("otherwise"), "After the last revision a person may approve", true})
	}
	if tool := c.askingTool(n); tool != "" {
		out = append(out, reason{n.Step.Source.Get("worker"), n.Step.Worker + " calls " + tool + " as a tool, which may ask a person", true})
	}
	if a := n.Action; a != nil && a.Stage == charter.StageApproval {
		out = append(out, reason{n.Step.Source.Get("action"), "At the stage `approval` every " + a.Declared.Name + " asks a person", false})
	}
	return out
}

// tried tells whether an approval gives a key at all. Where its value does not
// fit, that was reported when it was read.
func (c *checker) tried(n *Node, key string) bool {
	for _, a := range []*Approval{n.Step.Approval, c.loop.Defaults.Approval} {
		if a != nil && a.Source.Get(key) != nil {
			return true
		}
	}
	return false
}

// completeApproval checks what every approval must say.
func (c *checker) completeApproval(n *Node, a Approval, why []reason) {
	at := a.Source
	if n.Step.Approval != nil {
		at = n.Step.Source.Key("approval")
	}
	if a.Within == 0 && !c.tried(n, "within") {
		c.fault(at, "E214", "An approval without a time limit would wait for ever. Add `within` here or in defaults.approval.")
	}
	for _, missing := range []struct {
		key   string
		given bool
	}{{"approvers", len(a.Approvers) > 0}, {"expired", a.Expired != ""}, {"rejected", a.Rejected != ""}} {
		if !missing.given && !c.tried(n, missing.key) {
			c.fault(at, "E216", "The approval does not say %q. Add it here or in defaults.approval.", missing.key)
		}
	}
	if !a.Ask.Set() {
		c.needsWords(n, at, why)
	}
	c.approvalTimes(n, a)
	c.approvers(n, a)
	if a.Rejected == EndingRevise && (n.Action != nil || n.Kind == KindLoop) {
		c.fault(a.Source.Find("rejected"), "E251", "There is nothing to revise here: an action's input comes from other steps. Write skip or halt for %q.", n.Name)
	}
	if a.Expired == EndingProceed && n.Action != nil && n.Action.Declared.Consequential() {
		c.fault(a.Source.Find("expired"), "E252", "Silence is no approval of an action with an effect. Write skip or halt.")
	}
}

// needsWords reports a reason that brings no question of its own.
func (c *checker) needsWords(n *Node, at *source.Node, why []reason) {
	if n.Step.Approval != nil {
		c.fault(at, "E216", "The approval does not say what it asks. Add `ask`.")
		return
	}
	for _, reason := range why {
		if !reason.words && !n.Action.Declared.Consequential() {
			c.fault(reason.at, "E216", "%s, but nothing says what to ask. Add `approval: {ask: …}` to the step.", reason.what)
		}
	}
}

func (c *checker) approvalTimes(n *Node, a Approval) {
	deadline, fixed := time.Duration(0), false
	if m := c.loop.Budget.Deadline.Moment; m != nil {
		deadline, fixed = m.After()
	}
	at := a.Source.Find("within")
	if fixed && a.Within >= deadline {
		c.fault(at, "E215", "The approval may take %s, but the whole run must be done within %s. Shorten one or lengthen the other.", schedule.FormatDuration(a.Within), schedule.FormatDuration(deadline))
	}
	if a.Remind > 0 && a.Within > 0 && a.Remind >= a.Within {
		c.fault(a.Source.Find("remind"), "E215", "The reminder comes after the time is over (%s).", schedule.FormatDuration(a.Within))
	}
	for _, stage := range a.Escalate {
		if a.Within > 0 && stage.After >= a.Within {
			c.fault(stage.Source.Find("after"), "E215", "The escalation comes after the time is over (%s).", schedule.FormatDuration(a.Within))
		}
	}
	if n.Within > 0 && a.Within > n.Within {
		c.fault(c.keyOf(n, "within"), "E215", "The step must be done within %s, but its approval may take %s.", schedule.FormatDuration(n.Within), schedule.FormatDuration(a.Within))
	}
}

// approvers checks the groups, and that they have enough people.
func (c *checker) approvers(n *Node, a Approval) {
	people := map[string]bool{}
	list := a.Source.Get("approvers")
	if list == nil && c.loop.Defaults.Approval != nil {
		list = c.loop.Defaults.Approval.Source.Get("approvers")
	}
	for i, name := range a.Approvers {
		at := c.labelOf(n)
		if list != nil && i < len(list.Items) {
			at = list.Items[i]
		}
		c.group(name, at)
		group, _ := c.around.Project.Group(name)
		for _, member := range group.Members {
			people[member] = true
		}
	}
	for _, stage := range a.Escalate {
		for _, name := range stage.To {
			c.group(name, stage.Source.Find("to"))
		}
	}
	if len(people) > 0 && len(people) < a.People {
		c.fault(a.Source.Find("people"), "E253", "%d people must approve, but the groups have %d.", a.People, len(people))
	}
}

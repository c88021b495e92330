package loop

import (
	"slices"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/charter"
	"github.com/outerloop-dev/outerloop/pkg/schedule"
	"github.com/outerloop-dev/outerloop/pkg/schema"
	"github.com/outerloop-dev/outerloop/pkg/source"
)

// failure finds the effective failure rule: the step's, completed by the defaults key by key.
func (c *checker) failure(n *Node) {
	effective := n.Step.OnFailure.completed(c.loop.Defaults.OnFailure)
	if n.Kind == KindEach || n.Kind == KindBranches {
		// The join says what happens to the block; its failure rule is for the list and the join alone.
		effective = n.Step.OnFailure.completed(&FailureRule{Then: n.Join.Otherwise})
	}
	if n.Kind == KindSwitch || n.Kind == KindWait {
		effective.Retry = nil
		if n.Step.OnFailure != nil && n.Step.OnFailure.Retry != nil {
			c.fault(n.Step.OnFailure.Source.Key("retry"), "E205", "A %s is not retried: it does no work.", n.Kind)
		}
	}
	if effective.Then == "" && (n.Join == nil || n.Join.Source != nil) && !c.triedThen(n) {
		c.fault(c.labelOf(n), "E213", "%q does not say what happens when it fails. Add on_failure: {then: skip} (or halt, ask, {substitute: value}) to the step or to `defaults`.", n.Name)
	}
	p := place{node: n}
	rules := &FailureRules{Then: effective.Then, Say: c.phrase(p, effective.Say, nil), Substitute: c.tree(p, effective.Substitute, nil)}
	seen := map[outerloop.Class]bool{}
	for _, retry := range effective.Retry {
		if seen[retry.Class] {
			continue
		}
		seen[retry.Class] = true
		compiled := RetryRule{Retry: retry}
		for _, field := range retry.Input {
			compiled.Fields = append(compiled.Fields, NamedTree{Name: field.Name, Tree: c.tree(p, field.Value, nil)})
		}
		rules.Retry = append(rules.Retry, compiled)
	}
	n.Failure = rules
	c.retriesDeclared(n)
}

// triedThen tells whether some `then` stands there, though it could not be read.
func (c *checker) triedThen(n *Node) bool {
	for _, rule := range []*FailureRule{n.Step.OnFailure, c.loop.Defaults.OnFailure} {
		if rule != nil && rule.Source.Get("then") != nil {
			return true
		}
	}
	return false
}

// completed fills in what the rule leaves out; both may be nil.
func (f *FailureRule) completed(by *FailureRule) FailureRule {
	out := FailureRule{}
	if f != nil {
		out = *f
	}
	if by == nil {
		return out
	}
	if out.Retry == nil {
		out.Retry = by.Retry
	}
	if out.Then == "" {
		out.Then, out.Substitute = by.Then, by.Substitute
	}
	if !out.Say.Set() {
		out.Say = by.Say
	}
	return out
}

// retriesDeclared warns of a step's own retries for classes that its worker never fails with.
func (c *checker) retriesDeclared(n *Node) {
	if n.Kind != KindWorker || n.Step.OnFailure == nil {
		return
	}
	w := c.around.Workers[n.Step.Worker]
	if w == nil {
		return
	}
	for _, retry := range n.Step.OnFailure.Retry {
		always := retry.Class == outerloop.ClassAny || retry.Class == outerloop.ClassTimeout || retry.Class == outerloop.ClassInvalidOutput ||
			retry.Class == outerloop.ClassMissingInput || retry.Class == outerloop.ClassConflict
		if !always && !slices.Contains(w.Charter.FailsWith, retry.Class) {
			c.fault(n.Step.OnFailure.Source.Get("retry").Key(string(retry.Class)), "W306", "The charter of %s does not list %s under fails_with, so this retry never happens.", w.Charter.Worker, retry.Class)
		}
	}
}

// substitute compares a substitute with what the step would have given.
func (c *checker) substitute(n *Node) {
	if n.Failure == nil || n.Failure.Substitute == nil || n.OutputType == nil {
		return
	}
	at := c.substituteNode(n)
	for _, fault := range schema.Compatible(n.Failure.Substitute.Type(), n.OutputType) {
		c.fault(pointedAt(at, fault.Path), "E120", "The substitute takes the place of the output, but %s", sentence(fault.String()))
	}
}

func (c *checker) substituteNode(n *Node) *source.Node {
	if f := n.Step.OnFailure; f != nil && f.Substitute.Set() {
		return f.Substitute.Node
	}
	return c.loop.Defaults.OnFailure.Substitute.Node
}

// action resolves the business action of a step.
func (c *checker) action(n *Node) {
	s := n.Step
	if s.Action == "" {
		for _, key := range []string{"key", "resource"} {
			if s.Source.Get(key) != nil && key == "key" {
				c.fault(s.Source.Key(key), "E205", "`key` belongs to an action: name it with `action`.")
			}
		}
		n.Action = c.leaseOnly(n)
		return
	}
	w := n.Worker
	if w == nil {
		return
	}
	at := s.Source.Get("action")
	declared, ok := w.Charter.Action(s.Action)
	if !ok {
		names := []string{}
		for _, a := range w.Charter.Actions {
			names = append(names, a.Name)
		}
		c.faultSee(at, w.Charter.Source.Key("actions"), "E219", "The charter of "+w.Charter.Worker+" allows no action \""+s.Action+"\""+suggestion(s.Action, names))
		return
	}
	p := place{node: n}
	compiled := *w.Actions[s.Action]
	compiled.Stage = w.Charter.Stage(declared)
	if s.Key.Set() {
		compiled.Key = c.phrase(p, s.Key, nil)
	}
	if s.Resource.Set() {
		compiled.Resource = c.phrase(p, s.Resource, nil)
	}
	n.Action = &compiled
	c.actionKey(n)
	if w.Charter.Authority != charter.AuthorityExecute {
		c.faultSee(at, w.Charter.Source.Key("authority"), "E244", w.Charter.Worker+" may only "+string(w.Charter.Authority)+", not execute. Raise the authority in its charter, or leave the action to another worker.")
	}
	if n.Backup != nil {
		if _, also := n.Backup.Charter.Action(s.Action); !also {
			c.fault(s.Source.Get("backup"), "E226", "The backup's charter does not allow the action %q.", s.Action)
		}
	}
}

func suggestion(name string, names []string) string {
	slices.Sort(names)
	if nearest := schema.Nearest(name, names); nearest != "" {
		return ". Did you mean \"" + nearest + "\"?"
	}
	return ". Add it there under `actions`, with its effect."
}

// leaseOnly is for a step that does no action but holds a resource.
func (c *checker) leaseOnly(n *Node) *ActionRule {
	if !n.Step.Resource.Set() {
		return nil
	}
	c.fault(n.Step.Source.Key("resource"), "E205", "`resource` belongs to an action: name it with `action`.")
	return nil
}

// actionKey checks that an action's key tells runs and items apart.
func (c *checker) actionKey(n *Node) {
	key := n.Action.Key
	if key == nil {
		return
	}
	at := n.Step.Source
	if n.Step.Key.Set() {
		at = n.Step.Key.Node
	}
	uses := key.Uses
	if len(uses.Outputs)+len(uses.Items)+len(uses.About)+len(uses.Facts) == 0 && !uses.Input && !uses.Work && !uses.Run {
		c.fault(at, "E218", "This key is the same for ever: the action would happen once and never again. Name what it is done for, such as ${run.subject}.")
		return
	}
	var block *Node
	for p := n.Parent; p != nil && block == nil; p = p.Parent {
		if p.Kind == KindEach {
			block = p
		}
	}
	if block == nil || uses.Work || slices.Contains(uses.Items, block) {
		return
	}
	for _, read := range uses.Outputs {
		if within(read, block) {
			return
		}
	}
	c.fault(at, "E218", "This key is the same for every item of %q: the action would happen for the first one only. Add the item, such as ${%s.id}.", block.Name, block.Step.Each.As)
}

// limits compiles the step's limits, then adds the charter's.
func (c *checker) limits(n *Node, after extras) {
	p := place{node: n}
	for _, limit := range n.Step.Limits {
		compiled := LimitRule{Rule: c.rule(p, limit.Rule, after), Otherwise: limit.Otherwise, Say: c.phrase(p, limit.Say, after)}
		compiled.Before = compiled.Rule != nil && !compiled.Rule.Uses.AfterWork()
		if n.Action != nil && compiled.Rule != nil && !compiled.Before {
			c.fault(limit.Rule.Node, "E221", "A limit on an action is checked before it happens, when there is no output yet. Use only what is known before: the input, other steps, facts.")
		}
		n.Limits = append(n.Limits, compiled)
	}
	if n.Worker == nil {
		return
	}
	for i, limit := range n.Worker.Limits {
		if n.Action != nil && limit.Rule != nil && !limit.Before {
			declared := n.Worker.Charter.Limits[i]
			c.faultSee(n.Step.Source.Get("action"), declared.Rule.Node, "E221", "A limit in the charter of "+n.Worker.Charter.Worker+" reads the output, which does not exist before the action. Write that limit over the input.")
		}
		n.Limits = append(n.Limits, limit)
	}
}

// review compiles the check by another worker.
func (c *checker) review(n *Node, after extras) {
	v := n.Step.Review
	if v == nil {
		return
	}
	p := place{node: n}
	w := c.worker(v.Worker, v.Source.Get("worker"))
	compiled := &ReviewRule{Worker: w, Revisions: v.Revisions, Otherwise: v.Otherwise, Input: c.tree(p, v.Input, after)}
	verdict := anything
	if w != nil {
		compiled.Mode = mode(w, n)
		verdict = w.Output.Type()
		if compiled.Input != nil {
			c.fits(v.Input, compiled.Input.Type(), w.Input, w.Charter.Worker)
		}
	}
	compiled.Pass = c.verdictRule(p, v, after.with("verdict", verdict), w)
	n.Review = compiled
	if n.Action != nil {
		c.fault(n.Step.Source.Key("review"), "E249", "A review looks at work that is done, and an action cannot be taken back. Review the step that prepares it.")
	}
	for _, author := range []string{n.Step.Worker, n.Step.Backup} {
		if author != "" && author == v.Worker {
			c.fault(v.Source.Find("worker"), "E217", "%q is the author: nobody reviews their own work. Name another worker.", author)
		}
	}
	for _, row := range n.Routes {
		if row.Worker != nil && row.Worker == w || row.Backup != nil && row.Backup == w {
			c.fault(v.Source.Find("worker"), "E217", "%q may be the author: nobody reviews their own work. Name another worker.", v.Worker)
		}
	}
}

func (c *checker) verdictRule(p place, v *Review, names extras, w *Worker) *Rule {
	before := len(c.problems)
	pass := c.rule(p, v.Pass, names)
	if w != nil {
		for i := before; i < len(c.problems); i++ {
			if c.problems[i].Code == "E117" && c.problems[i].See == "" {
				c.problems[i].See = w.Charter.Output.Path
			}
		}
	}
	if pass != nil && !pass.Uses.Verdict {
		c.fault(v.Pass.Node, "E250", "This rule does not look at `verdict`, the reviewer's output, so the review decides nothing.")
	}
	return pass
}

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
	if n.Step.Approval == nil && len(why) == 0 {
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
	if a := n.Action; a != nil && a.Stage == charter.StageApproval {
		out = append(out, reason{n.Step.Source.Get("action"), "At the stage `approval` every " + a.Declared.Name + " asks a person", false})
	}
	return out
}

// completeApproval checks what every approval must say.
func (c *checker) completeApproval(n *Node, a Approval, why []reason) {
	at := a.Source
	if n.Step.Approval != nil {
		at = n.Step.Source.Key("approval")
	}
	if a.Within == 0 {
		c.fault(at, "E214", "An approval without a time limit would wait for ever. Add `within` here or in defaults.approval.")
	}
	for _, missing := range []struct {
		key   string
		given bool
	}{{"approvers", len(a.Approvers) > 0}, {"expired", a.Expired != ""}, {"rejected", a.Rejected != ""}} {
		if !missing.given {
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

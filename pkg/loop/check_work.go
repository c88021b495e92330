package loop

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
	compiled.Pass = c.verdictRule(p, v, after.with("verdict", verdict))
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

func (c *checker) verdictRule(p place, v *Review, names extras) *Rule {
	pass := c.rule(p, v.Pass, names)
	if pass != nil && !pass.Uses.Verdict {
		c.fault(v.Pass.Node, "E250", "This rule does not look at `verdict`, the reviewer's output, so the review decides nothing.")
	}
	return pass
}

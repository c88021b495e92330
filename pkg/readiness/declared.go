package readiness

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/outerloop-dev/outerloop/pkg/charter"
	"github.com/outerloop-dev/outerloop/pkg/exposure"
	"github.com/outerloop-dev/outerloop/pkg/loop"
	"github.com/outerloop-dev/outerloop/pkg/schedule"
)

// checker answers what the declarations show.
type checker struct{ def *loop.Definition }

// steps are the nodes that have a rule of their own.
func (c checker) steps() []*loop.Node {
	var out []*loop.Node
	for _, n := range c.def.Nodes {
		if n.Step != nil {
			out = append(out, n)
		}
	}
	return out
}

func (c checker) schemas() Line {
	l := Line{ID: "schemas", Asks: "Is everything checked that goes in and comes out?"}
	var open []string
	for name, w := range c.def.Workers {
		if w.Input == nil || w.Output == nil {
			return l.lacking("%s has no schema for its input or output", name)
		}
		if w.Output.Type().Open {
			open = append(open, name)
		}
	}
	if c.def.Input == nil {
		return l.lacking("the loop's input has no schema: write `input`")
	}
	if c.def.Output == nil {
		return l.lacking("the loop declares no output: nobody can say what a completed run has given; write `output`")
	}
	if len(open) > 0 {
		slices.Sort(open)
		return l.lacking("outputs may hold undeclared fields: close the schemas of %s with additionalProperties: false", strings.Join(open, ", "))
	}
	return l.held("the loop's input and output, and those of %d workers", len(c.def.Workers))
}

func (c checker) order() Line {
	l := Line{ID: "order", Asks: "Is the order of the steps clear?"}
	levelled := 0
	var visit func(p *loop.Plan)
	visit = func(p *loop.Plan) {
		if p == nil {
			return
		}
		if p.Levelled {
			levelled++
		}
		for _, part := range slices.Concat(p.Sequence, p.Parallel) {
			visit(part)
		}
	}
	visit(c.def.Body.Plan)
	for _, n := range c.def.Nodes {
		visit(n.Plan())
	}
	says := fmt.Sprintf("%d steps, ordered by what they read; no circles", len(c.steps()))
	if levelled > 0 {
		says += fmt.Sprintf("; in %d places steps wait for more than they read (outerloop graph)", levelled)
	}
	return l.held("%s", says)
}

func machine(q Question) Line {
	l := Line{ID: "machine", Asks: "Is the compiled machine what is declared?"}
	switch {
	case len(q.Machine) == 0:
		return l.lacking("the loop is not compiled: outerloop compile %s", q.Loop.Loop.Name)
	case !bytes.Equal(q.Machine, q.Fresh):
		return l.lacking("the compiled machine is stale: outerloop compile %s", q.Loop.Loop.Name)
	}
	return l.held("version %d, %d bytes, fresh", q.Loop.Loop.Version, len(q.Machine))
}

func (c checker) failures() Line {
	l := Line{ID: "failure_rules", Asks: "Does every step say what happens when it fails?"}
	counts := map[loop.Ending]int{}
	retried, n := 0, 0
	for _, node := range c.steps() {
		if node.Failure == nil {
			continue
		}
		n++
		counts[node.Failure.Then]++
		if len(node.Failure.Retry) > 0 {
			retried++
		}
	}
	var ways []string
	for _, then := range []loop.Ending{loop.EndingSkip, loop.EndingSubstitute, loop.EndingAsk, loop.EndingHalt} {
		if counts[then] > 0 {
			ways = append(ways, fmt.Sprintf("%s %d", then, counts[then]))
		}
	}
	return l.held("all %d steps (%s); %d are retried first", n, strings.Join(ways, ", "), retried)
}

// fallback asks of each worker whether the loop goes on without it.
func (c checker) fallback() Line {
	l := Line{ID: "fallback", Asks: "Does the loop go on, even if with less, when a worker fails?"}
	var alone []string
	covered := 0
	for _, n := range c.steps() {
		if n.Worker == nil && len(n.Routes) == 0 {
			continue
		}
		backed := n.Backup != nil || len(n.Routes) > 0 && !slices.ContainsFunc(n.Routes, func(r loop.RouteRule) bool { return r.Worker != nil && r.Backup == nil })
		if backed || n.Failure != nil && n.Failure.Then != loop.EndingHalt {
			covered++
			continue
		}
		alone = append(alone, n.Path)
	}
	if len(alone) > 0 {
		return l.lacking("%s: without them the run is blocked; give them a backup, or a `then` that goes on", strings.Join(alone, ", "))
	}
	return l.held("%d steps have a backup, a substitute, or may be left out or given to a person", covered)
}

func (c checker) resumability() Line {
	l := Line{ID: "resumability", Asks: "Can a run go on after a crash without doing anything twice?"}
	keyed := 0
	for _, n := range c.steps() {
		if n.Action == nil {
			continue
		}
		keyed++
		declared := n.Action.Declared
		if declared.Unknown == charter.UnknownRetry && declared.Consequential() {
			return l.lacking("%s repeats %s when its outcome is unknown, and that has an effect (%s): write unknown: verify or ask", n.Path, declared.Name, declared.Effect)
		}
	}
	return l.held("every step is recorded when it settles; actions with a key and a rule for an unknown outcome: %d", keyed)
}

func (c checker) approvals() Line {
	l := Line{ID: "approvals", Asks: "Do people decide what cannot be undone?"}
	var free, asked []string
	for _, n := range c.steps() {
		if n.Action == nil || !n.Action.Declared.Consequential() {
			continue
		}
		if n.Approval == nil {
			free = append(free, n.Path)
			continue
		}
		asked = append(asked, fmt.Sprintf("%s (%s, within %s)", n.Path, strings.Join(n.Approval.Approvers, ", "), schedule.FormatDuration(n.Approval.Within)))
	}
	switch {
	case len(free) > 0:
		return l.lacking("%s have an effect, and nobody can be asked: write `approval`", strings.Join(free, ", "))
	case len(asked) == 0:
		return l.held("no step has an effect that would need it")
	}
	return l.held("%s", strings.Join(asked, "; "))
}

func (c checker) budget() Line {
	l := Line{ID: "budget", Asks: "Is a run bounded in money and time?"}
	b := c.def.Loop.Budget
	deadline := "at a time from the input"
	if b.Deadline.Moment != nil {
		deadline = b.Deadline.Moment.String()
	}
	return l.held("%s, deadline %s, then %s", b.Cost, deadline, b.Otherwise)
}

func (c checker) access(fields []exposure.Field) Line {
	l := Line{ID: "access", Asks: "Does every worker reach only what it needs?"}
	var wide []string
	for name, w := range c.def.Workers {
		if slices.Contains(w.Charter.Reads, "*") || slices.Contains(w.Charter.Writes, "*") {
			wide = append(wide, name)
		}
	}
	if len(wide) > 0 {
		slices.Sort(wide)
		return l.lacking("the charters of %s name all facts (*): name those that are needed", strings.Join(wide, ", "))
	}
	marked, unmarked := 0, 0
	for _, f := range fields {
		switch {
		case f.Declared:
			marked++
		case f.Loop == c.def.Loop.Name:
			unmarked++
		}
	}
	return l.held("%d charters name their facts, tools and actions; %d fields are marked sensitive, %d look personal without a mark (outerloop data)", len(c.def.Workers), marked, unmarked)
}

func (c checker) baseline() Line {
	l := Line{ID: "baseline", Asks: "Is the same work by hand on record, to compare with?"}
	b := c.def.Loop.Baseline
	if b == nil {
		return l.lacking("measure the work by hand and write it: baseline: {minutes: …, failures: …%%, cleanup: …}")
	}
	return l.held("%g minutes a run, %s fail, %g minutes to clean up", b.Minutes, b.Failures, b.Cleanup)
}

func (c checker) owner() Line {
	l := Line{ID: "owner", Asks: "Is there an owner, and a deputy?"}
	g, ok := c.def.Project.Group(c.def.Loop.Owner)
	if !ok {
		return l.lacking("the owner %s is no group of the project", c.def.Loop.Owner)
	}
	if len(g.Members) < 2 {
		return l.lacking("%s is %s alone: add a deputy to the group", g.Name, strings.Join(g.Members, ", "))
	}
	return l.held("%s: %s", g.Name, strings.Join(g.Members, ", "))
}

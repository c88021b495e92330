package graph

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/outerloop-dev/outerloop/pkg/loop"
	"github.com/outerloop-dev/outerloop/pkg/schedule"
)

// Effective prints what holds for every step after the defaults of the file and
// of the language: dispatch, failure rule, approval, limits and dependencies.
// The text is meant to be read, in the form of YAML.
func Effective(d *loop.Definition) string {
	p := &printer{}
	p.line(0, "loop: %s", d.Loop.Name)
	p.line(0, "zone: %s", d.Zone)
	p.line(0, "overlap: %s", d.Loop.Overlap)
	p.line(0, "alert: {to: %s, stalled: %s, retries: %d, cost: %sx}", d.Loop.Alert.To, schedule.FormatDuration(d.Loop.Alert.Stalled), d.Loop.Alert.Retries, number(d.Loop.Alert.Cost))
	if d.Keep > 0 {
		p.line(0, "keep: %s", schedule.FormatDuration(d.Keep))
	}
	p.line(0, "steps:")
	for _, n := range d.Nodes {
		p.node(n)
	}
	return p.b.String()
}

type printer struct{ b strings.Builder }

func (p *printer) line(depth int, format string, args ...any) {
	p.b.WriteString(strings.Repeat("  ", depth))
	fmt.Fprintf(&p.b, format, args...)
	p.b.WriteByte('\n')
}

func (p *printer) node(n *loop.Node) {
	depth := 1 + 2*strings.Count(n.Path, "/")
	if n.Kind == loop.KindGroup || n.Kind == loop.KindCase {
		p.line(depth, "%s: # %s", n.Name, n.Kind)
		return
	}
	p.line(depth, "%s: # %s%s", n.Name, n.Kind, who(n))
	depth++
	if waits := needs(n); waits != "" {
		p.line(depth, "waits_for: [%s]", waits)
	}
	if n.Mode != "" {
		p.line(depth, "dispatch: %s", n.Mode)
	}
	if n.Within > 0 {
		p.line(depth, "within: %s", schedule.FormatDuration(n.Within))
	}
	for _, limit := range n.Limits {
		p.limit(depth, limit)
	}
	if n.Review != nil {
		p.line(depth, "review: {worker: %s, revisions: %d, otherwise: %s}", n.Review.Worker.Charter.Worker, n.Review.Revisions, n.Review.Otherwise)
	}
	if n.Action != nil {
		p.action(depth, n)
	}
	if n.Approval != nil {
		p.approval(depth, n.Approval)
	}
	p.failure(depth, n.Failure)
}

func who(n *loop.Node) string {
	switch {
	case n.Worker != nil && n.Backup != nil:
		return " " + n.Worker.Charter.Worker + ", backup " + n.Backup.Charter.Worker
	case n.Worker != nil:
		return " " + n.Worker.Charter.Worker
	case n.Sub != nil:
		return " " + n.Sub.Loop.Name
	}
	return ""
}

func needs(n *loop.Node) string {
	words := make([]string, len(n.Needs))
	for i, need := range n.Needs {
		words[i] = need.Node.Name
		if need.Waits {
			words[i] += " (runs without it)"
		}
	}
	return strings.Join(words, ", ")
}

func (p *printer) limit(depth int, limit loop.LimitRule) {
	when, from := "after the work", "step"
	if limit.Before {
		when = "before the work"
	}
	if limit.FromCharter {
		from = "charter"
	}
	p.line(depth, "limit: {rule: %s, otherwise: %s} # %s, %s", strconv.Quote(limit.Rule.Source()), limit.Otherwise, from, when)
}

func (p *printer) action(depth int, n *loop.Node) {
	a := n.Action
	key := "subject/item"
	if a.Key != nil {
		key = a.Key.Source()
	}
	p.line(depth, "action: {name: %s, key: %q, effect: %s, undo: %s, unknown: %s, stage: %s}", a.Declared.Name, key, a.Declared.Effect, a.Declared.Undo, a.Declared.Unknown, a.Stage)
	if a.Resource != nil {
		p.line(depth, "resource: %q", a.Resource.Source())
	}
	if q := a.Declared.AtMost; q != nil {
		p.line(depth, "at_most: {count: %d, per: %s}", q.Count, schedule.FormatDuration(q.Per))
	}
}

func (p *printer) approval(depth int, a *loop.ApprovalRule) {
	when := "only for limits, a review, the stage or low confidence"
	switch {
	case a.Declared && a.When != nil:
		when = a.When.Source()
	case a.Declared:
		when = "always"
	}
	p.line(depth, "approval: # %s", when)
	depth++
	if a.Ask != nil {
		p.line(depth, "ask: %q", a.Ask.Source())
	}
	p.line(depth, "approvers: [%s]", strings.Join(a.Approvers, ", "))
	p.line(depth, "people: %d", a.People)
	p.line(depth, "within: %s", schedule.FormatDuration(a.Within))
	p.line(depth, "expired: %s", a.Expired)
	p.line(depth, "rejected: %s", a.Rejected)
	if a.Remind > 0 {
		p.line(depth, "remind: %s", schedule.FormatDuration(a.Remind))
	}
	for _, stage := range a.Escalate {
		p.line(depth, "escalate: {after: %s, to: [%s]}", schedule.FormatDuration(stage.After), strings.Join(stage.To, ", "))
	}
}

func (p *printer) failure(depth int, f *loop.FailureRules) {
	if f == nil {
		return
	}
	var classes []string
	for _, r := range f.Retry {
		classes = append(classes, fmt.Sprintf("%s: {times: %d, wait: %s, factor: %s, at_most: %s}", r.Class, r.Times, schedule.FormatDuration(r.Wait), number(r.Factor), schedule.FormatDuration(r.AtMost)))
	}
	p.line(depth, "on_failure:")
	if len(classes) > 0 {
		p.line(depth+1, "retry: {%s}", strings.Join(classes, ", "))
	}
	p.line(depth+1, "then: %s", f.Then)
	if f.Say != nil {
		p.line(depth+1, "say: %q", f.Say.Source())
	}
}

func number(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

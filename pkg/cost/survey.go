package cost

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/charter"
	"github.com/outerloop-dev/outerloop/pkg/loop"
	"github.com/outerloop-dev/outerloop/pkg/schema"
)

// surveyed is what a loop consists of.
type surveyed struct {
	def                               *loop.Definition
	workers, agents                   []string
	decisions, fans, waits, approvals []string
	reviews, subs, actions, serious   []string
	highest                           charter.Risk
	mostItems                         int
	steps                             int
	advice                            []StepAdvice
}

func survey(d *loop.Definition) *surveyed {
	s := &surveyed{def: d, highest: charter.RiskLow}
	for _, n := range d.Nodes {
		s.node(n)
	}
	s.parallel(d.Body.Plan)
	for name, w := range d.Workers {
		s.workers = append(s.workers, name)
		if w.Charter.Kind == charter.KindAgent {
			s.agents = append(s.agents, name)
		}
		if !w.Charter.Risk.AtMost(s.highest) {
			s.highest = w.Charter.Risk
		}
	}
	slices.Sort(s.workers)
	slices.Sort(s.agents)
	return s
}

func (s *surveyed) node(n *loop.Node) {
	if n.Step != nil {
		s.steps++
		if n.Step.When.Set() {
			s.decisions = append(s.decisions, n.Path)
		}
	}
	switch n.Kind {
	case loop.KindSwitch, loop.KindRoute:
		s.decisions = append(s.decisions, n.Path)
	case loop.KindEach:
		s.fans = append(s.fans, n.Path)
		s.mostItems = max(s.mostItems, n.Each.MaxItems)
	case loop.KindBranches:
		s.fans = append(s.fans, n.Path)
	case loop.KindWait:
		s.waits = append(s.waits, n.Path)
	case loop.KindLoop:
		s.subs = append(s.subs, n.Path)
	}
	if asksPeople(n) {
		s.approvals = append(s.approvals, n.Path)
	}
	if n.Review != nil {
		s.reviews = append(s.reviews, n.Path)
	}
	if n.Action != nil {
		s.actions = append(s.actions, n.Path)
		if n.Action.Declared.Consequential() {
			s.serious = append(s.serious, n.Path)
		}
	}
	s.models(n)
}

// asksPeople tells whether people decide as a rule, not only after a failure.
func asksPeople(n *loop.Node) bool {
	return n.Approval != nil && n.Approval.Declared ||
		n.Action != nil && n.Action.Stage == charter.StageApproval ||
		slices.ContainsFunc(n.Routes, func(r loop.RouteRule) bool { return r.Ask != "" })
}

// parallel counts steps that run side by side without a block that says so.
func (s *surveyed) parallel(p *loop.Plan) {
	if p == nil {
		return
	}
	if len(p.Parallel) > 0 {
		s.fans = append(s.fans, fmt.Sprintf("%d steps side by side", len(p.Parallel)))
	}
	for _, part := range slices.Concat(p.Sequence, p.Parallel) {
		s.parallel(part)
	}
}

// models says of each worker of a step whether it needs a model.
func (s *surveyed) models(n *loop.Node) {
	add := func(path string, w *loop.Worker) {
		if w == nil || slices.ContainsFunc(s.advice, func(a StepAdvice) bool { return a.ID == path && a.Worker == w.Charter.Worker }) {
			return
		}
		one := StepAdvice{ID: path, Worker: w.Charter.Worker, Model: w.Charter.Kind == charter.KindAgent}
		one.Needed, one.Why = needsModel(w)
		s.advice = append(s.advice, one)
	}
	add(n.Path, n.Worker)
	add(n.Path, n.Backup)
	for _, row := range n.Routes {
		add(n.Path, row.Worker)
		add(n.Path, row.Backup)
	}
	if n.Review != nil {
		add(n.Path+".review", n.Review.Worker)
	}
}

// needsModel tells whether a worker's work needs a model, as far as its charter shows.
func needsModel(w *loop.Worker) (bool, string) {
	if w.Charter.Kind != charter.KindAgent {
		return false, fmt.Sprintf("it is done by code (kind %s)", w.Charter.Kind)
	}
	var free []string
	freeTexts(w.Output.Type(), "", &free, 0)
	switch {
	case len(free) > 0:
		return true, "it writes text: " + strings.Join(free[:min(3, len(free))], ", ")
	case len(w.Charter.Agent.Calls) > 0:
		return false, "its output holds no free text and it only chooses among calls: a routing table or a function may do"
	}
	return false, "its output holds only numbers, dates and fixed words: a rule, a table or a small classifier may do, and can be tested"
}

// freeTexts collects the fields that hold text of any wording.
func freeTexts(t *schema.Type, path string, out *[]string, depth int) {
	if t == nil || depth > 6 {
		return
	}
	switch t.Kind {
	case schema.String:
		if len(t.Enum) == 0 && t.Format == "" {
			*out = append(*out, strings.TrimPrefix(path, "."))
		}
	case schema.List:
		freeTexts(t.Elem, path, out, depth+1)
	case schema.Object:
		for _, f := range t.Fields() {
			freeTexts(f.Type, path+"."+f.Name, out, depth+1)
		}
		freeTexts(t.Extra, path+".*", out, depth+1)
	case schema.Any:
		*out = append(*out, strings.TrimPrefix(path, "."))
	}
	for _, v := range t.Variants {
		if t.Kind == schema.Union {
			freeTexts(v, path, out, depth+1)
		}
	}
}

// longest is how long the steps' attempts may take one after the other.
func (s *surveyed) longest() time.Duration {
	var sum time.Duration
	for _, n := range s.def.Nodes {
		if n.Worker != nil {
			sum += n.Worker.Charter.Dispatch.Timeout
		}
	}
	return sum
}

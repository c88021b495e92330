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

// Factor is one of the five that say whether several workers are worth it (R14).
type Factor struct {
	// ID is variability, specialisation, risk, volume or error_cost.
	ID string `json:"id"`
	// Score is 0, 1 or 2.
	Score int `json:"score"`
	// Why is the reason, or that the loop declares the score.
	Why string `json:"why"`
}

// Pattern is the simplest shape that does a loop's work.
type Pattern string

// The patterns, from the simplest.
const (
	PatternScript  Pattern = "one script"
	PatternChain   Pattern = "chain"
	PatternFanOut  Pattern = "fan-out"
	PatternRouting Pattern = "routing"
	PatternMachine Pattern = "state machine"
)

// StepAdvice is what is said about one step.
type StepAdvice struct {
	// ID is the step's path.
	ID     string `json:"id"`
	Worker string `json:"worker"`
	// Model tells whether a model does it now, Needed whether it needs one.
	Model  bool   `json:"model"`
	Needed bool   `json:"needs_model"`
	Why    string `json:"why"`
}

// Advice is what the declarations of a loop suggest.
type Advice struct {
	// ID is the loop's name.
	ID      string   `json:"id"`
	Factors []Factor `json:"factors"`
	Score   int      `json:"score"`
	// Team is "one worker" or "several workers", by the score.
	Team string `json:"team"`
	// Coordinator tells whether the loop needs one; Reasons are for or against.
	Coordinator bool     `json:"needs_coordinator"`
	Reasons     []string `json:"reasons"`
	// Verdict is the answer in one sentence.
	Verdict string  `json:"verdict"`
	Pattern Pattern `json:"simplest_pattern"`
	// PatternWhy says what makes the pattern necessary.
	PatternWhy string       `json:"pattern_why"`
	Steps      []StepAdvice `json:"steps"`
}

// enough is the score from which several specialised workers are worth what
// coordinating them costs.
const enough = 5

// Advise judges a loop; feeds are the connections with other loops, as
// package graph finds them, written for people. runs is a month's number of runs.
func Advise(d *loop.Definition, feeds []string, runs float64) *Advice {
	s := survey(d)
	a := &Advice{ID: d.Loop.Name, Factors: s.factors(runs), Steps: s.advice}
	for _, f := range a.Factors {
		a.Score += f.Score
	}
	a.Team = "one worker"
	if a.Score >= enough {
		a.Team = "several workers"
	}
	a.Pattern, a.PatternWhy = s.pattern()
	a.Coordinator, a.Reasons = s.coordinator(feeds)
	a.Verdict = verdict(a, s)
	return a
}

func verdict(a *Advice, s *surveyed) string {
	switch {
	case !a.Coordinator && a.Pattern == PatternScript:
		return "You do not need a coordinator for this: a scheduled function that does it is enough."
	case !a.Coordinator:
		return "You do not need a coordinator for this: one function that calls the steps in order is enough."
	case a.Team == "one worker" && len(s.agents) > 1:
		return fmt.Sprintf("A coordinator is worth it, but %d agents are many for a score of %d of 10: try one.", len(s.agents), a.Score)
	}
	return "A coordinator is worth it here."
}

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

// pattern is the simplest that does what the loop does.
func (s *surveyed) pattern() (Pattern, string) {
	var needs []string
	for _, part := range []struct {
		words string
		list  []string
	}{{"waits", s.waits}, {"people decide", s.approvals}, {"work is sent back", s.reviews}, {"loops in loops", s.subs}} {
		if len(part.list) > 0 {
			needs = append(needs, part.words+": "+listed(part.list))
		}
	}
	routing := slices.DeleteFunc(slices.Clone(s.decisions), func(path string) bool {
		n, ok := s.def.Node(path)
		return ok && n.Kind == loop.KindWorker
	})
	switch {
	case len(needs) > 0:
		return PatternMachine, strings.Join(needs, "; ")
	case len(routing) > 0:
		return PatternRouting, "ways to choose from: " + listed(routing)
	case len(s.fans) > 0:
		return PatternFanOut, "side by side: " + listed(s.fans)
	case s.steps > 1:
		return PatternChain, fmt.Sprintf("%d steps, one after the other", s.steps)
	}
	return PatternScript, "one step"
}

func listed(names []string) string {
	if len(names) > 4 {
		return strings.Join(names[:3], ", ") + fmt.Sprintf(" and %d more", len(names)-3)
	}
	return strings.Join(names, ", ")
}

// coordinator says whether there is something to coordinate, and what.
func (s *surveyed) coordinator(feeds []string) (bool, []string) {
	var reasons []string
	for _, part := range []struct {
		words string
		list  []string
	}{
		{"other loops are fed or feed it", feeds}, {"people decide, for hours or days", s.approvals},
		{"it waits for times or events", s.waits}, {"actions that must happen once", s.actions},
		{"work is checked and sent back", s.reviews}, {"items or branches that fail one by one", s.fans},
		{"it runs other loops", s.subs},
	} {
		if len(part.list) > 0 {
			reasons = append(reasons, part.words+": "+listed(part.list))
		}
	}
	const longest = 15 * time.Minute
	if total := s.longest(); total > longest {
		reasons = append(reasons, fmt.Sprintf("its steps may take %s, longer than one function runs", total))
	}
	if len(reasons) > 0 {
		return true, reasons
	}
	return false, []string{
		"no other loop feeds it or is fed by it", "nobody is asked", "it does no action that must happen only once",
		"nothing waits or is sent back", "it has done all its work within one call",
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

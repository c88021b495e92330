package cost

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/loop"
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

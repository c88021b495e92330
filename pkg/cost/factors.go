package cost

import (
	"fmt"

	"github.com/outerloop-dev/outerloop/pkg/charter"
)

// factors are the declared scores, else estimates from the declarations.
func (s *surveyed) factors(runs float64) []Factor {
	out := []Factor{s.variability(), s.specialisation(), s.risk(), s.volume(runs), s.errorCost()}
	if given := s.def.Loop.Score; given != nil {
		for i, score := range []int{given.Variability, given.Specialisation, given.Risk, given.Volume, given.ErrorCost} {
			out[i].Score, out[i].Why = score, "declared in the loop"
		}
	}
	return out
}

func (s *surveyed) variability() Factor {
	f := Factor{ID: "variability"}
	n := len(s.decisions) + 2*len(s.agents)
	switch {
	case n == 0:
		f.Why = "every run goes the same way, without a model"
	case n <= 2:
		f.Score, f.Why = 1, many(len(s.decisions), "decision")+" and "+many(len(s.agents), "agent")
	default:
		f.Score, f.Why = 2, many(len(s.decisions), "decision")+" and "+many(len(s.agents), "agent")
	}
	return f
}

func (s *surveyed) specialisation() Factor {
	f := Factor{ID: "specialisation", Why: many(len(s.workers), "worker") + ", each with a charter of its own"}
	switch n := len(s.workers); {
	case n > 5:
		f.Score = 2
	case n > 2:
		f.Score = 1
	}
	return f
}

func (s *surveyed) risk() Factor {
	f := Factor{ID: "risk", Why: "the highest risk of a charter is " + string(s.highest)}
	switch s.highest {
	case charter.RiskMedium:
		f.Score = 1
	case charter.RiskHigh, charter.RiskCritical:
		f.Score = 2
	}
	return f
}

func (s *surveyed) volume(runs float64) Factor {
	items := max(1, min(s.mostItems, 20))
	work := runs * float64(items)
	f := Factor{ID: "volume", Why: fmt.Sprintf("about %.0f pieces of work a month", work)}
	switch {
	case work > 2000:
		f.Score = 2
	case work > 100:
		f.Score = 1
	}
	return f
}

func (s *surveyed) errorCost() Factor {
	f := Factor{ID: "error_cost", Why: "nothing it does is hard to undo"}
	switch {
	case len(s.serious) > 0:
		f.Score, f.Why = 2, "what costs money, trust or cannot be undone: "+listed(s.serious)
	case len(s.actions) > 0:
		f.Score, f.Why = 1, "it changes other systems: "+listed(s.actions)
	case s.def.Loop.Baseline != nil && s.def.Loop.Baseline.Cleanup > 60:
		f.Score, f.Why = 1, fmt.Sprintf("cleaning up after a failure takes %.0f minutes", s.def.Loop.Baseline.Cleanup)
	}
	return f
}

// many writes "1 agent", "3 agents".
func many(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}

package drill

import (
	"fmt"
	"strings"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/loop"
)

// expectation is what the declared rules say of a step that fails.
type expectation struct {
	// outcome settles the step; empty: it stays open, and ask or halt is set.
	outcome   outerloop.Outcome
	ask, halt bool
	// most is how many attempts there may be, of worker and backup together.
	most int
	// backup does the work in the end.
	backup string
	text   string
}

// always is a worker that fails however often it is tried.
const always = 1 << 20

// expect derives what becomes of a step whose worker fails with a class a
// number of times: its tries, then the backup worker, then what its rule says
// (R28, R30).
func expect(n *loop.Node, class outerloop.Class, fails int) expectation {
	more := retries(n, class)
	if fails <= more {
		return expectation{outcome: outerloop.OutcomeCompleted, most: fails + 1, text: "tried again, then done"}
	}
	e := expectation{most: more + 1}
	tried := "not tried again"
	if more > 0 {
		tried = fmt.Sprintf("tried %s again", times(more))
	}
	if n.Backup != nil {
		e.backup = n.Backup.Charter.Worker
		e.outcome, e.most = outerloop.OutcomeCompleted, e.most+more+1
		e.text = fmt.Sprintf("%s, then done by the backup %s", tried, e.backup)
		return e
	}
	then := loop.EndingHalt
	if n.Failure != nil {
		then = n.Failure.Then
	}
	switch then {
	case loop.EndingSkip:
		e.outcome, e.text = outerloop.OutcomeSkipped, "skipped and flagged"
	case loop.EndingSubstitute:
		e.outcome, e.text = outerloop.OutcomeSubstituted, "substituted"
	case loop.EndingAsk:
		e.ask, e.text = true, "a person is asked, the rest goes on"
	default:
		e.halt, e.text = true, "the run is blocked with one exception"
	}
	e.text = tried + ", then " + e.text
	return e
}

func times(n int) string {
	switch n {
	case 1:
		return "once"
	case 2:
		return "twice"
	}
	return fmt.Sprintf("%d times", n)
}

// retries is how many further tries the step's rule gives a class. What was
// refused, and what no try can mend, is never tried again by the machine.
func retries(n *loop.Node, class outerloop.Class) int {
	if n.Failure == nil || class == outerloop.ClassRefused || class == outerloop.ClassFatal {
		return 0
	}
	most := 0
	for _, r := range n.Failure.Retry {
		if r.Class == class {
			return r.Times
		}
		if r.Class == outerloop.ClassAny {
			most = r.Times
		}
	}
	return most
}

// holds tells whether what was seen is what was expected, and says what was seen.
func (e expectation) holds(got seen) (string, bool) {
	says := got.says()
	if len(got.steps) == 0 {
		return "the step was not reached: the run is " + got.status, false
	}
	attempts := 0
	for _, s := range got.steps {
		attempts = max(attempts, s.Attempts)
		switch {
		case e.outcome != "" && s.Outcome != e.outcome:
			return says, false
		case e.outcome == "" && s.Outcome != "" && s.Outcome != outerloop.OutcomeNotNeeded:
			return says, false
		case e.backup != "" && s.Worker != e.backup:
			return fmt.Sprintf("%s by %s", says, s.Worker), false
		}
	}
	if e.backup != "" {
		says += " by " + e.backup
	}
	switch {
	case attempts > e.most:
		return fmt.Sprintf("%s, although %d were declared", says, e.most), false
	case e.halt:
		return says, got.blocked && len(got.exceptions) == got.halted
	case e.ask:
		return says, len(got.exceptions) > 0 && !got.blocked
	}
	return says, true
}

// says words what was seen of a step.
func (g seen) says() string {
	if len(g.steps) == 0 {
		return "the run is " + g.status
	}
	counts := map[string]int{}
	var order []string
	for _, s := range g.steps {
		word := string(s.Outcome)
		if word == "" {
			word = string(s.Status)
		}
		if counts[word]++; counts[word] == 1 {
			order = append(order, word)
		}
	}
	var parts []string
	for _, word := range order {
		if len(g.steps) == 1 {
			parts = append(parts, word)
			continue
		}
		parts = append(parts, fmt.Sprintf("%d %s", counts[word], word))
	}
	attempts := 0
	for _, s := range g.steps {
		attempts = max(attempts, s.Attempts)
	}
	text := fmt.Sprintf("%s after %s", strings.Join(parts, ", "), plural(attempts, "attempt"))
	if n := len(g.exceptions); n > 0 {
		text += ", " + plural(n, "exception")
	}
	return text + ", the run is " + strings.ReplaceAll(g.status, "_", " ")
}

func plural(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}

// listed tells whether a run that has not ended waits for something that people can see.
func listed(view coordinator.ShowView) bool {
	if view.Status.Closed() || len(view.Waiting) > 0 || view.Status == outerloop.StatusBlocked {
		return true
	}
	for _, s := range view.Steps {
		if s.Status == outerloop.StepOpen && strings.Contains(s.Reason, "wait") || s.Status == outerloop.StepParked {
			return true
		}
	}
	return false
}

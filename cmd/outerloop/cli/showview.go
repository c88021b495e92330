package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/coordinator"
)

// statusText is a run's or a step's state for people, with its colour.
func (a *app) statusText(status string) string {
	text := strings.ReplaceAll(status, "_", " ")
	switch status {
	case string(outerloop.StatusCompleted), string(outerloop.OutcomeSubstituted), "approved", "done":
		return a.green(text)
	case string(outerloop.StatusFailed), string(outerloop.StatusBlocked), "unknown":
		return a.red(text)
	case string(outerloop.StatusAwaitingApproval), string(outerloop.StepParked), string(outerloop.OutcomeSkipped):
		return a.yellow(text)
	}
	return text
}

// writeRun prints the head of a run.
func (a *app) writeRun(v coordinator.RunView) {
	a.say("%s  %s", a.bold(v.ID), a.statusText(string(v.Status)))
	if v.Reason != "" {
		a.say("  %s", plain(v.Reason))
	}
	t := table{}
	t.add("  loop", fmt.Sprintf("%s version %d", v.Loop, v.Version))
	t.add("  subject", plain(v.Subject))
	t.add("  started", a.sinceText(v.StartedAt))
	if v.EndedAt != nil {
		t.add("  ended", stamp(v.EndedAt)+" UTC"+tookText(v.StartedAt, v.EndedAt))
	} else if v.Deadline != nil {
		t.add("  deadline", stamp(v.Deadline)+" UTC")
	}
	t.write(a, a.Out)
}

func (a *app) sinceText(at *time.Time) string {
	if at == nil {
		return "not yet"
	}
	return stamp(at) + " UTC"
}

func tookText(from, to *time.Time) string {
	if from == nil || to == nil {
		return ""
	}
	return " (after " + span(to.Sub(*from)) + ")"
}

// tally counts the records of one declared step.
type tally struct {
	path   string
	order  int
	began  time.Time
	counts map[string]int
	total  int
}

// ending is the column of a step in the table: its outcome, else its state.
func ending(step coordinator.StepView) string {
	if step.Outcome != "" {
		return string(step.Outcome)
	}
	if step.Status == outerloop.StepParked {
		return "waiting"
	}
	return string(step.Status)
}

// staticPath is a step's path without the items' keys: "follow_up[D-1]/send" is "follow_up/send".
func staticPath(path string) string {
	var b strings.Builder
	for path != "" {
		open := strings.IndexByte(path, '[')
		if open < 0 {
			b.WriteString(path)
			break
		}
		b.WriteString(path[:open])
		end := strings.Index(path[open:], "]/")
		if end < 0 {
			break
		}
		path = path[open+end+1:]
	}
	return b.String()
}

// tallies counts steps by declared step and ending, in the order in which they began.
func tallies(steps []coordinator.StepView) []tally {
	byPath := map[string]*tally{}
	for i, step := range steps {
		if step.Worker == "" && step.Status == outerloop.StepOpen {
			continue // a block that is under way: its steps say more
		}
		path := staticPath(step.Path)
		t := byPath[path]
		if t == nil {
			t = &tally{path: path, order: i, counts: map[string]int{}}
			byPath[path] = t
		}
		if at := step.StartedAt; at != nil && (t.began.IsZero() || at.Before(t.began)) {
			t.began = *at
		}
		t.counts[ending(step)]++
		t.total++
	}
	out := make([]tally, 0, len(byPath))
	for _, t := range byPath {
		out = append(out, *t)
	}
	slices.SortFunc(out, func(x, y tally) int {
		return cmp.Or(compareBegun(x.began, y.began), cmp.Compare(x.order, y.order))
	})
	return out
}

// compareBegun orders times; what never began comes last.
func compareBegun(x, y time.Time) int {
	if x.IsZero() != y.IsZero() {
		return cmp.Compare(y.Unix(), x.Unix())
	}
	return x.Compare(y)
}

// endings are the columns of the table by step and outcome, in this order.
var endings = []string{
	"completed", "substituted", "not_needed", "declined", "proposed", "skipped", "failed", "cancelled",
	"waiting", "running", "open",
}

// questionsShown is how many questions of a run are printed; -o json has all.
const questionsShown = 12

// writeQuestions prints what steps left to their owners, such as rows that could not be used.
func (a *app) writeQuestions(steps []coordinator.StepView, run string) {
	shown, total := 0, 0
	for _, step := range steps {
		for _, question := range step.Unresolved {
			if total++; shown < questionsShown {
				if shown++; shown == 1 {
					a.say("\nLeft to the owner")
				}
				a.wrap("  ", plain(step.Path)+"  "+plain(question))
			}
		}
	}
	if total > shown {
		a.say(a.dim(fmt.Sprintf("  … and %d more (%s -o json has all)", total-shown, a.command("show %s", run))))
	}
	if total > 0 {
		a.say("  %s   says what each step decided", a.command("log %s", run))
	}
}

// writeTallies prints the table by step and outcome.
func (a *app) writeTallies(steps []coordinator.StepView) {
	rows := tallies(steps)
	var used []string
	for _, name := range endings {
		if slices.ContainsFunc(rows, func(t tally) bool { return t.counts[name] > 0 }) {
			used = append(used, name)
		}
	}
	t := table{head: []string{"STEP"}, right: []bool{false}}
	for _, name := range used {
		t.head = append(t.head, strings.ToUpper(strings.ReplaceAll(name, "_", " ")))
		t.right = append(t.right, true)
	}
	for _, row := range rows {
		cells := []string{row.path}
		for _, name := range used {
			cell := ""
			if n := row.counts[name]; n > 0 {
				cell = fmt.Sprint(n)
			}
			cells = append(cells, cell)
		}
		t.add(cells...)
	}
	t.write(a, a.Out)
}

// writeSteps prints one line for each step, or only for those that select picks.
func (a *app) writeSteps(steps []coordinator.StepView, limit int) {
	t := table{head: []string{"STEP", "WORKER", "STATE", "TRIES", "TOOK", "REASON"}, right: []bool{false, false, false, true, true}}
	t.colour = func(column int, cell string) func(string) string {
		if column != 2 {
			return nil
		}
		return func(s string) string { return a.statusText(strings.ReplaceAll(s, " ", "_")) }
	}
	for i, step := range steps {
		if limit > 0 && i == limit {
			break
		}
		took := ""
		if step.StartedAt != nil && step.EndedAt != nil {
			took = span(step.EndedAt.Sub(*step.StartedAt))
		}
		tries := ""
		if step.Attempts > 0 {
			tries = fmt.Sprint(step.Attempts)
		}
		t.add(plain(step.Path), step.Worker, strings.ReplaceAll(ending(step), "_", " "), tries, took, plain(step.Reason))
	}
	t.write(a, a.Out)
	if limit > 0 && len(steps) > limit {
		a.say(a.dim(fmt.Sprintf("… and %d more (--steps lists all)", len(steps)-limit)))
	}
}

// troubled picks the steps that a person may want to know of.
func troubled(steps []coordinator.StepView) []coordinator.StepView {
	return slices.DeleteFunc(slices.Clone(steps), func(s coordinator.StepView) bool {
		return s.Outcome != outerloop.OutcomeSkipped && s.Outcome != outerloop.OutcomeFailed &&
			s.Outcome != outerloop.OutcomeSubstituted && s.Outcome != outerloop.OutcomeDeclined
	})
}

package cli

import (
	"fmt"
	"slices"

	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/gate"
)

// usageLine is what one declared step, or the whole run, has used of models.
type usageLine struct {
	path     string
	attempts int
	tokens   gate.Tokens
	cost     float64
}

func (u *usageLine) add(s coordinator.StepView) {
	u.attempts += s.Attempts
	u.tokens.Input += s.Tokens.Input
	u.tokens.Output += s.Tokens.Output
	u.tokens.CacheRead += s.Tokens.CacheRead
	u.tokens.CacheWrite += s.Tokens.CacheWrite
	u.cost += s.Cost
	switch m := s.Tokens.Model; {
	case u.tokens.Model == "":
		u.tokens.Model = m
	case m != "" && m != u.tokens.Model:
		u.tokens.Model = "several"
	}
}

// writeUsage prints which steps asked models, their tokens and what they cost,
// and the run's sum with the prices that it counts by.
func (a *app) writeUsage(v coordinator.ShowView, single bool) {
	var lines []*usageLine
	total := &usageLine{path: "all"}
	for _, s := range v.Steps {
		if s.Cost == 0 && s.Tokens == (gate.Tokens{}) {
			continue
		}
		path := s.Path
		if !single {
			path = staticPath(path)
		}
		at := slices.IndexFunc(lines, func(u *usageLine) bool { return u.path == path })
		if at < 0 {
			lines, at = append(lines, &usageLine{path: path}), len(lines)
		}
		lines[at].add(s)
		total.add(s)
	}
	if len(lines) == 0 {
		return
	}
	a.say("")
	cached := total.tokens.CacheRead+total.tokens.CacheWrite > 0
	t := table{head: usageRow(cached, "MODELS", "ANSWERED AS", "TRIES", "TOKENS IN", "CACHED", "OUT", "COST"), right: []bool{false, false, true, true, true, true, true}}
	for _, u := range append(lines, total) {
		t.add(usageRow(cached, plain(u.path), plain(u.tokens.Model), fmt.Sprint(u.attempts), fmt.Sprint(u.tokens.Input),
			fmt.Sprint(u.tokens.CacheRead+u.tokens.CacheWrite), fmt.Sprint(u.tokens.Output), fmt.Sprintf("%.6f", u.cost))...)
	}
	t.write(a, a.Out)
	for _, m := range v.Models {
		a.say("  %s asks %s (%s) with prompt %.12s at %s/%s %s per million tokens, as of %s", m.Worker, m.Model, plain(m.ID), m.Prompt,
			amount(m.Price.Input), amount(m.Price.Output), m.Price.Currency, m.Price.AsOf)
		if len(m.Reported) > 1 {
			a.say("  %s", a.yellow(fmt.Sprintf("the provider changed the model behind that name while the run was open: %v", m.Reported)))
		}
	}
}

func usageRow(cached bool, cells ...string) []string {
	if cached {
		return cells
	}
	return slices.Delete(cells, 4, 5)
}

func amount(micro int64) string { return fmt.Sprintf("%.2f", float64(micro)/1e6) }

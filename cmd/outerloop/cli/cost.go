package cli

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/outerloop-dev/outerloop/pkg/cost"
	"github.com/outerloop-dev/outerloop/pkg/graph"
	"github.com/outerloop-dev/outerloop/pkg/loop"
)

// costFlags are what the declarations do not say.
type costFlags struct {
	items []string
	each  int
	runs  float64
}

func (a *app) costCommand() *cobra.Command {
	var f costFlags
	cmd := &cobra.Command{
		Use:   "cost LOOP",
		Short: "Estimate what a loop costs on AWS, per run and per month",
		Long: `Computes what a run costs from the states of the compiled machine, the agents' tokens and
a dated price list, and a month from the fires of the schedules. The split says what is paid
for; the savings, what the next longer interval would spare. What a deployment costs beside,
whatever its loops do, stands in a line of its own. What the declarations do not say is
assumed, listed, and can be given.`,
		Example: `  outerloop cost crm-followup
  outerloop cost crm-followup --items follow_up=300 -o json
  outerloop cost support-triage --runs 4000`,
		Args: one("a loop", "outerloop validate   names the project's files"),
		RunE: func(_ *cobra.Command, args []string) error { return a.cost(args[0], f) },
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&f.items, "items", nil, "a block has so many items: `BLOCK=N`, may be repeated")
	flags.IntVar(&f.each, "each", 20, "items of blocks that are not named, `N`")
	flags.Float64Var(&f.runs, "runs", 100, "runs a month of a trigger that is no schedule, `N`")
	return cmd
}

func (a *app) cost(name string, f costFlags) error {
	p, err := a.openProject()
	if err != nil {
		return err
	}
	def, err := p.loop(name)
	if err != nil {
		return err
	}
	q := cost.Question{Loop: def, Loops: p.Loops, Each: f.each, Runs: f.runs, From: a.Now(), Items: map[string]int{}}
	if f.each < 1 || f.runs <= 0 {
		return usage("--each and --runs are above zero")
	}
	for _, given := range f.items {
		block, number, _ := strings.Cut(given, "=")
		n, err := strconv.Atoi(number)
		node, known := def.Node(block)
		if err != nil || n < 0 || !known || node.Kind != loop.KindEach {
			return usage(fmt.Sprintf("--items %s does not name a block and a number", given), "blocks over items here: "+strings.Join(eachBlocks(def), ", "))
		}
		q.Items[block] = n
	}
	e, err := cost.Of(q)
	if err != nil {
		return &exit{code: ExitUsage, err: err}
	}
	if a.asJSON() {
		return a.writeJSON(e)
	}
	a.printCost(e)
	return nil
}

func eachBlocks(def *loop.Definition) []string {
	var names []string
	for _, n := range def.Nodes {
		if n.Kind == loop.KindEach {
			names = append(names, n.Path)
		}
	}
	if len(names) == 0 {
		return []string{"none"}
	}
	return names
}

func (a *app) printCost(e *cost.Estimate) {
	a.say("%s version %d: %s a run, %s a month (%.0f runs)", a.bold(e.ID), e.Version, cost.Dollars(e.Run.Total), cost.Dollars(e.Month.Total), e.Runs)
	a.say("")
	t := table{head: []string{"PAID FOR", "A RUN", "A MONTH"}, right: []bool{false, true, true}}
	for _, line := range []struct {
		words      string
		run, month float64
	}{
		{fmt.Sprintf("transitions (%.0f a run)", e.Counts.Transitions), e.Run.Transitions, e.Month.Transitions},
		{"Lambda", e.Run.Lambda, e.Month.Lambda}, {"DynamoDB", e.Run.DynamoDB, e.Month.DynamoDB}, {"SQS", e.Run.SQS, e.Month.SQS},
		{fmt.Sprintf("model tokens (%.0f in, %.0f out)", e.Counts.InputTokens, e.Counts.OutputTokens), e.Run.Tokens, e.Month.Tokens},
		{"logs and schedules", e.Run.Other, e.Month.Other}, {"fixed", e.Run.Fixed, e.Month.Fixed}, {"all", e.Run.Total, e.Month.Total},
	} {
		t.add(line.words, cost.Dollars(line.run), cost.Dollars(line.month))
	}
	t.write(a, a.Out)
	a.say("")
	a.say("the deployment besides, once for all loops: %s a month (alarms %s, metrics %s, the watch %s)",
		cost.Dollars(e.Stack.Total), cost.Dollars(e.Stack.Alarms), cost.Dollars(e.Stack.Metrics), cost.Dollars(e.Stack.Watch))
	for _, share := range e.Triggers {
		a.say("%s: %.0f runs a month, %s (%s)", share.ID, share.Runs, cost.Dollars(share.USD), share.Basis)
	}
	for _, s := range e.Savings {
		a.say("  %s instead would save %s a month", s.Instead, cost.Dollars(s.USD))
	}
	for _, extra := range e.Extras {
		a.say("each %s adds %s: %s", extra.ID, cost.Dollars(extra.USD), extra.Say)
	}
	a.say("a run's declared bound: %s", e.Budget)
	for _, w := range e.Warnings {
		a.say("%s %s", a.yellow("warning:"), w)
	}
	a.say("")
	a.say("%s", a.dim(fmt.Sprintf("prices of %s, %s: %s", e.Prices.AsOf, e.Prices.Region, e.Prices.Source)))
	for _, text := range e.Assumed {
		a.say("%s", a.dim("assumed: "+text))
	}
}

func (a *app) adviseCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "advise [LOOP]",
		Short: "Say whether a loop needs a coordinator, several workers, and models at all",
		Long: `Scores a loop by five factors from 0 to 2 each (variability, specialisation, risk, volume,
error cost; the loop's own score, where it declares one), names the simplest pattern that
does its work, and the steps that need no model. Where nothing has to be coordinated it says
so. Without a name it advises on all loops.`,
		Example: "  outerloop advise crm-followup\n  outerloop advise -o json",
		Args:    atMostOne,
		RunE:    func(_ *cobra.Command, args []string) error { return a.advise(args) },
	}
}

func (a *app) advise(names []string) error {
	p, err := a.openProject()
	if err != nil {
		return err
	}
	if len(names) == 0 {
		names = p.Names()
	}
	feeds := graph.Feeds(p.Loops)
	list := make([]*cost.Advice, 0, len(names))
	for _, name := range names {
		def, err := p.loop(name)
		if err != nil {
			return err
		}
		e, err := cost.Of(cost.Question{Loop: def, Loops: p.Loops, From: a.Now()})
		if err != nil {
			return &exit{code: ExitUsage, err: err}
		}
		list = append(list, cost.Advise(def, feedsOf(name, feeds), e.Runs))
	}
	if a.asJSON() {
		return a.writeJSON(list)
	}
	for i, advice := range list {
		if i > 0 {
			a.say("")
		}
		a.printAdvice(advice)
	}
	if len(p.Loops) > 1 && len(feeds) == 0 {
		a.say("\nno loop feeds another: nothing has to be coordinated between them")
	}
	return nil
}

// feedsOf words the connections of a loop with others.
func feedsOf(name string, feeds []graph.Feed) []string {
	var out []string
	for _, f := range feeds {
		switch name {
		case f.From:
			out = append(out, fmt.Sprintf("feeds %s (%s)", f.To, f.Via))
		case f.To:
			out = append(out, fmt.Sprintf("is fed by %s (%s)", f.From, f.Via))
		}
	}
	return out
}

func (a *app) printAdvice(advice *cost.Advice) {
	a.say("%s: %s", a.bold(advice.ID), advice.Verdict)
	for _, reason := range advice.Reasons {
		a.say("  - %s", reason)
	}
	a.say("score %d of 10, so %s", advice.Score, advice.Team)
	t := table{}
	for _, f := range advice.Factors {
		t.add("", f.ID, strconv.Itoa(f.Score), f.Why)
	}
	t.write(a, a.Out)
	a.say("simplest pattern: %s (%s)", advice.Pattern, advice.PatternWhy)
	spare := 0
	for _, s := range advice.Steps {
		switch {
		case s.Model && !s.Needed:
			a.say("  %s (%s) may need no model: %s", s.ID, s.Worker, s.Why)
		case s.Model:
			a.say("  %s (%s) needs its model: %s", s.ID, s.Worker, s.Why)
		default:
			spare++
		}
	}
	a.say("steps without a model: %d of %d", spare, len(advice.Steps))
}

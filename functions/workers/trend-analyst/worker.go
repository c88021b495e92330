// Package trendanalyst is the worker trend-analyst: it says what the topics'
// figures say together, and what is missing.
package trendanalyst

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/outerloop-dev/outerloop/functions/workers/internal/quarterly"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// Input is the worker's input (schemas/input.json).
type Input struct {
	Quarter string `json:"quarter"`
	// The topics; nil where one is missing.
	Literature *quarterly.Topic `json:"literature"`
	Patents    *quarterly.Topic `json:"patents"`
	Industry   *quarterly.Topic `json:"industry"`
	Missing    []struct {
		Key   string `json:"key"`
		Step  string `json:"step"`
		Cause string `json:"cause"`
		Say   string `json:"say"`
	} `json:"missing"`
}

// Worker is trend-analyst.
var Worker = worker.New("trend-analyst", 1, analyse)

func analyse(_ context.Context, t worker.Task[Input]) (worker.Result[quarterly.Analysis], error) {
	var res worker.Result[quarterly.Analysis]
	in := t.Input
	var topics []quarterly.Topic
	for _, topic := range []*quarterly.Topic{in.Literature, in.Patents, in.Industry} {
		if topic != nil {
			topics = append(topics, *topic)
		}
	}
	if len(topics) == 0 {
		return res, worker.MissingInput("no topic was researched")
	}
	out := quarterly.Analysis{Quarter: in.Quarter, Gaps: []quarterly.Gap{}}
	for _, topic := range topics {
		out.Statements = append(out.Statements, quarterly.Statement{
			Text:    fmt.Sprintf("%s: %d records, %s from %d.", topic.Topic, topic.Total, percent(topic.Change), topic.Before),
			Figures: []float64{float64(topic.Total), topic.Change, float64(topic.Before)}, Topics: []string{topic.Topic},
		})
	}
	if together, ok := shared(topics); ok {
		out.Statements = append(out.Statements, together)
	}
	for _, m := range in.Missing {
		out.Gaps = append(out.Gaps, quarterly.Gap{Topic: cmp.Or(m.Key, m.Step), Why: strings.TrimSpace(m.Say + " " + m.Cause)})
	}
	res.Output, res.Confidence = out, worker.High
	res.Reason = fmt.Sprintf("%d topics were compared, %d are missing.", len(topics), len(out.Gaps))
	for _, s := range out.Statements {
		res.Evidence = append(res.Evidence, worker.Evidence{Claim: s.Text, Source: "input." + s.Topics[0], At: strings.Join(s.Topics, ", ")})
	}
	return res, nil
}

// shared is the theme that grew most over all topics together.
func shared(topics []quarterly.Topic) (quarterly.Statement, bool) {
	sums := map[string]quarterly.Theme{}
	var names []string
	for _, topic := range topics {
		names = append(names, topic.Topic)
		for _, theme := range topic.Themes {
			sum := sums[theme.Theme]
			sums[theme.Theme] = quarterly.Theme{Theme: theme.Theme, Count: sum.Count + theme.Count, Before: sum.Before + theme.Before}
		}
	}
	var all []quarterly.Theme
	for _, sum := range sums {
		all = append(all, sum)
	}
	if len(topics) < 2 || len(all) == 0 {
		return quarterly.Statement{}, false
	}
	slices.SortFunc(all, func(a, b quarterly.Theme) int {
		return cmp.Or((b.Count-b.Before)-(a.Count-a.Before), cmp.Compare(a.Theme, b.Theme))
	})
	top := all[0]
	change := quarterly.Percent(top.Count, top.Before)
	return quarterly.Statement{
		Text:    fmt.Sprintf("Over all topics, %s grew most: %d records, %s from %d.", top.Theme, top.Count, percent(change), top.Before),
		Figures: []float64{float64(top.Count), change, float64(top.Before)}, Topics: names,
	}, true
}

func percent(v float64) string { return fmt.Sprintf("%+.1f %%", v) }

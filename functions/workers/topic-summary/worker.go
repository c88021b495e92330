// Package topicsummary is the worker topic-summary: it counts a topic's records
// by theme and picks the ones of the greatest weight.
package topicsummary

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/outerloop-dev/outerloop/functions/workers/internal/quarterly"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// Input is the worker's input (schemas/input.json).
type Input struct {
	Topic   string             `json:"topic"`
	Quarter string             `json:"quarter"`
	Current []quarterly.Record `json:"current"`
	Before  []quarterly.Record `json:"before"`
}

// Worker is topic-summary.
var Worker = worker.New("topic-summary", 1, summarise)

// highlights is how many records are named.
const highlights = 3

func summarise(_ context.Context, t worker.Task[Input]) (worker.Result[quarterly.Topic], error) {
	in := t.Input
	out := quarterly.Topic{
		Topic: in.Topic, Quarter: in.Quarter, Total: len(in.Current), Before: len(in.Before),
		Change: quarterly.Percent(len(in.Current), len(in.Before)), Themes: themes(in),
	}
	top := slices.Clone(in.Current)
	slices.SortFunc(top, func(a, b quarterly.Record) int { return cmp.Or(b.Weight-a.Weight, cmp.Compare(a.ID, b.ID)) })
	out.Highlights = top[:min(len(top), highlights)]
	res := worker.Result[quarterly.Topic]{Output: out, Confidence: worker.High, Reason: fmt.Sprintf("%d records were counted.", out.Total+out.Before)}
	for _, h := range out.Highlights {
		res.Evidence = append(res.Evidence, worker.Evidence{Claim: h.Title, Source: "input.current", At: h.ID})
	}
	return res, nil
}

// themes are counted, the largest first.
func themes(in Input) []quarterly.Theme {
	by := map[string]*quarterly.Theme{}
	of := func(name string) *quarterly.Theme {
		if by[name] == nil {
			by[name] = &quarterly.Theme{Theme: name}
		}
		return by[name]
	}
	for _, r := range in.Current {
		of(r.Theme).Count++
	}
	for _, r := range in.Before {
		of(r.Theme).Before++
	}
	out := make([]quarterly.Theme, 0, len(by))
	for _, theme := range by {
		out = append(out, *theme)
	}
	slices.SortFunc(out, func(a, b quarterly.Theme) int { return cmp.Or(b.Count-a.Count, cmp.Compare(a.Theme, b.Theme)) })
	return out
}

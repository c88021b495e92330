// Package customerlanguage is the worker customer-language: it finds what
// customers speak of most, in their own words.
package customerlanguage

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/outerloop-dev/outerloop/functions/workers/internal/campaign"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// Input is the worker's input (schemas/input.json).
type Input struct {
	Quotes []campaign.Quote `json:"quotes"`
}

// Phrases are the words on one topic.
type Phrases struct {
	Topic string `json:"topic"`
	// Said is how many quotes there are; Quotes are the newest.
	Said   int              `json:"said"`
	Quotes []campaign.Quote `json:"quotes"`
}

// Output are the topics, the one that is spoken of most first (schemas/output.json).
type Output struct {
	Phrases []Phrases `json:"phrases"`
}

// Worker is customer-language.
var Worker = worker.New("customer-language", 1, listen)

// kept is how many quotes a topic keeps.
const kept = 5

func listen(_ context.Context, t worker.Task[Input]) (worker.Result[Output], error) {
	var res worker.Result[Output]
	by := map[string][]campaign.Quote{}
	for _, q := range t.Input.Quotes {
		by[q.Topic] = append(by[q.Topic], q)
	}
	if len(by) == 0 {
		return res, worker.MissingInput("no customer may be quoted")
	}
	for topic, quotes := range by {
		slices.SortFunc(quotes, func(a, b campaign.Quote) int {
			return cmp.Or(strings.Compare(b.Date, a.Date), strings.Compare(a.ID, b.ID))
		})
		res.Output.Phrases = append(res.Output.Phrases, Phrases{topic, len(quotes), quotes[:min(len(quotes), kept)]})
	}
	slices.SortFunc(res.Output.Phrases, func(a, b Phrases) int {
		return cmp.Or(b.Said-a.Said, strings.Compare(a.Topic, b.Topic))
	})
	res.Confidence, res.Reason = worker.High, fmt.Sprintf("%d quotes on %d topics were counted.", len(t.Input.Quotes), len(by))
	for _, p := range res.Output.Phrases {
		res.Evidence = append(res.Evidence, worker.Evidence{Claim: fmt.Sprintf("%d quotes on %s", p.Said, p.Topic), Source: "input.quotes"})
	}
	return res, nil
}

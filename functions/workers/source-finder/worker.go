// Package sourcefinder is the worker source-finder: it picks the newest
// approved sources.
package sourcefinder

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/outerloop-dev/outerloop/functions/workers/internal/campaign"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// Input is the worker's input (schemas/input.json).
type Input struct {
	Links []campaign.Link `json:"links"`
	Count int             `json:"count"`
}

// Output are the links, the newest first (schemas/output.json).
type Output struct {
	Links []campaign.Link `json:"links"`
}

// Worker is source-finder.
var Worker = worker.New("source-finder", 1, find)

func find(_ context.Context, t worker.Task[Input]) (worker.Result[Output], error) {
	links := slices.Clone(t.Input.Links)
	slices.SortStableFunc(links, func(a, b campaign.Link) int { return strings.Compare(b.Date, a.Date) })
	links = links[:min(len(links), t.Input.Count)]
	res := worker.Result[Output]{Output: Output{Links: links}, Confidence: worker.High, Reason: fmt.Sprintf("The newest of %d approved sources.", len(t.Input.Links))}
	for _, l := range links {
		res.Evidence = append(res.Evidence, worker.Evidence{Claim: l.Claim, Source: "input.links", At: l.ID})
	}
	return res, nil
}

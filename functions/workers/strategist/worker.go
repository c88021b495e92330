// Package strategist is the worker strategist: it finds the one angle that both
// customers' words and sources speak for.
package strategist

import (
	"context"
	"fmt"
	"slices"

	customerlanguage "github.com/outerloop-dev/outerloop/functions/workers/customer-language"
	"github.com/outerloop-dev/outerloop/functions/workers/internal/campaign"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// Input is the worker's input (schemas/input.json).
type Input struct {
	Links   []campaign.Link            `json:"links"`
	Phrases []customerlanguage.Phrases `json:"phrases"`
}

// Output is the angle, alone in a list (schemas/output.json).
type Output struct {
	Angles []campaign.Angle `json:"angles"`
}

// Worker is strategist.
var Worker = worker.New("strategist", 1, choose)

func choose(_ context.Context, t worker.Task[Input]) (worker.Result[Output], error) {
	var res worker.Result[Output]
	most := 0
	for _, p := range t.Input.Phrases {
		links := slices.DeleteFunc(slices.Clone(t.Input.Links), func(l campaign.Link) bool { return l.Topic != p.Topic })
		if score := p.Said * len(links); score > most && len(p.Quotes) > 0 {
			most = score
			res.Output.Angles = []campaign.Angle{{
				Topic: p.Topic, Headline: links[0].Claim, Links: links, Quotes: p.Quotes,
				Why: fmt.Sprintf("%d quotes and %d sources speak of %s.", p.Said, len(links), p.Topic),
			}}
		}
	}
	if most == 0 {
		return res, worker.MissingInput("no topic has both a source and a customer's words")
	}
	angle := res.Output.Angles[0]
	res.Confidence, res.Reason = worker.High, angle.Why
	res.Evidence = []worker.Evidence{{Claim: angle.Headline, Source: "input.links", At: angle.Links[0].ID}, {Claim: angle.Quotes[0].Text, Source: "input.phrases", At: angle.Quotes[0].ID}}
	res.Decisions = []string{"The topic with the most quotes times sources is the angle."}
	return res, nil
}

// Package campaignwriter is the worker campaign-writer: it writes an e-mail, a
// landing page and three posts about one angle. It takes claims and quotes as
// they stand. After a review it leaves out the quotes that were found fault with.
package campaignwriter

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/outerloop-dev/outerloop/functions/workers/internal/campaign"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// Input is the worker's input (schemas/input.json).
type Input struct {
	Angle campaign.Angle `json:"angle"`
	Brand campaign.Brand `json:"brand"`
}

// Worker is campaign-writer.
var Worker = worker.New("campaign-writer", 1, write)

func write(_ context.Context, t worker.Task[Input]) (worker.Result[campaign.Draft], error) {
	var res worker.Result[campaign.Draft]
	angle := t.Input.Angle
	words, err := objections(t)
	if err != nil {
		return res, err
	}
	quotes := slices.DeleteFunc(slices.Clone(angle.Quotes), func(q campaign.Quote) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(strings.ToLower(q.Text), strings.ToLower(w)) })
	})
	if left := len(angle.Quotes) - len(quotes); left > 0 {
		res.Decisions = append(res.Decisions, fmt.Sprintf("%d quotes are left out because of %s.", left, strings.Join(words, ", ")))
	}
	res.Output = compose(angle, t.Input.Brand, quotes)
	for _, c := range res.Output.Claims {
		res.Evidence = append(res.Evidence, worker.Evidence{Claim: c.Text, Source: "input.angle.links", At: c.Source})
	}
	for _, q := range quotes[:min(len(quotes), 1)] {
		res.Evidence = append(res.Evidence, worker.Evidence{Claim: q.Text, Source: "input.angle.quotes", At: q.ID})
	}
	res.Confidence, res.Reason = worker.High, "Claims and quotes stand as they were given."
	return res, nil
}

// objections are the texts that reviews found fault with.
func objections(t worker.Task[Input]) ([]string, error) {
	var words []string
	for _, f := range t.Feedback {
		var v campaign.Verdict
		if len(f.Detail) == 0 {
			continue
		}
		if err := json.Unmarshal(f.Detail, &v); err != nil {
			return nil, worker.Fatal("reading the verdict of %s: %w", f.From, err)
		}
		for _, fault := range slices.Concat(v.Unsupported, v.Breaches) {
			if !slices.Contains(words, fault.Text) {
				words = append(words, fault.Text)
			}
		}
	}
	return words, nil
}

func compose(angle campaign.Angle, brand campaign.Brand, quotes []campaign.Quote) campaign.Draft {
	d := campaign.Draft{Quotes: []string{}, Claims: []campaign.Claim{}}
	said := ""
	if len(quotes) > 0 {
		said = `"` + strings.TrimSuffix(quotes[0].Text, ".") + `", says ` + quotes[0].Customer + "."
		d.Quotes = append(d.Quotes, quotes[0].ID)
	}
	var claims, posts []string
	for _, l := range angle.Links {
		d.Claims = append(d.Claims, campaign.Claim{Text: l.Claim, Source: l.ID})
		claims = append(claims, fmt.Sprintf("%s (%s: %s)", l.Claim, l.Publisher, l.URL))
		posts = append(posts, l.Claim+" "+l.URL)
	}
	d.Email = campaign.Text{Headline: angle.Headline, Body: paragraphs(said, strings.Join(claims, "\n"), brand.Product+" is "+brand.What+".", brand.Call, brand.SignOff)}
	d.Landing = campaign.Text{Headline: brand.Product + ": " + brand.What, Body: paragraphs(said, claims[0], brand.Call)}
	d.Posts = []string{paragraphs(said, brand.Product+" is "+brand.What+"."), posts[0], paragraphs(posts[len(posts)-1], brand.Call)}
	return d
}

func paragraphs(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), "\n\n")
}

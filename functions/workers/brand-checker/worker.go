// Package brandchecker is the worker brand-checker: it reviews a campaign's
// draft. Every figure and every quotation must stand in a source or be a
// customer's own words, and no forbidden word may stand anywhere.
package brandchecker

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	customerlanguage "github.com/outerloop-dev/outerloop/functions/workers/customer-language"
	"github.com/outerloop-dev/outerloop/functions/workers/internal/campaign"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// Input is the worker's input (schemas/input.json).
type Input struct {
	Draft   campaign.Draft             `json:"draft"`
	Links   []campaign.Link            `json:"links"`
	Phrases []customerlanguage.Phrases `json:"phrases"`
	Brand   campaign.Brand             `json:"brand"`
}

// Worker is brand-checker.
var Worker = worker.New("brand-checker", 1, check)

var (
	address = regexp.MustCompile(`https?://\S+`)
	figure  = regexp.MustCompile(`\d+(?:[.,]\d+)*`)
	quoted  = regexp.MustCompile(`"([^"]*)"`)
	letters = regexp.MustCompile(`[\p{L}\p{N}-]+`)
)

func check(_ context.Context, t worker.Task[Input]) (worker.Result[campaign.Verdict], error) {
	in := t.Input
	v := campaign.Verdict{Unsupported: []campaign.Fault{}, Breaches: []campaign.Fault{}}
	links, claims, words := map[string]string{}, "", ""
	for _, l := range in.Links {
		links[l.ID] = l.Claim
		claims += "\n" + l.Claim
	}
	for _, p := range in.Phrases {
		for _, q := range p.Quotes {
			words += "\n" + q.Text
		}
	}
	for _, c := range in.Draft.Claims {
		if links[c.Source] != c.Text {
			v.Unsupported = append(v.Unsupported, campaign.Fault{Where: "claims", Text: c.Text, Why: "it does not stand in " + c.Source})
		}
	}
	known := figure.FindAllString(claims+words, -1)
	parts := in.Draft.Parts()
	for _, where := range slices.Sorted(maps.Keys(parts)) {
		text := address.ReplaceAllString(parts[where], "")
		for _, n := range figure.FindAllString(text, -1) {
			if !slices.Contains(known, n) {
				v.Unsupported = append(v.Unsupported, campaign.Fault{Where: where, Text: n, Why: "no source has this figure"})
			}
		}
		for _, q := range quoted.FindAllStringSubmatch(text, -1) {
			if !strings.Contains(words, "\n"+q[1]) {
				v.Unsupported = append(v.Unsupported, campaign.Fault{Where: where, Text: q[1], Why: "no customer said so"})
			}
		}
		v.Breaches = append(v.Breaches, breaches(where, text, in.Brand.Forbidden)...)
	}
	res := worker.Result[campaign.Verdict]{Output: v, Confidence: worker.High}
	res.Reason = fmt.Sprintf("%d unsupported, %d breaches.", len(v.Unsupported), len(v.Breaches))
	return res, nil
}

func breaches(where, text string, forbidden []string) []campaign.Fault {
	var out []campaign.Fault
	for _, word := range letters.FindAllString(text, -1) {
		i := slices.IndexFunc(forbidden, func(f string) bool { return strings.EqualFold(f, word) })
		if i >= 0 {
			out = append(out, campaign.Fault{Where: where, Text: word, Why: "the brand forbids this word"})
		}
	}
	return out
}

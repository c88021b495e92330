package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/outerloop-dev/outerloop/cmd/outerloop/cli"
	sourcesearch "github.com/outerloop-dev/outerloop/functions/workers/source-search"
	llm "github.com/outerloop-dev/outerloop/pkg/agent"
)

// summaries are what the scripted model says of each subtopic.
var summaries = map[string]string{
	"demand":          "58 % of van trips of the trade businesses surveyed carry less than 80 kg, and 31 % of the businesses could replace at least one van. Demand grew by 22 % in 2025. Businesses want a van at hand for heavy days.",
	"competitors":     "Four providers share the market: Lastenheld with about 46 %, Cargoflott 21 %, Radpool 18 % and Werkrad 9 %. Radpool left three cities; only Werkrad offers a locked body.",
	"prices":          "Subscriptions cost 169 to 289 euros a month with maintenance. Half of the businesses would pay up to 220 euros, a fifth more than 260 euros if a breakdown costs no working day.",
	"regulation":      "From 2027 vans may enter Munich's inner zone only from 6 to 10 a.m.; cargo bikes are exempt. A draft limits bikes on cycle lanes to 300 kg.",
	"subsidies":       "The federal grant pays 25 %, at most 3,500 euros, and excludes rented bikes; it ends in December 2027. Stuttgart alone funds subscriptions, with 60 euros a month for two years.",
	"operating-costs": "Maintenance costs 41 euros a month on average. Batteries keep 80 % of their capacity for 2.6 years; a new one costs 780 euros. Bikes stand still on 4.1 % of working days.",
	"sales-channels":  "Trades learn of vehicles from colleagues (44 %), guilds (23 %) and suppliers (17 %). 62 % sign after a free week.",
}

// researcher writes the recorded answers of the worker researcher, good and bad:
// one in a fence, one cut off, one with an invented source, and a refusal.
func researcher(asked data) llm.Answer {
	topic := get[struct{ ID string }](asked, "input.topic")
	sources := get[[]sourcesearch.Source](asked, "input.sources")
	simple := get[string](asked, "input.depth") == "simple"
	if simple {
		sources = sources[:min(len(sources), 2)]
	}
	var points, evidence []document
	for i, s := range sources {
		claim, _, _ := strings.Cut(s.Text, ". ")
		points = append(points, document{"claim": strings.TrimSuffix(claim, ".") + ".", "source": s.ID})
		evidence = append(evidence, document{"claim": s.Title, "source": fmt.Sprintf("input.sources[%d]", i), "at": s.ID})
	}
	switch {
	case topic.ID == "accidents":
		return llm.Answer{Text: "I will not summarise a person's medical file.", Stop: llm.StopRefused}
	case topic.ID == "regulation" && !simple:
		points[0]["source"] = "C-499"
	}
	answer := said(asked, document{
		"output": document{"summary": summaries[topic.ID], "points": points}, "evidence": evidence,
		"reason": "Each sentence stands in a clipping.",
	})
	switch {
	case topic.ID == "operating-costs" && !simple:
		answer.Text, answer.Stop = answer.Text[:len(answer.Text)/2], llm.StopLength
	case topic.ID == "prices":
		answer.Text = "```json\n" + answer.Text + "\n```"
	}
	return answer
}

var marketResearch = []string{"run", "market-research", "--input", "samples/market-research/brief.json", "--as-of", "2026-11-30"}

// S2: all subtopics at the same time; a failed researcher is asked once more
// for less, a refusal is final; the report names what is missing, and why.
func TestMarketResearch(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.want(0, marketResearch...).has(t, "completed", "research-latest.html")
	show := object(t, b.want(0, "show", b.newest(), "-o", "json").out)
	output := show["output"].(document)
	report := output["report"].(document)
	if covered := fmt.Sprint(report["covered"]); covered != "[demand competitors prices regulation subsidies operating-costs sales-channels]" {
		t.Errorf("covered: %s", covered)
	}
	if missing := fmt.Sprint(report["missing"]); missing != "[accidents insurance]" {
		t.Errorf("missing: %s", missing)
	}
	attempts := map[string]float64{}
	for _, step := range show["steps"].([]any) {
		attempts[step.(document)["path"].(string)] = step.(document)["attempts"].(float64)
	}
	for path, want := range map[string]float64{"research[demand]/gather": 1, "research[regulation]/gather": 2, "research[operating-costs]/gather": 2, "research[accidents]/gather": 1} {
		if attempts[path] != want {
			t.Errorf("%s took %v attempts, want %v: %v", path, attempts[path], want, attempts)
		}
	}
	gaps := fmt.Sprint(report["gaps"])
	for _, why := range []string{"No answer on Accidents.", "Nothing on Insurance."} {
		if !strings.Contains(gaps, why) {
			t.Errorf("%q is missing in %s", why, gaps)
		}
	}
	b.want(0, marketResearch...).has(t, "duplicate of")
	b.want(cli.ExitUsage, "run", "market-research", "--input", "samples/market-research/library/clippings.jsonl")
}

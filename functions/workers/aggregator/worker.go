// Package aggregator is the worker aggregator: it makes one report of what
// researchers found, and names what is missing.
package aggregator

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/outerloop-dev/outerloop/functions/workers/internal/page"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// Input is the worker's input (schemas/input.json).
type Input struct {
	Title  string `json:"title"`
	Topics []struct {
		ID    string `json:"id"`
		Title string `json:"title"`
	} `json:"topics"`
	Summaries []struct {
		Topic   string `json:"topic"`
		Summary struct {
			Summary string  `json:"summary"`
			Points  []Point `json:"points"`
		} `json:"summary"`
	} `json:"summaries"`
	Missing []struct {
		Key   string `json:"key"`
		Cause string `json:"cause"`
		Say   string `json:"say"`
	} `json:"missing"`
}

// Point is a claim with the clipping that it comes from.
type Point struct {
	Claim  string `json:"claim"`
	Source string `json:"source"`
}

// Section is what the report says of a subtopic.
type Section struct {
	ID     string  `json:"id"`
	Title  string  `json:"title"`
	Text   string  `json:"text"`
	Points []Point `json:"points"`
}

// Gap is a subtopic that the report does not cover.
type Gap struct {
	ID    string `json:"id"`
	Title string `json:"title"`
	Why   string `json:"why"`
}

// Output is the fact research/latest (schemas/output.json).
type Output struct {
	Title    string    `json:"title"`
	Covered  []string  `json:"covered"`
	Missing  []string  `json:"missing"`
	Sections []Section `json:"sections"`
	Gaps     []Gap     `json:"gaps"`
}

// Worker is aggregator.
var Worker = worker.New("aggregator", 1, aggregate)

func aggregate(_ context.Context, t worker.Task[Input]) (worker.Result[Output], error) {
	var res worker.Result[Output]
	res.Output = Output{Title: t.Input.Title, Covered: []string{}, Missing: []string{}, Sections: []Section{}, Gaps: []Gap{}}
	found := map[string]int{}
	for i, s := range t.Input.Summaries {
		found[s.Topic] = i
	}
	for _, topic := range t.Input.Topics {
		i, covered := found[topic.ID]
		if !covered {
			res.Output.Missing = append(res.Output.Missing, topic.ID)
			res.Output.Gaps = append(res.Output.Gaps, Gap{topic.ID, topic.Title, why(t.Input, topic.ID)})
			continue
		}
		s := t.Input.Summaries[i].Summary
		res.Output.Covered = append(res.Output.Covered, topic.ID)
		res.Output.Sections = append(res.Output.Sections, Section{topic.ID, topic.Title, s.Summary, s.Points})
		for _, p := range s.Points {
			res.Evidence = append(res.Evidence, worker.Evidence{Claim: p.Claim, Source: "input.summaries", At: topic.ID + ": " + p.Source})
		}
	}
	if len(res.Output.Covered) == 0 {
		return res, worker.MissingInput("none of %d subtopics has a summary", len(t.Input.Topics))
	}
	res.Confidence, res.Reason = worker.High, fmt.Sprintf("%d of %d subtopics are covered, the rest is named.", len(res.Output.Covered), len(t.Input.Topics))
	return res, nil
}

func why(in Input, id string) string {
	for _, m := range in.Missing {
		if m.Key == id {
			return strings.TrimSpace(m.Say + " " + m.Cause)
		}
	}
	return "It was not researched."
}

// Render makes an HTML page of the fact research/latest.
func Render(fact []byte) ([]byte, error) {
	var f Output
	if err := json.Unmarshal(fact, &f); err != nil {
		return nil, fmt.Errorf("reading the fact research/latest: %w", err)
	}
	r := page.Report{Title: f.Title, Lead: fmt.Sprintf("%d subtopics covered, %d missing.", len(f.Covered), len(f.Missing))}
	for _, s := range f.Sections {
		section := page.Section{Title: s.Title, Text: s.Text}
		for _, p := range s.Points {
			section.Points = append(section.Points, page.Point{Text: p.Claim, Source: p.Source})
		}
		r.Sections = append(r.Sections, section)
	}
	for _, g := range f.Gaps {
		r.Missing = append(r.Missing, page.Point{Text: g.Title, Source: g.Why})
	}
	return page.Render(r)
}

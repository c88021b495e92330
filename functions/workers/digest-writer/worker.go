// Package digestwriter is the worker digest-writer: it makes one digest of
// paper summaries and says what is missing, and whether the search was down.
package digestwriter

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
	Week    string `json:"week"`
	Query   string `json:"query"`
	Found   string `json:"found"`
	Cached  bool   `json:"cached"`
	Items   []Item `json:"items"`
	Missing []struct {
		Key   string `json:"key"`
		Cause string `json:"cause"`
		Say   string `json:"say"`
	} `json:"missing"`
}

// Item is a paper with its summary.
type Item struct {
	Paper   string   `json:"paper"`
	Title   string   `json:"title"`
	Authors []string `json:"authors"`
	URL     string   `json:"url"`
	Summary struct {
		Findings []Sentence `json:"findings"`
		Limits   []Sentence `json:"limits"`
	} `json:"summary"`
}

// Sentence is a sentence of a paper with its place.
type Sentence struct {
	Text string `json:"text"`
	At   string `json:"at"`
}

// Gap is a paper that the digest does not have.
type Gap struct {
	Paper string `json:"paper"`
	Why   string `json:"why"`
}

// Output is the fact papers/digest (schemas/output.json).
type Output struct {
	Title string `json:"title"`
	// Note says so where the papers are those of an earlier search.
	Note   string `json:"note"`
	Cached bool   `json:"cached"`
	Items  []Item `json:"items"`
	Gaps   []Gap  `json:"gaps"`
}

// Worker is digest-writer.
var Worker = worker.New("digest-writer", 1, write)

func write(_ context.Context, t worker.Task[Input]) (worker.Result[Output], error) {
	in := t.Input
	out := Output{
		Title: fmt.Sprintf("Papers on %s, %s", in.Query, in.Week), Cached: in.Cached, Items: in.Items, Gaps: []Gap{},
		Note: fmt.Sprintf("Found on %s.", in.Found),
	}
	if in.Cached {
		out.Note = fmt.Sprintf("The search was down: these are the papers found on %s.", in.Found)
	}
	for _, m := range in.Missing {
		why := m.Say
		if m.Cause != "" {
			why = strings.TrimSpace(why + " " + m.Cause)
		}
		out.Gaps = append(out.Gaps, Gap{m.Key, why})
	}
	res := worker.Result[Output]{Output: out, Confidence: worker.High, Reason: fmt.Sprintf("%d summaries, %d papers missing.", len(out.Items), len(out.Gaps))}
	for _, item := range in.Items {
		res.Evidence = append(res.Evidence, worker.Evidence{Claim: item.Title, Source: "input.items", At: item.Paper})
	}
	return res, nil
}

// Render makes an HTML page of the fact papers/digest.
func Render(fact []byte) ([]byte, error) {
	var f Output
	if err := json.Unmarshal(fact, &f); err != nil {
		return nil, fmt.Errorf("reading the fact papers/digest: %w", err)
	}
	r := page.Report{Title: f.Title, Lead: f.Note}
	for _, item := range f.Items {
		section := page.Section{Title: item.Title, Text: strings.Join(item.Authors, ", ")}
		for _, s := range item.Summary.Findings {
			section.Points = append(section.Points, page.Point{Text: s.Text, Source: item.Paper + ", " + s.At, Link: item.URL})
		}
		for _, s := range item.Summary.Limits {
			section.Points = append(section.Points, page.Point{Text: "Limit: " + s.Text, Source: item.Paper + ", " + s.At, Link: item.URL})
		}
		r.Sections = append(r.Sections, section)
	}
	for _, g := range f.Gaps {
		r.Missing = append(r.Missing, page.Point{Text: g.Paper, Source: g.Why})
	}
	return page.Render(r)
}

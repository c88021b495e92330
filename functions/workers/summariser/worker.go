// Package summariser is the worker summariser: it picks the sentences of a
// paper that say what was found and where it ends. It writes no sentence of its
// own, so that each has its place in the paper.
package summariser

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// Input is the worker's input (schemas/input.json).
type Input struct {
	Text string `json:"text"`
}

// Sentence is a sentence of the paper with its place.
type Sentence struct {
	Text string `json:"text"`
	// At is the section and the sentence's number in it.
	At string `json:"at"`
}

// Output is the summary (schemas/output.json).
type Output struct {
	Findings []Sentence `json:"findings"`
	Limits   []Sentence `json:"limits"`
}

// Worker is summariser.
var Worker = worker.New("summariser", 1, summarise)

// How many sentences a summary has at most.
const (
	mostFindings = 3
	mostLimits   = 1
)

func summarise(_ context.Context, t worker.Task[Input]) (worker.Result[Output], error) {
	var res worker.Result[Output]
	parts := sections(t.Input.Text)
	res.Output = Output{
		Findings: best(parts, mostFindings, func(name, text string) int {
			switch name {
			case "Results", "Evaluation", "Conclusion", "Conclusions":
				return 3 + figures(text)
			case "Abstract":
				return 1 + figures(text)
			}
			return 0
		}),
		Limits: best(parts, mostLimits, func(name, _ string) int {
			if strings.HasPrefix(name, "Limit") {
				return 1
			}
			return 0
		}),
	}
	for _, s := range slices.Concat(res.Output.Findings, res.Output.Limits) {
		res.Evidence = append(res.Evidence, worker.Evidence{Claim: s.Text, Source: "input.text", At: s.At})
	}
	res.Confidence, res.Reason = worker.High, fmt.Sprintf("The paper's own sentences, out of %d sections.", len(parts))
	if len(res.Evidence) == 0 {
		res.Confidence, res.Reason = worker.Low, "The text has no section that says what was found."
	}
	return res, nil
}

// best are the sentences of the highest score, in the order of the paper.
// Those without a score are left out.
func best(parts []section, most int, score func(section, text string) int) []Sentence {
	type scored struct {
		Sentence
		score, at int
	}
	var all []scored
	for _, part := range parts {
		for i, text := range part.sentences {
			if n := score(part.name, text); n > 0 {
				all = append(all, scored{Sentence{text, fmt.Sprintf("%s, sentence %d", part.name, i+1)}, n, len(all)})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b scored) int { return b.score - a.score })
	all = all[:min(len(all), most)]
	slices.SortFunc(all, func(a, b scored) int { return cmp.Compare(a.at, b.at) })
	out := make([]Sentence, len(all))
	for i, s := range all {
		out[i] = s.Sentence
	}
	return out
}

// figures is how many numbers a sentence has, up to three.
func figures(text string) int {
	n := 0
	for _, word := range strings.Fields(text) {
		if strings.ContainsFunc(word, unicode.IsDigit) {
			n++
		}
	}
	return min(n, 3)
}

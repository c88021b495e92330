// Package reportwriter is the worker report-writer: it writes the quarterly
// report of an analysis. It rounds figures for reading; when a review finds
// fault, it takes them as they stand.
package reportwriter

import (
	"context"
	"fmt"
	"regexp"
	"strconv"

	"github.com/outerloop-dev/outerloop/functions/workers/internal/quarterly"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// Input is the worker's input (schemas/input.json).
type Input struct {
	Analysis quarterly.Analysis `json:"analysis"`
}

// Worker is report-writer.
var Worker = worker.New("report-writer", 1, write)

var decimal = regexp.MustCompile(`\d+\.\d+`)

func write(_ context.Context, t worker.Task[Input]) (worker.Result[quarterly.Document], error) {
	in := t.Input.Analysis
	exact := len(t.Feedback) > 0
	res := worker.Result[quarterly.Document]{Confidence: worker.High, Reason: "Each section is a statement of the analysis."}
	res.Output = quarterly.Document{Title: "Energy storage in " + in.Quarter, Quarter: in.Quarter}
	for i, s := range in.Statements {
		text := s.Text
		if !exact {
			text = decimal.ReplaceAllStringFunc(text, rounded)
		}
		res.Output.Sections = append(res.Output.Sections, quarterly.Section{Title: fmt.Sprintf("%d. %s", i+1, title(s.Topics)), Text: text})
		res.Evidence = append(res.Evidence, worker.Evidence{Claim: text, Source: "input.analysis.statements", At: strconv.Itoa(i + 1)})
	}
	for _, g := range in.Gaps {
		res.Output.Sections = append(res.Output.Sections, quarterly.Section{Title: "Missing: " + g.Topic, Text: "This topic could not be researched: " + g.Why})
	}
	if exact {
		res.Decisions = []string{"The review found fault: figures stand as in the analysis."}
	}
	return res, nil
}

func rounded(text string) string {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return text
	}
	return strconv.FormatFloat(v, 'f', 0, 64)
}

func title(topics []string) string {
	if len(topics) == 1 {
		return topics[0]
	}
	return "all topics"
}

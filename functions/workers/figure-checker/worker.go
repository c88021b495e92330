// Package figurechecker is the worker figure-checker: every figure of a report
// must stand in the analysis that it was written from.
package figurechecker

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/outerloop-dev/outerloop/functions/workers/internal/quarterly"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// Input is the worker's input (schemas/input.json).
type Input struct {
	Document quarterly.Document `json:"document"`
	Analysis quarterly.Analysis `json:"analysis"`
}

// Output is the verdict (schemas/output.json).
type Output struct {
	// Unsupported are figures without a place in the analysis, Missing are
	// topics that could not be researched and are not named.
	Unsupported []string `json:"unsupported"`
	Missing     []string `json:"missing"`
}

// Worker is figure-checker.
var Worker = worker.New("figure-checker", 1, check)

var figure = regexp.MustCompile(`[+-]?\d+(?:\.\d+)?`)

func check(_ context.Context, t worker.Task[Input]) (worker.Result[Output], error) {
	out := Output{Unsupported: []string{}, Missing: []string{}}
	var known []float64
	for _, s := range t.Input.Analysis.Statements {
		known = append(known, s.Figures...)
	}
	whole := ""
	for _, s := range t.Input.Document.Sections {
		whole += s.Title + "\n"
		if strings.HasPrefix(s.Title, "Missing: ") {
			continue // a cause is quoted, not claimed
		}
		for _, text := range figure.FindAllString(s.Text, -1) {
			v, err := strconv.ParseFloat(text, 64)
			if err != nil || !slices.Contains(known, v) {
				out.Unsupported = append(out.Unsupported, s.Title+": "+text)
			}
		}
	}
	for _, g := range t.Input.Analysis.Gaps {
		if !strings.Contains(whole, g.Topic) {
			out.Missing = append(out.Missing, g.Topic)
		}
	}
	res := worker.Result[Output]{Output: out, Confidence: worker.High}
	res.Reason = fmt.Sprintf("%d figures are unsupported, %d gaps are not named.", len(out.Unsupported), len(out.Missing))
	return res, nil
}

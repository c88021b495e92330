package figurechecker_test

import (
	"slices"
	"testing"

	figurechecker "github.com/outerloop-dev/outerloop/functions/workers/figure-checker"
	"github.com/outerloop-dev/outerloop/functions/workers/internal/quarterly"
	"github.com/outerloop-dev/outerloop/pkg/worker/workertest"
)

func TestFindsWhatTheAnalysisDoesNotSay(t *testing.T) {
	t.Parallel()
	analysis := quarterly.Analysis{Statements: []quarterly.Statement{{Figures: []float64{6, 36.8, 4, -2.5}}}, Gaps: []quarterly.Gap{{Topic: "literature"}}}
	for text, unsupported := range map[string][]string{
		"6 records, +36.8 % from 4, then -2.5 %": {},
		"6 records, +37 % from 4":                {"1. all: +37"},
		"6 records, -36.8 % from 5":              {"1. all: -36.8", "1. all: 5"},
	} {
		in := figurechecker.Input{Analysis: analysis, Document: quarterly.Document{Sections: []quarterly.Section{{Title: "1. all", Text: text}}}}
		out := workertest.Output[figurechecker.Output](t, workertest.Run(t, figurechecker.Worker, in, workertest.Setup{}))
		if !slices.Equal(out.Unsupported, unsupported) || !slices.Equal(out.Missing, []string{"literature"}) {
			t.Errorf("%q: %+v", text, out)
		}
		in.Document.Sections = append(in.Document.Sections, quarterly.Section{Title: "Missing: literature", Text: "404"})
		if out := workertest.Output[figurechecker.Output](t, workertest.Run(t, figurechecker.Worker, in, workertest.Setup{})); len(out.Missing) != 0 || len(out.Unsupported) != len(unsupported) {
			t.Errorf("%q: %+v", text, out)
		}
	}
}

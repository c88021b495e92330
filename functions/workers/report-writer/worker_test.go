package reportwriter_test

import (
	"testing"

	"github.com/outerloop-dev/outerloop/functions/workers/internal/quarterly"
	reportwriter "github.com/outerloop-dev/outerloop/functions/workers/report-writer"
	"github.com/outerloop-dev/outerloop/pkg/gate"
	"github.com/outerloop-dev/outerloop/pkg/worker/workertest"
)

func TestFiguresAreExactAfterAReview(t *testing.T) {
	t.Parallel()
	in := reportwriter.Input{Analysis: quarterly.Analysis{Quarter: "2026-Q3",
		Statements: []quarterly.Statement{{Text: "patents: 6 records, +36.8 % from 4.", Topics: []string{"patents"}}},
		Gaps:       []quarterly.Gap{{Topic: "literature", Why: "no records"}},
	}}
	first := workertest.Output[quarterly.Document](t, workertest.Run(t, reportwriter.Worker, in, workertest.Setup{}))
	second := workertest.Output[quarterly.Document](t, workertest.Run(t, reportwriter.Worker, in, workertest.Setup{Visit: 2, Feedback: []gate.Feedback{{Faults: []string{"figures"}}}}))
	if first.Sections[0].Text != "patents: 6 records, +37 % from 4." || second.Sections[0].Text != "patents: 6 records, +36.8 % from 4." {
		t.Errorf("first %q, second %q", first.Sections[0].Text, second.Sections[0].Text)
	}
	if second.Sections[1].Title != "Missing: literature" {
		t.Errorf("%+v", second.Sections)
	}
}

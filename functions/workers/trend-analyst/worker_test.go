package trendanalyst_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/outerloop-dev/outerloop/functions/workers/internal/quarterly"
	trendanalyst "github.com/outerloop-dev/outerloop/functions/workers/trend-analyst"
	"github.com/outerloop-dev/outerloop/pkg/worker/workertest"
)

const input = `{"quarter": "2026-Q3", "literature": null,
	"patents": {"topic": "patents", "total": 6, "before": 4, "change_percent": 50, "themes": [{"theme": "x", "count": 5, "before": 1}, {"theme": "y", "count": 1, "before": 3}]},
	"industry": {"topic": "industry", "total": 3, "before": 3, "change_percent": 0, "themes": [{"theme": "y", "count": 3, "before": 3}]},
	"missing": [{"key": "literature", "step": "topics/literature", "cause": "no records", "say": "It is missing."}]}`

func TestSaysWhatTheFiguresSay(t *testing.T) {
	t.Parallel()
	out := workertest.Output[quarterly.Analysis](t, workertest.Run(t, trendanalyst.Worker, json.RawMessage(input), workertest.Setup{}))
	if len(out.Statements) != 3 || out.Statements[0].Text != "patents: 6 records, +50.0 % from 4." ||
		out.Statements[2].Text != "Over all topics, x grew most: 5 records, +400.0 % from 1." {
		t.Errorf("%+v", out.Statements)
	}
	if len(out.Gaps) != 1 || out.Gaps[0] != (quarterly.Gap{Topic: "literature", Why: "It is missing. no records"}) {
		t.Errorf("%+v", out.Gaps)
	}
}

func TestNothingResearched(t *testing.T) {
	t.Parallel()
	none := strings.NewReplacer(`"patents": {`, `"x": {`, `"industry": {`, `"y": {`).Replace(input)
	if o := workertest.Run(t, trendanalyst.Worker, json.RawMessage(none), workertest.Setup{}); o.Failure == nil || o.Failure.Class != "missing_input" {
		t.Errorf("%+v", o.Failure)
	}
}

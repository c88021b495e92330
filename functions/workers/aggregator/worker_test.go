package aggregator_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/outerloop-dev/outerloop/functions/workers/aggregator"
	"github.com/outerloop-dev/outerloop/pkg/worker/workertest"
)

const input = `{"title": "Kites", "topics": [{"id": "wind", "title": "Wind"}, {"id": "sails", "title": "Sails"}, {"id": "law", "title": "Law"}],
	"summaries": [{"topic": "wind", "summary": {"summary": "It blows.", "points": [{"claim": "Often.", "source": "K-1"}]}}],
	"missing": [{"key": "sails", "step": "gather", "cause": "the model refused", "say": "Nothing on Sails."}]}`

func TestNamesWhatIsMissing(t *testing.T) {
	t.Parallel()
	o := workertest.Run(t, aggregator.Worker, json.RawMessage(input), workertest.Setup{})
	out := workertest.Output[aggregator.Output](t, o)
	if !slices.Equal(out.Covered, []string{"wind"}) || !slices.Equal(out.Missing, []string{"sails", "law"}) {
		t.Errorf("covered %v, missing %v", out.Covered, out.Missing)
	}
	if out.Gaps[0].Why != "Nothing on Sails. the model refused" || out.Gaps[1].Why != "It was not researched." {
		t.Errorf("%+v", out.Gaps)
	}
	html, err := aggregator.Render(o.Result.Output)
	if err != nil || !strings.Contains(string(html), "Often. <cite>K-1</cite>") || !strings.Contains(string(html), "<strong>Law</strong>") {
		t.Errorf("%v: %s", err, html)
	}
}

func TestNoReportOfNothing(t *testing.T) {
	t.Parallel()
	o := workertest.Run(t, aggregator.Worker, json.RawMessage(`{"title": "x", "topics": [{"id": "a", "title": "A"}]}`), workertest.Setup{})
	if o.Failure == nil || o.Failure.Class != "missing_input" {
		t.Errorf("%+v", o.Failure)
	}
	if _, err := aggregator.Render([]byte("[")); err == nil {
		t.Error("a damaged fact was rendered")
	}
}

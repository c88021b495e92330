package strategist_test

import (
	"testing"

	customerlanguage "github.com/outerloop-dev/outerloop/functions/workers/customer-language"
	"github.com/outerloop-dev/outerloop/functions/workers/internal/campaign"
	"github.com/outerloop-dev/outerloop/functions/workers/strategist"
	"github.com/outerloop-dev/outerloop/pkg/worker/workertest"
)

func said(topic string, times int) customerlanguage.Phrases {
	return customerlanguage.Phrases{Topic: topic, Said: times, Quotes: []campaign.Quote{{ID: topic, Text: "x"}}}
}

// The angle needs both: what customers speak of most does not count without a source.
func TestOneAngleOfBoth(t *testing.T) {
	t.Parallel()
	in := strategist.Input{
		Links:   []campaign.Link{{ID: "1", Topic: "slips", Claim: "A"}, {ID: "2", Topic: "slips", Claim: "B"}, {ID: "3", Topic: "rain", Claim: "C"}},
		Phrases: []customerlanguage.Phrases{said("dogs", 90), said("slips", 4), said("rain", 7)},
	}
	out := workertest.Output[strategist.Output](t, workertest.Run(t, strategist.Worker, in, workertest.Setup{}))
	if len(out.Angles) != 1 || out.Angles[0].Topic != "slips" || out.Angles[0].Headline != "A" || len(out.Angles[0].Links) != 2 {
		t.Errorf("%+v", out)
	}
	in.Phrases = in.Phrases[:1]
	if o := workertest.Run(t, strategist.Worker, in, workertest.Setup{}); o.Failure == nil || o.Failure.Class != "missing_input" {
		t.Errorf("without a source: %+v", o.Failure)
	}
}

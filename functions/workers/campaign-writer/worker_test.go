package campaignwriter_test

import (
	"encoding/json"
	"strings"
	"testing"

	campaignwriter "github.com/outerloop-dev/outerloop/functions/workers/campaign-writer"
	"github.com/outerloop-dev/outerloop/functions/workers/internal/campaign"
	"github.com/outerloop-dev/outerloop/pkg/gate"
	"github.com/outerloop-dev/outerloop/pkg/worker/workertest"
)

func input() campaignwriter.Input {
	return campaignwriter.Input{
		Angle: campaign.Angle{Headline: "A.", Links: []campaign.Link{{ID: "S-1", Claim: "A.", URL: "https://a.example"}, {ID: "S-2", Claim: "B.", URL: "https://b.example"}},
			Quotes: []campaign.Quote{{ID: "V-1", Text: "The best slips.", Customer: "Reid"}, {ID: "V-2", Text: "No slips.", Customer: "Ward"}}},
		Brand: campaign.Brand{Product: "P", What: "a tool", Call: "Call.", SignOff: "P"},
	}
}

func TestRevisionLeavesOutWhatWasFoundFaultWith(t *testing.T) {
	t.Parallel()
	first := workertest.Output[campaign.Draft](t, workertest.Run(t, campaignwriter.Worker, input(), workertest.Setup{}))
	if len(first.Posts) != 3 || first.Quotes[0] != "V-1" || len(first.Claims) != 2 || !strings.Contains(first.Posts[0], `"The best slips", says Reid.`) {
		t.Errorf("%+v", first)
	}
	revise := func(verdict string) campaign.Draft {
		return workertest.Output[campaign.Draft](t, workertest.Run(t, campaignwriter.Worker, input(), workertest.Setup{
			Visit: 2, Feedback: []gate.Feedback{{From: "brand-checker", Faults: []string{"verdict.breaches.size() == 0"}, Detail: json.RawMessage(verdict)}},
		}))
	}
	second := revise(`{"unsupported": [], "breaches": [{"where": "email", "text": "best", "why": "forbidden"}]}`)
	if second.Quotes[0] != "V-2" || strings.Contains(second.Email.Body, "best") {
		t.Errorf("%+v", second)
	}
	third := revise(`{"unsupported": [{"where": "email", "text": "slips", "why": "x"}], "breaches": []}`)
	if len(third.Quotes) != 0 || strings.Contains(third.Posts[0], "says") {
		t.Errorf("%+v", third)
	}
}

func TestVerdictThatCannotBeRead(t *testing.T) {
	t.Parallel()
	o := workertest.Run(t, campaignwriter.Worker, input(), workertest.Setup{Feedback: []gate.Feedback{{Detail: json.RawMessage(`[]`)}}})
	if o.Failure == nil || o.Failure.Class != "fatal" {
		t.Errorf("%+v", o.Failure)
	}
}

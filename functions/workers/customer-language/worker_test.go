package customerlanguage_test

import (
	"fmt"
	"testing"

	customerlanguage "github.com/outerloop-dev/outerloop/functions/workers/customer-language"
	"github.com/outerloop-dev/outerloop/functions/workers/internal/campaign"
	"github.com/outerloop-dev/outerloop/pkg/worker/workertest"
)

func TestWhatIsSpokenOfMost(t *testing.T) {
	t.Parallel()
	var in customerlanguage.Input
	for i := range 7 {
		in.Quotes = append(in.Quotes, campaign.Quote{ID: fmt.Sprint(i), Date: fmt.Sprintf("2026-01-0%d", i+1), Topic: "slips", Text: "x"})
	}
	in.Quotes = append(in.Quotes, campaign.Quote{ID: "8", Topic: "rain"}, campaign.Quote{ID: "9", Topic: "dust"})
	out := workertest.Output[customerlanguage.Output](t, workertest.Run(t, customerlanguage.Worker, in, workertest.Setup{}))
	first := out.Phrases[0]
	if first.Topic != "slips" || first.Said != 7 || len(first.Quotes) != 5 || first.Quotes[0].ID != "6" || out.Phrases[1].Topic != "dust" {
		t.Errorf("%+v", out)
	}
	o := workertest.Run(t, customerlanguage.Worker, customerlanguage.Input{}, workertest.Setup{})
	if o.Failure == nil || o.Failure.Class != "missing_input" {
		t.Errorf("without quotes: %+v", o.Failure)
	}
}

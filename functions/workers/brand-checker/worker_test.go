package brandchecker_test

import (
	"strings"
	"testing"

	brandchecker "github.com/outerloop-dev/outerloop/functions/workers/brand-checker"
	customerlanguage "github.com/outerloop-dev/outerloop/functions/workers/customer-language"
	"github.com/outerloop-dev/outerloop/functions/workers/internal/campaign"
	"github.com/outerloop-dev/outerloop/pkg/worker/workertest"
)

const body = "\"I lose slips\", says Reid.\n\n38 % of slips are lost (https://a.example/2026/99).\n"

func check(t *testing.T, change func(*brandchecker.Input)) campaign.Verdict {
	t.Helper()
	in := brandchecker.Input{
		Draft: campaign.Draft{Email: campaign.Text{Headline: "Lost", Body: body}, Posts: []string{"Lost.", "38 %.", "Slips."},
			Claims: []campaign.Claim{{Text: "38 % of slips are lost", Source: "S-1"}}},
		Links:   []campaign.Link{{ID: "S-1", Claim: "38 % of slips are lost"}},
		Phrases: []customerlanguage.Phrases{{Quotes: []campaign.Quote{{Text: "I lose slips."}}}},
		Brand:   campaign.Brand{Forbidden: []string{"best", "game-changing"}},
	}
	if change != nil {
		change(&in)
	}
	return workertest.Output[campaign.Verdict](t, workertest.Run(t, brandchecker.Worker, in, workertest.Setup{}))
}

func TestPassesWhatIsSupported(t *testing.T) {
	t.Parallel()
	if v := check(t, nil); len(v.Unsupported)+len(v.Breaches) != 0 {
		t.Errorf("%+v", v)
	}
}

func TestFindsFaults(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*brandchecker.Input)
		text   string
	}{
		"figure":        {func(in *brandchecker.Input) { in.Draft.Email.Body = strings.Replace(body, "38", "83", 1) }, "83"},
		"figure with .": {func(in *brandchecker.Input) { in.Draft.Posts[2] = "Saves 3.8 hours" }, "3.8"},
		"quote":         {func(in *brandchecker.Input) { in.Draft.Email.Body = strings.Replace(body, "lose", "love", 1) }, "I love slips"},
		"claim":         {func(in *brandchecker.Input) { in.Draft.Claims[0].Text = "All slips are lost" }, "All slips are lost"},
		"source":        {func(in *brandchecker.Input) { in.Draft.Claims[0].Source = "S-9" }, "38 % of slips are lost"},
		"word":          {func(in *brandchecker.Input) { in.Draft.Posts[0] = "BEST!" }, "BEST"},
		"joined word":   {func(in *brandchecker.Input) { in.Draft.Landing.Headline = "A game-changing slip" }, "game-changing"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := check(t, c.change)
			if faults := append(v.Unsupported, v.Breaches...); len(faults) != 1 || faults[0].Text != c.text {
				t.Errorf("%+v", v)
			}
		})
	}
}

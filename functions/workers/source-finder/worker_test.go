package sourcefinder_test

import (
	"testing"

	"github.com/outerloop-dev/outerloop/functions/workers/internal/campaign"
	sourcefinder "github.com/outerloop-dev/outerloop/functions/workers/source-finder"
	"github.com/outerloop-dev/outerloop/pkg/worker/workertest"
)

func TestTheNewestFirst(t *testing.T) {
	t.Parallel()
	in := sourcefinder.Input{Count: 2, Links: []campaign.Link{{ID: "a", Date: "2026-01-01"}, {ID: "b", Date: "2026-03-01"}, {ID: "c", Date: "2026-02-01"}}}
	out := workertest.Output[sourcefinder.Output](t, workertest.Run(t, sourcefinder.Worker, in, workertest.Setup{}))
	if len(out.Links) != 2 || out.Links[0].ID != "b" || out.Links[1].ID != "c" {
		t.Errorf("%+v", out)
	}
	in.Count = 9
	if out := workertest.Output[sourcefinder.Output](t, workertest.Run(t, sourcefinder.Worker, in, workertest.Setup{})); len(out.Links) != 3 {
		t.Errorf("%d links", len(out.Links))
	}
}

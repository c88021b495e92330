package approvedsources_test

import (
	"testing"

	approvedsources "github.com/outerloop-dev/outerloop/functions/workers/approved-sources"
	"github.com/outerloop-dev/outerloop/pkg/worker"
	"github.com/outerloop-dev/outerloop/pkg/worker/workertest"
)

func read(t *testing.T, dir string) workertest.Outcome {
	t.Helper()
	return workertest.Run(t, approvedsources.Worker, struct{}{}, workertest.Setup{Connections: map[string]worker.Connection{
		"desk": {Name: "desk", Kind: "files", Settings: map[string]string{"dir": dir}},
	}})
}

// Only what somebody approved, with a claim, a date and an address, may be cited.
func TestReadsWhatIsApproved(t *testing.T) {
	t.Parallel()
	o := read(t, "../../../samples/weekly-campaign/desk")
	out := workertest.Output[approvedsources.Output](t, o)
	if out.Read != 22 || out.Unusable != 5 || len(out.Links) != 13 || len(o.Result.Decisions) != 5 {
		t.Errorf("read %d, unusable %d, %d links: %v", out.Read, out.Unusable, len(out.Links), o.Result.Decisions)
	}
	for _, l := range out.Links {
		if l.ID == "S-10" || l.ID == "S-11" || l.ID == "S-15" || l.ID == "S-19" {
			t.Errorf("%s is not approved", l.ID)
		}
	}
	if o := read(t, t.TempDir()); o.Failure == nil || o.Failure.Class != "missing_input" {
		t.Errorf("without a table: %+v", o.Failure)
	}
}

package voiceexport_test

import (
	"testing"

	voiceexport "github.com/outerloop-dev/outerloop/functions/workers/voice-export"
	"github.com/outerloop-dev/outerloop/pkg/worker"
	"github.com/outerloop-dev/outerloop/pkg/worker/workertest"
)

func read(t *testing.T, dir string) workertest.Outcome {
	t.Helper()
	return workertest.Run(t, voiceexport.Worker, struct{}{}, workertest.Setup{Connections: map[string]worker.Connection{
		"desk": {Name: "desk", Kind: "files", Settings: map[string]string{"dir": dir}},
	}})
}

// Nobody is quoted who did not agree, and nothing without a name or a day.
func TestReadsWhatMayBeQuoted(t *testing.T) {
	t.Parallel()
	o := read(t, "../../../samples/weekly-campaign/desk")
	out := workertest.Output[voiceexport.Output](t, o)
	if out.Read != 28 || out.Unusable != 5 || len(out.Quotes) != 19 {
		t.Errorf("read %d, unusable %d, %d quotes: %v", out.Read, out.Unusable, len(out.Quotes), o.Result.Decisions)
	}
	for _, q := range out.Quotes {
		switch q.ID {
		case "V-010", "V-012", "V-006", "V-013":
			t.Errorf("%s did not agree", q.ID)
		case "V-093":
			if q.Topic != "paperwork" || q.Text != "Slips, slips, and slips." {
				t.Errorf("%+v", q)
			}
		}
	}
	if o := read(t, t.TempDir()); o.Failure == nil || o.Failure.Class != "missing_input" {
		t.Errorf("without a table: %+v", o.Failure)
	}
}

package quarterrecords_test

import (
	"testing"

	quarterrecords "github.com/outerloop-dev/outerloop/functions/workers/quarter-records"
	"github.com/outerloop-dev/outerloop/pkg/worker"
	"github.com/outerloop-dev/outerloop/pkg/worker/workertest"
)

func read(t *testing.T, topic, quarter string) workertest.Outcome {
	t.Helper()
	return workertest.Run(t, quarterrecords.Worker, quarterrecords.Input{Topic: topic, Quarter: quarter}, workertest.Setup{Connections: map[string]worker.Connection{
		"records": {Name: "records", Kind: "files", Settings: map[string]string{"dir": "../../../samples/quarterly-report/records"}},
	}})
}

func TestReadsTheShippedRecords(t *testing.T) {
	t.Parallel()
	for _, topic := range []string{"literature", "patents", "industry"} {
		out := workertest.Output[quarterrecords.Output](t, read(t, topic, "2026-Q3"))
		if out.Unusable != 7 || out.Read < 45 || len(out.Current) < 10 || len(out.Before) < 9 {
			t.Errorf("%s: read %d, unusable %d, current %d, before %d", topic, out.Read, out.Unusable, len(out.Current), len(out.Before))
		}
		for _, r := range out.Current {
			if r.Date < "2026-07-01" || r.Date > "2026-09-30" {
				t.Errorf("%s: %+v", topic, r)
			}
		}
	}
}

func TestWithoutRecords(t *testing.T) {
	t.Parallel()
	for _, c := range [][2]string{{"astrology", "2026-Q3"}, {"patents", "2031-Q1"}, {"patents", "soon"}, {"../secret", "2026-Q3"}} {
		if o := read(t, c[0], c[1]); o.Failure == nil || o.Failure.Class != "missing_input" {
			t.Errorf("%v: %+v", c, o.Failure)
		}
	}
}

package coordinator_test

import (
	"testing"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/coordinator"
)

// A request that nobody decided in time says nothing of the work: it is neither
// counted as reviewed nor as accepted, so that people's absence neither raises
// nor holds down a stage (R43).
func TestExpiredRequestsMeasureNothing(t *testing.T) {
	t.Parallel()
	w := watched(t, "approval")
	decided := 0
	for i, key := range []string{"a", "b"} {
		run := start(t, w, `{"key":"`+key+`","ask":false}`)
		w.run(time.Minute, 100)
		waiting := show(t, w, run).Waiting
		if len(waiting) != 1 {
			t.Fatalf("%+v waits", waiting)
		}
		if i == 0 {
			w.run(14*24*time.Hour, 2000)
			if left := show(t, w, run).Waiting; len(left) > 0 {
				t.Fatalf("%+v waits for ever", left)
			}
		} else if _, err := w.coord.Decide(w.ctx, coordinator.DecideRequest{Approval: waiting[0].ID, Verdict: coordinator.Approve, By: "ann@example.com", Reason: "known"}); err != nil {
			t.Fatal(err)
		} else {
			decided++
		}
		if v := w.trust(); v.Reviewed != int64(decided) || v.Accepted != int64(decided) || v.Breaches != 0 {
			t.Errorf("after %s: %d reviewed, %d accepted, %d breaches", key, v.Reviewed, v.Accepted, v.Breaches)
		}
	}
}

package deployed_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/gate"
)

// A message that ended in the dead-letter queue is answered: the step's rule
// decides, here to leave the deal out; a late copy of the message does nothing.
func TestDeadLetterIsAnswered(t *testing.T) {
	t.Parallel()
	a := newAccount(t, monday)
	a.bucket.put(t, "inputs/"+s1Files, filepath.Join(root, s1Files))
	a.deploy(s1, s1Crew...)
	own := a.queues["acme-lead-qualifier"]
	delete(a.queues, "acme-lead-qualifier") // its consumer is paused
	out, failed := a.fire("2026-11-30T06:00:00Z")
	if failed != "" {
		t.Fatal(failed)
	}
	a.until(monday.Add(time.Minute))
	m, err := a.core.Receive(t.Context(), "acme-lead-qualifier", time.Minute)
	a.must(err)
	if m == nil {
		t.Fatal("no message waits")
	}
	var d gate.Delivery
	a.must(json.Unmarshal(m.Body, &d))
	for range 2 {
		if done, err := a.open().Drain(t.Context(), d); err != nil || !done {
			t.Fatalf("drained: %v, %v", done, err)
		}
	}
	a.until(monday.Add(2 * time.Minute))
	a.deliver(own, m)
	a.queues["acme-lead-qualifier"] = own
	a.decideAll(out.Run)
	show, err := a.open().Show(t.Context(), out.Run)
	a.must(err)
	said := ""
	for _, step := range show.Steps {
		if strings.HasSuffix(step.Path, "/qualify") && step.Outcome == "skipped" {
			said += step.Reason
		}
	}
	if !strings.Contains(said, "without an answer") || show.Status != "completed" {
		t.Errorf("the run is %s; the step says %q", show.Status, said)
	}
	gone := gate.Delivery{Run: "nobody-1", Gen: 1, Step: "x", Token: "t"}
	if done, err := a.open().Drain(t.Context(), gone); err != nil || !done {
		t.Errorf("of a run that is gone: %v, %v", done, err)
	}
}

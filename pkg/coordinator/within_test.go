package coordinator_test

import (
	"strings"
	"testing"
	"time"

	"github.com/outerloop-dev/outerloop"
)

// `within` bounds all attempts and waits of a step together (R34).
func TestWithinBoundsAllAttempts(t *testing.T) {
	t.Parallel()
	w := newWorld(t, files(strings.Replace(draftLoop("{retry: {transient: {times: 9, wait: 60s, factor: 1}}, then: skip}"), "worker: writer", "worker: writer\n    within: 2m", 1), nil))
	usual(w)
	count := failing(w, "writer", outerloop.ClassTransient, 99)
	run := start(t, w, `{"key":"a"}`)
	w.run(20*time.Minute, 500)
	view := want(t, w, run, outerloop.StatusCompleted)
	if s := steps(view)["draft"]; s.Reason != "Worker.Timeout: not done within 2m0s" || *count < 2 || *count > 9 {
		t.Errorf("draft is %+v after %d tries", s, *count)
	}
}

package callback_test

import (
	"os"
	"testing"

	"github.com/outerloop-dev/outerloop/functions/workers/callback"
	"github.com/outerloop-dev/outerloop/pkg/worker"
	"github.com/outerloop-dev/outerloop/pkg/worker/workertest"
)

// A call is listed once, also when the answer was lost and the outcome is
// looked up (R37).
func TestListedOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := workertest.Setup{Action: "schedule-callback", Gate: &workertest.Gate{}, Connections: map[string]worker.Connection{
		"callbacks": {Name: "callbacks", Kind: "files", Settings: map[string]string{"dir": dir}},
	}}
	in := callback.Input{Ticket: "T-1", Phone: "+49 30 5550 117", Topic: "invoice"}
	first := workertest.Output[callback.Output](t, workertest.Run(t, callback.Worker, in, s))
	entry := s.Gate.Log["run:schedule-callback"]
	entry.State, entry.Result = "unknown", nil
	again := workertest.Output[callback.Output](t, workertest.Run(t, callback.Worker, in, s))
	if files, err := os.ReadDir(dir); err != nil || len(files) != 1 || first != again || first.ID == "" {
		t.Errorf("%+v and %+v, %d files, %v", first, again, len(files), err)
	}
}

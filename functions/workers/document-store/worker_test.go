package documentstore_test

import (
	"os"
	"testing"

	documentstore "github.com/outerloop-dev/outerloop/functions/workers/document-store"
	"github.com/outerloop-dev/outerloop/functions/workers/internal/quarterly"
	"github.com/outerloop-dev/outerloop/pkg/worker"
	"github.com/outerloop-dev/outerloop/pkg/worker/workertest"
)

// A report is published once, also when the answer was lost and the outcome is
// looked up (R37).
func TestPublishedOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := workertest.Setup{Action: "publish-report", Gate: &workertest.Gate{}, Connections: map[string]worker.Connection{
		"documents": {Name: "documents", Kind: "files", Settings: map[string]string{"dir": dir}},
	}}
	in := documentstore.Input{Document: quarterly.Document{Title: "T"}}
	first := workertest.Output[documentstore.Output](t, workertest.Run(t, documentstore.Worker, in, s))
	entry := s.Gate.Log["run:publish-report"]
	entry.State, entry.Result = "unknown", nil
	again := workertest.Output[documentstore.Output](t, workertest.Run(t, documentstore.Worker, in, s))
	if files, err := os.ReadDir(dir); err != nil || len(files) != 1 || first != again || first.URL == "" {
		t.Errorf("%+v and %+v, %d files, %v", first, again, len(files), err)
	}
}

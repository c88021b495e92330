package assetstore_test

import (
	"os"
	"testing"

	assetstore "github.com/outerloop-dev/outerloop/functions/workers/asset-store"
	"github.com/outerloop-dev/outerloop/functions/workers/internal/campaign"
	"github.com/outerloop-dev/outerloop/pkg/worker"
	"github.com/outerloop-dev/outerloop/pkg/worker/workertest"
)

// A draft is filed once, also when the answer was lost and the outcome is
// looked up (R37).
func TestFiledOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := workertest.Setup{Action: "file-draft", Gate: &workertest.Gate{}, Connections: map[string]worker.Connection{
		"assets": {Name: "assets", Kind: "files", Settings: map[string]string{"dir": dir}},
	}}
	in := assetstore.Input{Campaign: "CAMPAIGN-2026-W49", Draft: campaign.Draft{Posts: []string{"a", "b", "c"}}}
	first := workertest.Output[assetstore.Output](t, workertest.Run(t, assetstore.Worker, in, s))
	entry := s.Gate.Log["run:file-draft"]
	entry.State, entry.Result = "unknown", nil
	again := workertest.Output[assetstore.Output](t, workertest.Run(t, assetstore.Worker, in, s))
	if files, err := os.ReadDir(dir); err != nil || len(files) != 1 || first != again || first.ID == "" {
		t.Errorf("%+v and %+v, %d files, %v", first, again, len(files), err)
	}
}

package brandrules_test

import (
	"os"
	"path/filepath"
	"testing"

	brandrules "github.com/outerloop-dev/outerloop/functions/workers/brand-rules"
	"github.com/outerloop-dev/outerloop/functions/workers/internal/campaign"
	"github.com/outerloop-dev/outerloop/pkg/worker"
	"github.com/outerloop-dev/outerloop/pkg/worker/workertest"
)

func read(t *testing.T, dir string) workertest.Outcome {
	t.Helper()
	return workertest.Run(t, brandrules.Worker, struct{}{}, workertest.Setup{Connections: map[string]worker.Connection{
		"desk": {Name: "desk", Kind: "files", Settings: map[string]string{"dir": dir}},
	}})
}

func TestReadsTheRules(t *testing.T) {
	t.Parallel()
	if out := workertest.Output[campaign.Brand](t, read(t, "../../../samples/weekly-campaign/desk")); len(out.Forbidden) != 8 || out.Product == "" {
		t.Errorf("%+v", out)
	}
	dir := t.TempDir()
	if o := read(t, dir); o.Failure == nil || o.Failure.Class != "missing_input" {
		t.Errorf("without rules: %+v", o.Failure)
	}
	if err := os.WriteFile(filepath.Join(dir, "brand.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if o := read(t, dir); o.Failure == nil || o.Failure.Class != "missing_input" {
		t.Errorf("torn rules: %+v", o.Failure)
	}
}

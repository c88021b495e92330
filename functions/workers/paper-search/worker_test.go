package papersearch_test

import (
	"testing"

	papersearch "github.com/outerloop-dev/outerloop/functions/workers/paper-search"
	"github.com/outerloop-dev/outerloop/pkg/worker"
	"github.com/outerloop-dev/outerloop/pkg/worker/workertest"
)

func search(t *testing.T, dir, query string) workertest.Outcome {
	t.Helper()
	return workertest.Run(t, papersearch.Worker, papersearch.Input{Query: query, AsOf: "2026-11-27", Days: 14}, workertest.Setup{
		Connections: map[string]worker.Connection{"papers": {Name: "papers", Kind: "files", Settings: map[string]string{"dir": dir}}},
	})
}

func TestFindsNewPapersOnce(t *testing.T) {
	t.Parallel()
	out := workertest.Output[papersearch.Output](t, search(t, "../../../samples/paper-digest/archive", "agent coordination"))
	if out.Read != 32 || out.Unusable != 4 || len(out.Papers) != 14 {
		t.Errorf("read %d, unusable %d, found %d", out.Read, out.Unusable, len(out.Papers))
	}
	for i, p := range out.Papers {
		if p.Published > "2026-11-27" || p.Published < "2026-11-13" || i > 0 && p.ID <= out.Papers[i-1].ID {
			t.Errorf("%+v", p)
		}
	}
}

func TestSearchFails(t *testing.T) {
	t.Parallel()
	if o := search(t, t.TempDir(), "agent"); o.Failure == nil || o.Failure.Class != "transient" {
		t.Errorf("without an index: %+v", o.Failure)
	}
	if o := search(t, "../../../samples/paper-digest/archive", "?!"); o.Failure == nil || o.Failure.Class != "missing_input" {
		t.Errorf("without words: %+v", o.Failure)
	}
}

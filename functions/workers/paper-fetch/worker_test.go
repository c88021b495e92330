package paperfetch_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	paperfetch "github.com/outerloop-dev/outerloop/functions/workers/paper-fetch"
	"github.com/outerloop-dev/outerloop/pkg/worker"
	"github.com/outerloop-dev/outerloop/pkg/worker/workertest"
)

func fetch(t *testing.T, dir, url string) workertest.Outcome {
	t.Helper()
	return workertest.Run(t, paperfetch.Worker, paperfetch.Input{URL: url}, workertest.Setup{
		Connections: map[string]worker.Connection{"papers": {Name: "papers", Kind: "files", Settings: map[string]string{"dir": dir}}},
	})
}

func TestFetchesTextsOnly(t *testing.T) {
	t.Parallel()
	const shipped, at = "../../../samples/paper-digest/archive", "https://papers.example/txt/"
	if out := workertest.Output[paperfetch.Output](t, fetch(t, shipped, at+"2611.00112.txt")); !strings.Contains(out.Text, "LEASES BEAT LOCKS") {
		t.Errorf("%s", out.Text)
	}
	for _, name := range []string{"2611.01044.txt", "2611.01081.txt", "", "..", "%00"} {
		if o := fetch(t, shipped, at+name); o.Failure == nil || o.Failure.Class != "missing_input" {
			t.Errorf("%q: %+v", name, o.Failure)
		}
	}
}

func TestRefusesWhatCannotBeRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, content := range map[string]string{"empty.txt": " \n", "long.txt": strings.Repeat("a ", 100_001), "latin.txt": "Z\xfcrich"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if o := fetch(t, dir, "https://papers.example/"+name); o.Failure == nil || o.Failure.Class != "missing_input" {
			t.Errorf("%s: %+v", name, o.Failure)
		}
	}
}

package sourcesearch_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	sourcesearch "github.com/outerloop-dev/outerloop/functions/workers/source-search"
	"github.com/outerloop-dev/outerloop/pkg/worker"
	"github.com/outerloop-dev/outerloop/pkg/worker/workertest"
)

func ask(t *testing.T, dir, title, question string) workertest.Outcome {
	t.Helper()
	var in sourcesearch.Input
	in.Topic.Title, in.Topic.Question, in.Count = title, question, 6
	return workertest.Run(t, sourcesearch.Worker, in, workertest.Setup{Connections: map[string]worker.Connection{
		"library": {Name: "library", Kind: "files", Settings: map[string]string{"dir": dir}},
	}})
}

const shipped = "../../../samples/market-research/library"

func TestFindsTheShippedClippings(t *testing.T) {
	t.Parallel()
	o := ask(t, shipped, "Subsidies", "Which grant or subsidy programme pays for commercial cargo bikes?")
	out := workertest.Output[sourcesearch.Output](t, o)
	if out.Read != 44 || out.Unusable != 5 || len(out.Sources) != 5 {
		t.Errorf("read %d, unusable %d, found %d", out.Read, out.Unusable, len(out.Sources))
	}
	for _, s := range out.Sources {
		if !strings.HasPrefix(s.ID, "C-5") || strings.ContainsAny(s.Text, "<>&\u00a0") {
			t.Errorf("%+v", s)
		}
	}
}

func TestSaysWhenThereIsNothing(t *testing.T) {
	t.Parallel()
	o := ask(t, shipped, "Insurance", "Which insurers cover commercial pedelecs, and at what premium?")
	if o.Failure == nil || o.Failure.Class != "missing_input" || !strings.Contains(o.Failure.Message, "nothing on \"Insurance\"") {
		t.Errorf("%+v", o.Failure)
	}
	if o := ask(t, filepath.Join(t.TempDir(), "gone"), "A", "B"); o.Failure == nil || o.Failure.Class != "transient" {
		t.Errorf("without a library: %+v", o.Failure)
	}
}

func TestWordsOfAllClippingsTellNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	line := `{"id": "%", "date": "2026-01-01", "publisher": "P", "title": "T", "text": "cargo bike everywhere"}` + "\n"
	content := strings.ReplaceAll(line, "%", "1") + strings.ReplaceAll(line, "%", "2") + strings.ReplaceAll(line, "%", "3")
	if err := os.WriteFile(filepath.Join(dir, "clippings.jsonl"), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if o := ask(t, dir, "Cargo bikes", "Everywhere?"); o.Failure == nil || o.Failure.Class != "missing_input" {
		t.Errorf("%+v", o)
	}
}

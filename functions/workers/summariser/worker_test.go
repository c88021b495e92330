package summariser_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/outerloop-dev/outerloop/functions/workers/summariser"
	"github.com/outerloop-dev/outerloop/pkg/worker/workertest"
)

func summarise(t *testing.T, text string) (summariser.Output, workertest.Outcome) {
	t.Helper()
	o := workertest.Run(t, summariser.Worker, summariser.Input{Text: text}, workertest.Setup{})
	return workertest.Output[summariser.Output](t, o), o
}

// Every sentence of a summary stands in the paper, whatever its line ends,
// broken words and ligatures.
func TestSentencesStandInThePaper(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../../samples/paper-digest/archive/*.txt")
	if err != nil || len(files) < 12 {
		t.Fatalf("%d texts, %v", len(files), err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if len(raw) < 200 { // withdrawn, or no text
			continue
		}
		out, o := summarise(t, string(raw))
		if len(out.Findings) == 0 || len(out.Limits) != 1 || len(o.Result.Evidence) != len(out.Findings)+1 {
			t.Errorf("%s: %+v", file, out)
		}
		paper := letters(string(raw))
		for _, s := range append(out.Findings, out.Limits...) {
			if !strings.Contains(paper, letters(s.Text)) || strings.ContainsAny(s.Text, "\r\n\fﬁﬂ") || strings.HasPrefix(s.At, "References") {
				t.Errorf("%s: %+v", file, s)
			}
		}
	}
}

// letters is a text without what line breaking and type setting change.
func letters(text string) string {
	return strings.NewReplacer("ﬁ", "fi", "ﬂ", "fl", " ", "", "\n", "", "\r", "", "\f", "", "-", "").Replace(text)
}

func TestNothingToSummarise(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "This paper has been withdrawn\n", "Abstract\n\nReferences\n[1] Results. 2024.\n"} {
		out, o := summarise(t, text)
		if len(out.Findings)+len(out.Limits)+len(o.Result.Evidence) != 0 || o.Result.Confidence != "low" {
			t.Errorf("%q: %+v", text, out)
		}
	}
}

func FuzzSummarise(f *testing.F) {
	f.Add("Abstract\nA is 1. B is 2.\n2 Results\nIt holds! Does it? Yes.\nReferences\n")
	f.Fuzz(func(t *testing.T, text string) {
		out, _ := summarise(t, text)
		if len(out.Findings) > 3 || len(out.Limits) > 1 {
			t.Errorf("%+v", out)
		}
	})
}

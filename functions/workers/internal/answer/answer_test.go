package answer_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/outerloop-dev/outerloop/functions/workers/internal/answer"
	"github.com/outerloop-dev/outerloop/pkg/worker"
	"github.com/outerloop-dev/outerloop/pkg/worker/workertest"
)

func TestWords(t *testing.T) {
	t.Parallel()
	text := answer.Plain("<p>Kündigen &amp; <b>REFUND</b>,\n> error\nforefund apis api.</p>\n-- \ninvoice")
	if found := answer.Words(text, []string{"kündigen", "refund", "error", "api", "invoice", "money back"}); !slices.Equal(found, []string{"kündigen", "refund", "api"}) {
		t.Errorf("%v in %q", found, text)
	}
}

// Two words make an article fit, one is a guess, none is refused.
func TestFrom(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, content := range map[string]string{
		"a.json": `[{"id":"x","words":["invoice","card"],"answer":"X"},{"id":"y","words":["invoice","address","card"],"answer":"Y"}]`,
		"b.json": `[{"id":"z","words":["login"],"answer":"Z"}]`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w := worker.New("w", 1, answer.From("a", "b"))
	for text, want := range map[string]struct {
		article    string
		confidence worker.Confidence
	}{
		"the address on my invoice": {"a/y", worker.High},
		"invoice, card":             {"a/x", worker.High}, // the first of equals
		"my login":                  {"b/z", worker.Low},
		"nothing":                   {},
	} {
		o := workertest.Run(t, w, answer.Input{Text: text}, workertest.Setup{
			Connections: map[string]worker.Connection{"knowledge": {Name: "knowledge", Kind: "files", Settings: map[string]string{"dir": dir}}},
		})
		if want.article == "" {
			if o.Failure == nil || string(o.Failure.Class) != "refused" {
				t.Errorf("%q: %+v", text, o.Failure)
			}
			continue
		}
		out := workertest.Output[answer.Output](t, o)
		if out.Article != want.article || o.Result.Confidence != want.confidence || out.Text != strings.ToUpper(want.article[2:]) {
			t.Errorf("%q: %+v, %s", text, out, o.Result.Confidence)
		}
	}
}

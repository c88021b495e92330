package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/outerloop-dev/outerloop/cmd/outerloop/cli"
)

// assets are the filed drafts.
func (b *bundle) assets() []string {
	b.t.Helper()
	files, err := filepath.Glob(filepath.Join(b.dir, ".outerloop/assets/*.json"))
	if err != nil {
		b.t.Fatal(err)
	}
	var out []string
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			b.t.Fatal(err)
		}
		out = append(out, string(content))
	}
	return out
}

// S4: without the desk's facts nothing is drafted; with them the first draft is
// found fault with, the second is filed, once.
func TestWeeklyCampaign(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.want(cli.ExitFailed, "run", "weekly-campaign", "--as-of", "2026-11-23").has(t, "is not there", "1 exception needs a decision") // whichever of the two came first
	if n := len(b.assets()); n != 0 {
		t.Errorf("%d assets of nothing", n)
	}
	b.want(0, "cancel", b.newest(), "--by", "editor@acme.example", "--reason", "the desk was not read")
	b.want(0, "run", "campaign-desk", "--as-of", "2026-11-30").has(t, "completed")
	b.want(0, "run", "weekly-campaign", "--as-of", "2026-11-30").has(t, "completed")
	steps := object(t, b.want(0, "show", b.newest(), "-o", "json").out)["steps"].([]any)
	for _, step := range steps {
		if s := step.(document); s["path"] == "draft" && s["attempts"] != 2.0 {
			t.Errorf("the draft took %v attempts, want 2", s["attempts"])
		}
	}
	filed := b.assets()
	if len(filed) != 1 || strings.Contains(filed[0], "best") || !strings.Contains(filed[0], "try to remember Monday") {
		t.Errorf("filed: %v", filed)
	}
	b.want(0, "run", "weekly-campaign", "--as-of", "2026-12-02").has(t, "duplicate of")
	if again := b.assets(); len(again) != 1 {
		t.Errorf("%d assets after a second run", len(again))
	}
}

// A breach that revisions cannot mend goes to a person, once, with what was found.
func TestWeeklyCampaignGoesToAPerson(t *testing.T) {
	t.Parallel()
	b := setup(t)
	file := filepath.Join(b.dir, "samples/weekly-campaign/desk/brand.json")
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(strings.Replace(string(content), `"world-class"`, `"paperwork"`, 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	b.want(0, "run", "campaign-desk", "--as-of", "2026-11-30")
	b.want(cli.ExitWaiting, "run", "weekly-campaign", "--as-of", "2026-11-30")
	waiting := list(t, b.want(0, "approvals", "-o", "json").out)
	if len(waiting) != 1 || waiting[0]["step"] != "draft.review" && waiting[0]["step"] != "draft" || len(b.assets()) != 0 {
		t.Fatalf("%d approvals, %d assets: %v", len(waiting), len(b.assets()), waiting)
	}
	b.want(0, "approve", waiting[0]["id"].(string), "--by", "editor@acme.example", "--reason", "the word is a source's own")
	if filed := b.assets(); len(filed) != 1 {
		t.Errorf("%d assets after the approval", len(filed))
	}
}

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/outerloop-dev/outerloop/cmd/outerloop/cli"
)

// S7: a digest of the shipped papers; in the next week the search is down, and
// the digest is made of the last results and says so (R40).
func TestPaperDigest(t *testing.T) {
	t.Parallel()
	b := setup(t)
	run := func(day string) []string {
		return []string{"run", "paper-digest", "--input", "samples/paper-digest/query.json", "--as-of", day}
	}
	digest := func() document {
		show := object(t, b.want(0, "show", b.newest(), "-o", "json").out)
		return show["output"].(document)["digest"].(document)
	}
	b.want(0, run("2026-11-27")...).has(t, "completed", "papers-digest.html")
	first := digest()
	if items, gaps := len(first["items"].([]any)), fmt.Sprint(first["gaps"]); items != 11 || first["cached"] != false ||
		!strings.Contains(gaps, "2611.01044 why:the archive has no text") && !strings.Contains(gaps, "the archive has no text") ||
		!strings.Contains(gaps, "is no text") || !strings.Contains(gaps, "Each claim cites a place in the paper.") {
		t.Errorf("%d items, gaps %s", items, gaps)
	}

	index := filepath.Join(b.dir, "samples/paper-digest/archive/index.jsonl")
	if err := os.Rename(index, index+".away"); err != nil {
		t.Fatal(err)
	}
	b.want(0, run("2026-12-04")...).has(t, "completed", "substituted")
	second := digest()
	if second["cached"] != true || len(second["items"].([]any)) != 11 || second["note"] != "The search was down: these are the papers found on 2026-11-27." {
		t.Errorf("cached %v, note %v", second["cached"], second["note"])
	}
}

// Without earlier results there is nothing to fall back on.
func TestPaperDigestWithoutAnything(t *testing.T) {
	t.Parallel()
	b := setup(t)
	if err := os.Remove(filepath.Join(b.dir, "samples/paper-digest/archive/index.jsonl")); err != nil {
		t.Fatal(err)
	}
	b.want(cli.ExitWaiting, "run", "paper-digest", "--input", "samples/paper-digest/query.json", "--as-of", "2026-11-27").has(t, "the search is down", "fact papers/last is not there")
}

package promises

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var named = regexp.MustCompile("`([a-z0-9]+)\\.(Test[A-Za-z0-9]+)`")

// tests are the repository's tests as package.Test, of packages by their own
// name without _test.
func tests(t *testing.T, root string) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (strings.HasPrefix(entry.Name(), ".") && path != root || entry.Name() == "testdata" || entry.Name() == "build"):
			return fs.SkipDir
		case entry.IsDir() || !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") {
				all[strings.TrimSuffix(file.Name.Name, "_test")+"."+f.Name.Name] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Every test that the page names exists, and every promise, an item of a list
// outside of "Not promised" and what explains it, names at least one.
func TestEveryPromiseHasItsTest(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../../docs/guarantees.md")
	if err != nil {
		t.Fatal(err)
	}
	known := tests(t, "../..")
	page := string(raw)
	found := named.FindAllStringSubmatch(page, -1)
	if len(found) < 60 {
		t.Fatalf("the page names %d tests", len(found))
	}
	for _, m := range found {
		if !known[m[1]+"."+m[2]] {
			t.Errorf("there is no test %s in a package %s", m[2], m[1])
		}
	}
	for _, item := range promises(page) {
		if !named.MatchString(item) && !strings.HasPrefix(item, "`retry`") {
			t.Errorf("this promise names no test: %s", item)
		}
	}
}

// Every pitfall of the page names tests, all of which exist, and no line of what
// the page is made from, where that is at hand, is without a row.
func TestEveryPitfallHasItsTest(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../../docs/pitfalls.md")
	if err != nil {
		t.Fatal(err)
	}
	known, rows := tests(t, "../.."), map[string]int{}
	section := ""
	for _, line := range strings.Split(string(raw), "\n") {
		if name, ok := strings.CutPrefix(line, "## "); ok {
			section, _, _ = strings.Cut(name, " ")
			section = strings.TrimSuffix(section, "s")
		}
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| pitfall ") {
			continue
		}
		rows[section]++
		found := named.FindAllStringSubmatch(line, -1)
		if len(found) == 0 || strings.Count(line, " | ") != 2 {
			t.Errorf("this row names no test, or has not three columns: %s", line)
		}
		for _, m := range found {
			if !known[m[1]+"."+m[2]] {
				t.Errorf("there is no test %s in a package %s", m[2], m[1])
			}
		}
	}
	for section, want := range behaviours(t) {
		if rows[section] < want {
			t.Errorf("%d rows of %q, of at least %d pitfalls", rows[section], section, want)
		}
	}
}

// behaviours counts the lines of the list of known pitfalls, by section, where it
// is at hand.
func behaviours(t *testing.T) map[string]int {
	t.Helper()
	want := map[string]int{"Start": 5, "Action": 3, "Model": 4, "Failure": 6}
	raw, err := os.ReadFile("../../../shared/PITFALLS.md")
	if err != nil {
		return want
	}
	clear(want)
	section := ""
	for _, line := range strings.Split(string(raw), "\n") {
		if name, ok := strings.CutPrefix(line, "## "); ok {
			section, _, _ = strings.Cut(name, " ")
			section = strings.TrimSuffix(section, "s")
		}
		if strings.HasPrefix(line, "- ") && slices.Contains([]string{"Start", "Action", "Model", "Failure"}, section) {
			want[section]++
		}
	}
	return want
}

// promises are the items of the page's lists.
func promises(page string) []string {
	var items []string
	for _, line := range strings.Split(page, "\n") {
		switch {
		case strings.HasPrefix(line, "- "):
			items = append(items, strings.TrimPrefix(line, "- "))
		case strings.HasPrefix(line, "  ") && len(items) > 0:
			items[len(items)-1] += " " + strings.TrimSpace(line)
		}
	}
	return items
}

// The page's own check sees a test that is not there.
func TestAMissingTestIsSeen(t *testing.T) {
	t.Parallel()
	if tests(t, "../..")["coordinator.TestNobodyWrote"] {
		t.Error("a test that nobody wrote was found")
	}
	if got := promises("- one\n  more\n\ntext\n- two `x.TestY`\n"); len(got) != 2 || got[0] != "one more" || !named.MatchString(got[1]) {
		t.Errorf("items are %q", got)
	}
}

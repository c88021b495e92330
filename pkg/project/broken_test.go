package project

import (
	"flag"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/outerloop-dev/outerloop/pkg/problem"
)

var update = flag.Bool("update", false, "write the golden messages of the broken files anew")

// baseFiles are the files of a project without problems.
func baseFiles(t testing.TB) texts {
	t.Helper()
	files := texts{}
	root := os.DirFS("testdata/base")
	err := fs.WalkDir(root, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		raw, err := fs.ReadFile(root, path)
		files[path] = string(raw)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

var workerName = regexp.MustCompile(`(?m)^worker: (\S+)$`)

// placeOf is where a broken file belongs: it replaces a right one.
func placeOf(name, text string) string {
	switch {
	case strings.HasSuffix(name, LoopSuffix):
		return LoopDir + "/good" + LoopSuffix
	case strings.HasSuffix(name, ".charter.yaml"):
		return WorkerDir + "/" + workerName.FindStringSubmatch(text)[1] + "/" + CharterFile
	}
	return File
}

// Every broken file gets exactly the messages beside it: place, line, carets, code, remedy.
func TestBrokenFilesSayWhatIsWrong(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob("testdata/broken/*.yaml")
	if err != nil || len(names) < 100 {
		t.Fatalf("found %d broken files: %v", len(names), err)
	}
	base := baseFiles(t)
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".yaml"), func(t *testing.T) {
			t.Parallel()
			raw, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			files := maps.Clone(base)
			files[placeOf(name, string(raw))] = string(raw)
			_, ps := Load(files)
			compareGolden(t, strings.TrimSuffix(name, ".yaml")+".want", ps)
		})
	}
}

func compareGolden(t *testing.T, file string, ps problem.Problems) {
	t.Helper()
	var b strings.Builder
	if err := ps.Print(&b); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if len(ps) == 0 {
		t.Error("no problem was found")
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("other messages (-want +got):\n%s", diff)
	}
	for _, p := range ps {
		if _, known := problem.Lookup(p.Code); !known {
			t.Errorf("%s is not in the table of codes", p.Code)
		}
	}
}

func TestTheBaseProjectIsRight(t *testing.T) {
	t.Parallel()
	p, ps := Load(baseFiles(t))
	if len(ps) > 0 {
		t.Fatal(ps)
	}
	if diff := cmp.Diff([]string{"forms", "good", "other"}, p.Names()); diff != "" {
		t.Error(diff)
	}
}

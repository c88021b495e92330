package folder_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/functions/workers/internal/folder"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

func open(t *testing.T, dir string) folder.Folder {
	t.Helper()
	f, err := folder.Of(worker.Connection{Name: "store", Kind: "files", Settings: map[string]string{"dir": dir}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestReads(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("first"), 0o600); err != nil {
		t.Fatal(err)
	}
	f := open(t, dir)
	if content, err := f.Read("a.txt"); err != nil || string(content) != "first" {
		t.Errorf("%q, %v", content, err)
	}
	if _, err := f.Read("b.txt"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
}

func TestNamesNeverLeadOut(t *testing.T) {
	t.Parallel()
	f := open(t, t.TempDir())
	for _, name := range []string{"", "..", ".hidden", "../x", "a/b", `a\b`, "C:x", "a\x00b"} {
		if _, err := f.Read(name); worker.FailureOf(err).Class != outerloop.ClassMissingInput {
			t.Errorf("reading %q: %v", name, err)
		}
	}
}

func TestOfWantsFiles(t *testing.T) {
	t.Parallel()
	for _, c := range []worker.Connection{{Kind: "http"}, {Kind: "files"}} {
		if _, err := folder.Of(c, nil); worker.FailureOf(err).Class != outerloop.ClassFatal {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

func TestLinesRejectWhatIsNoRecord(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "x.jsonl"), []byte("{\"n\": 1}\r\n\n{\"n\": \"x\"}\n{\"n\n\xff\n{\"n\": 6}"), 0o600); err != nil {
		t.Fatal(err)
	}
	var taken, rejected []int
	err := folder.Lines(open(t, dir), "x.jsonl", func(line int, r struct{ N int }) {
		if r.N != line {
			t.Errorf("line %d holds %d", line, r.N)
		}
		taken = append(taken, line)
	}, func(line int, _ string) { rejected = append(rejected, line) })
	if err != nil || !slices.Equal(taken, []int{1, 6}) || !slices.Equal(rejected, []int{3, 4, 5}) {
		t.Errorf("taken %v, rejected %v, %v", taken, rejected, err)
	}
}

func TestTable(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, content := range map[string]string{
		"good.csv": "\xef\xbb\xbfid,text\n1,\" a\nb \"\n2\n3,\xff\n4,d\n", "other.csv": "id,name\n1,a\n", "torn.csv": "id,text\n1,\"a\n", "empty.csv": "",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	var rejected []int
	read := func(name string) error {
		return folder.Table(open(t, dir), name, []string{"id", "text"}, func(_ int, c map[string]string) { got = append(got, c["id"]+c["text"]) },
			func(row int, _ string) { rejected = append(rejected, row) })
	}
	if err := read("good.csv"); err != nil || !slices.Equal(got, []string{"1a b", "4d"}) || !slices.Equal(rejected, []int{3, 4}) {
		t.Errorf("%v, rejected %v, %v", got, rejected, err)
	}
	for _, name := range []string{"other.csv", "torn.csv", "empty.csv"} {
		if err := read(name); worker.FailureOf(err).Class != outerloop.ClassMissingInput {
			t.Errorf("%s: %v", name, err)
		}
	}
}

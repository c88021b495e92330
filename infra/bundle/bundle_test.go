package bundle

import (
	"archive/zip"
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestZip(t *testing.T) {
	t.Parallel()
	files := map[string][]byte{"b/two.txt": []byte("two"), "one.txt": bytes.Repeat([]byte("one "), 1000)}
	first, err := Zip(files, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	for range 10 { // whatever the map's order
		again, err := Zip(files, 0o755)
		if err != nil || !bytes.Equal(first, again) {
			t.Fatal("another zip of the same files", err)
		}
	}
	r, err := zip.NewReader(bytes.NewReader(first), int64(len(first)))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"b/two.txt", "one.txt"} {
		if f := r.File[i]; f.Name != want || f.Mode().Perm() != 0o755 || !f.Modified.Equal(stamp) {
			t.Errorf("%s %s %s", f.Name, f.Mode(), f.Modified)
		}
	}
}

// The same source gives the same bytes, wherever it stands.
func TestBuild(t *testing.T) {
	t.Parallel()
	module := func() string {
		root := t.TempDir()
		for name, text := range map[string]string{
			"go.mod":              "module example.org/functions\n\ngo 1.26\n",
			"hello/main.go":       "package main\n\nfunc main() { println(\"hello\") }\n",
			"library/library.go":  "package library\n",
			"broken/main.go":      "package main\n\nfunc main() { undefined() }\n",
			"other/lambda/one.go": "package main\n\nfunc main() {}\n",
		} {
			file := filepath.Join(root, name)
			if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil {
				t.Fatal(err)
			}
		}
		return root
	}
	var both [2][]byte
	for i := range both {
		b := Builder{Root: module(), Out: t.TempDir(), Arch: ARM64}
		zips, err := b.Build(t.Context(), "./hello", "./other/lambda", "./hello")
		if err != nil || len(zips) != 2 {
			t.Fatal(zips, err)
		}
		if both[i], err = os.ReadFile(zips["./hello"]); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(both[0], both[1]) {
		t.Error("the same source gave other bytes elsewhere")
	}
	b := Builder{Root: module(), Out: t.TempDir(), Arch: ARM64}
	for _, name := range []string{"./library", "./absent"} {
		if _, err := b.Build(t.Context(), "./hello", name); !errors.Is(err, ErrNoPackage) || !strings.Contains(err.Error(), strings.TrimPrefix(name, "./")) {
			t.Errorf("%s: %v", name, err)
		}
	}
	b.Largest = -1 // of any size
	if _, err := b.Build(t.Context(), "./hello"); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a zip that is too large: %v", err)
	}
	if _, err := b.Build(t.Context(), "./broken"); err == nil || !strings.Contains(err.Error(), "undefined: undefined") {
		t.Errorf("a package that does not compile: %v", err)
	}
}

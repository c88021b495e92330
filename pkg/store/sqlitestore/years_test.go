package sqlitestore_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/outerloop-dev/outerloop/pkg/store"
	"github.com/outerloop-dev/outerloop/pkg/store/sqlitestore"
)

// filled is a closed store with items, index entries and a blob in it.
func filled(t *testing.T, n int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "state.db")
	s, err := sqlitestore.Open(path, sqlitestore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	fill(t, s, n)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func fill(t *testing.T, s *sqlitestore.Store, n int) {
	t.Helper()
	for i := range n {
		item := store.Item{
			Key:  store.Key{Part: fmt.Sprintf("RUN#%d", i%10), Sort: fmt.Sprintf("%06d", i)},
			Body: []byte(strings.Repeat("x", 2000)), Numbers: map[string]int64{"n": int64(i)},
			List: &store.IndexKey{Part: "LIST", Sort: fmt.Sprintf("%06d", i)}, Expires: int64(1000 + i),
		}
		if err := s.Apply(t.Context(), fmt.Sprint(i), store.Create(item)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.PutBlob(t.Context(), []byte("kept for years")); err != nil {
		t.Fatal(err)
	}
}

func hashOf(t *testing.T, path string) [32]byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return sha256.Sum256(content)
}

func overwrite(t *testing.T, path string, at int64, content string) {
	t.Helper()
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = file.WriteAt([]byte(content), at)
	if err := errors.Join(err, file.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestRefusedFiles: each kind of file that is no store of ours has an error of
// its own, names the file, and stays as it is.
func TestRefusedFiles(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoil func(t *testing.T, path string)
		want  error
	}{
		"text":            {func(t *testing.T, path string) { overwrite(t, path, 0, strings.Repeat("text ", 100)) }, sqlitestore.ErrNotStore},
		"truncated":       {func(t *testing.T, path string) { truncate(t, path, 3*8192) }, store.ErrCorrupt},
		"cut in a page":   {func(t *testing.T, path string) { truncate(t, path, 5000) }, store.ErrCorrupt},
		"schema is gone":  {func(t *testing.T, path string) { overwrite(t, path, 100, strings.Repeat("\xff", 4000)) }, store.ErrCorrupt},
		"newer":           {func(t *testing.T, path string) { raw(t, path, "PRAGMA user_version = 99") }, sqlitestore.ErrNewer},
		"another program": {func(t *testing.T, path string) { raw(t, path, "PRAGMA application_id = 1") }, sqlitestore.ErrNotStore},
		"a directory": {func(t *testing.T, path string) {
			if err := errors.Join(os.Remove(path), os.Mkdir(path, 0o700)); err != nil {
				t.Fatal(err)
			}
		}, sqlitestore.ErrNotStore},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filled(t, 50)
			c.spoil(t, path)
			var before [32]byte
			if name != "a directory" {
				before = hashOf(t, path)
			}
			_, err := sqlitestore.Open(path, sqlitestore.Options{})
			_, readErr := sqlitestore.OpenReadOnly(path)
			for _, err := range []error{err, readErr} {
				if !errors.Is(err, c.want) || !strings.Contains(fmt.Sprint(err), path) {
					t.Errorf("got %v, want %v", err, c.want)
				}
			}
			if name != "a directory" && hashOf(t, path) != before {
				t.Error("the refused file was changed")
			}
		})
	}
}

func truncate(t *testing.T, path string, size int64) {
	t.Helper()
	if err := os.Truncate(path, size); err != nil {
		t.Fatal(err)
	}
}

// TestMissingFile: reading creates nothing.
func TestMissingFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "none", "state.db")
	if _, err := sqlitestore.OpenReadOnly(path); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("got %v", err)
	}
	if _, err := os.Stat(filepath.Dir(path)); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("reading created a directory: %v", err)
	}
}

// TestDamageInside: what is damaged where Open does not look is found by Check
// and never read as something else.
func TestDamageInside(t *testing.T) {
	t.Parallel()
	path := filled(t, 500)
	size, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	for at := int64(10 * 8192); at < size.Size(); at += 8192 {
		overwrite(t, path, at, strings.Repeat("\xee", 64))
	}
	s, err := sqlitestore.Open(path, sqlitestore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Check(t.Context()); !errors.Is(err, store.ErrCorrupt) {
		t.Fatalf("checking: %v", err)
	}
	corrupt := 0
	for i := range 500 {
		key := store.Key{Part: fmt.Sprintf("RUN#%d", i%10), Sort: fmt.Sprintf("%06d", i)}
		items, err := s.Get(t.Context(), key)
		switch {
		case errors.Is(err, store.ErrCorrupt):
			corrupt++
		case err != nil:
			t.Fatalf("reading: %v", err)
		case items[0] != nil && items[0].Numbers["n"] != int64(i):
			t.Fatalf("item %d reads as %+v", i, items[0])
		}
	}
	if corrupt == 0 {
		t.Fatal("no read met the damage")
	}
}

func TestCheckSound(t *testing.T) {
	t.Parallel()
	path, s := open(t, sqlitestore.Options{})
	fill(t, s, 100)
	if err := s.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	damageBlob(t, path, store.BlobRef([]byte("kept for years")))
	if err := s.Check(t.Context()); !errors.Is(err, store.ErrCorrupt) {
		t.Fatalf("a damaged blob: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Check(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("a check that was given up: %v", err)
	}
}

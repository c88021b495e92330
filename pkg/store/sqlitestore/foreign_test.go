package sqlitestore_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/outerloop-dev/outerloop/pkg/store"
	"github.com/outerloop-dev/outerloop/pkg/store/sqlitestore"
)

// TestBackupBesideAnOldLog: after a crash a backup is put in the file's place and
// the log of the crashed one left there. The two are never mixed; once the log is
// away the backup is there as it was made.
func TestBackupBesideAnOldLog(t *testing.T) {
	t.Parallel()
	crashed, s := open(t, sqlitestore.Options{})
	fill(t, s, 50)
	backup := filepath.Join(t.TempDir(), "backup.db")
	if err := s.Backup(t.Context(), backup); err != nil {
		t.Fatal(err)
	}
	for n := range 30 { // they stand in the log only
		if err := s.Write(t.Context(), "more", store.Create(store.Item{Key: store.Key{Part: "LATER", Sort: string(rune('a' + n))}})); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(t.TempDir(), "state.db")
	copied(t, backup, path)
	copied(t, crashed+"-wal", path+"-wal")
	before := hashOf(t, path)
	var foreign *sqlitestore.ForeignLogError
	if _, err := sqlitestore.Open(path, sqlitestore.Options{}); !errors.As(err, &foreign) || foreign.Log != path+"-wal" {
		t.Errorf("opened for writing: %v", err)
	}
	if _, err := sqlitestore.OpenReadOnly(path); !errors.Is(err, sqlitestore.ErrForeignLog) {
		t.Errorf("opened for reading: %v", err)
	}
	if hashOf(t, path) != before {
		t.Error("the backup was changed")
	}
	if err := os.Rename(path+"-wal", path+"-wal.old"); err != nil {
		t.Fatal(err)
	}
	again, err := sqlitestore.Open(path, sqlitestore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	page, err := again.List(t.Context(), store.Query{Index: store.ByList, Part: "LIST"})
	if err := errors.Join(err, again.Check(t.Context()), again.Close()); err != nil || len(page.Items) != 50 {
		t.Errorf("the backup holds %d items, %v", len(page.Items), err)
	}
}

func copied(t *testing.T, from, to string) {
	t.Helper()
	content, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestThroughALink: a store that is opened through a symbolic link is the file's,
// with the file's log.
func TestThroughALink(t *testing.T) {
	t.Parallel()
	path, s := open(t, sqlitestore.Options{})
	fill(t, s, 20) // in the log, not yet in the file
	link := filepath.Join(t.TempDir(), "link.db")
	if err := os.Symlink(path, link); err != nil {
		t.Skip(err)
	}
	linked, err := sqlitestore.OpenReadOnly(link)
	if err != nil {
		t.Fatal(err)
	}
	page, err := linked.List(t.Context(), store.Query{Index: store.ByList, Part: "LIST"})
	if err := errors.Join(err, linked.Check(t.Context()), linked.Close()); err != nil || len(page.Items) != 20 {
		t.Errorf("%d items through the link, %v", len(page.Items), err)
	}
	if _, err := os.Stat(link + "-wal"); err == nil {
		t.Error("a log stands beside the link")
	}
}

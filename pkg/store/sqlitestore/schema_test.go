package sqlitestore

import (
	"database/sql/driver"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestEveryVersionIsKept: each version has its migration and a store that it
// wrote, and that store, migrated, has the schema of a new one: a released
// migration that was changed, or one that is missing, shows here.
func TestEveryVersionIsKept(t *testing.T) {
	t.Parallel()
	fresh := schemaOf(t, filepath.Join(t.TempDir(), "new.db"))
	for version := 1; version <= schemaVersion; version++ {
		if len(migrations[version-1]) == 0 {
			t.Errorf("nothing leads from version %d to %d", version-1, version)
		}
		content, err := os.ReadFile(fmt.Sprintf("testdata/v%d.db", version))
		if err != nil {
			t.Errorf("version %d has no store (go test -record ./pkg/store/sqlitestore writes one): %v", version, err)
			continue
		}
		path := filepath.Join(t.TempDir(), "old.db")
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		db, err := dialReadOnly(path, url.Values{"mode": {"ro"}})
		if err != nil {
			t.Fatal(err)
		}
		if of, err := db.number("PRAGMA user_version"); err != nil || of != int64(version) {
			t.Errorf("the store of version %d is of %d, %v", version, of, err)
		}
		if err := db.close(); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(fresh, schemaOf(t, path)); diff != "" {
			t.Errorf("a store of version %d, migrated, is not as a new one (-new +migrated):\n%s", version, diff)
		}
	}
}

// schemaOf opens a store for writing, which creates or migrates it, and gives its schema.
func schemaOf(t *testing.T, path string) string {
	t.Helper()
	s, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	err = s.db.query("SELECT name, coalesce(sql, '') FROM sqlite_schema ORDER BY name", func(row []driver.Value) error {
		lines = append(lines, fmt.Sprint(row[0], " ", row[1]))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return strings.Join(lines, "\n")
}

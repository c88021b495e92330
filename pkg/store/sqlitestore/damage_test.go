package sqlitestore_test

import (
	"database/sql"
	"testing"

	_ "modernc.org/sqlite"

	"github.com/outerloop-dev/outerloop/pkg/store"
)

func damageBlob(t *testing.T, path, ref string) {
	t.Helper()
	hash, err := store.ParseBlobRef(ref)
	if err != nil {
		t.Fatal(err)
	}
	raw(t, path, "UPDATE blob SET content = CAST('X' || substr(content, 2) AS BLOB) WHERE hash = ?", hash)
}

// raw changes a file behind the store's back.
func raw(t *testing.T, path, statement string, args ...any) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), statement, args...); err != nil {
		t.Fatal(err)
	}
}

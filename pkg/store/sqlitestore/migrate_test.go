package sqlitestore_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/outerloop-dev/outerloop/pkg/store"
	"github.com/outerloop-dev/outerloop/pkg/store/sqlitestore"
)

var record = flag.Bool("record", false, "write testdata/v1.db and v1.json anew; only before version 1 is released")

// TestReleasedVersions opens a store of every released version, and finds in it
// what that version's program wrote. To a new version belongs a new pair of
// files; the old ones stay.
func TestReleasedVersions(t *testing.T) {
	t.Parallel()
	if *record {
		writeVersion(t, "testdata/v1")
	}
	files, err := filepath.Glob("testdata/v*.db")
	if err != nil || len(files) == 0 {
		t.Fatalf("no stores of released versions: %v", err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "state.db")
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := sqlitestore.Open(path, sqlitestore.Options{})
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		want, err := os.ReadFile(file[:len(file)-len(".db")] + ".json")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), contents(t, s)); diff != "" {
			t.Errorf("%s reads differently (-want +got):\n%s", file, diff)
		}
		if err := s.Check(t.Context()); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		if err := s.Write(t.Context(), "new", numbered(1)); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		if err := s.Close(); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}

func writeVersion(t *testing.T, name string) {
	t.Helper()
	_, s := open(t, sqlitestore.Options{})
	for i := range 12 {
		item := store.Item{
			Key:     store.Key{Part: fmt.Sprintf("RUN#%d", i%3), Sort: fmt.Sprintf("STEP a/ä#%d", i)},
			Body:    []byte(fmt.Sprintf(`{"step":%d}`, i)),
			Numbers: map[string]int64{"gen": 1, "res.6f-1": int64(i) - 5, "max": 1<<63 - 1},
		}
		if i%2 == 0 {
			item.List, item.Expires = &store.IndexKey{Part: "LOOP", Sort: fmt.Sprint(9 - i)}, 2_000_000_000
		}
		if i%3 == 0 {
			item.Due = &store.IndexKey{Part: "DUE", Sort: "2026-11-30T00:00:00.000Z"}
		}
		if err := s.Write(t.Context(), fmt.Sprint("write ", i), store.Create(item)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Write(t.Context(), "add", store.Add(store.Key{Part: "RUN#0", Sort: "STEP a/ä#0"}, map[string]int64{"gen": 1})); err != nil {
		t.Fatal(err)
	}
	if _, err := s.PutBlob(t.Context(), []byte("a blob of version 1")); err != nil {
		t.Fatal(err)
	}
	_ = os.Remove(name + ".db")
	if err := s.Backup(t.Context(), name+".db"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name+".json", []byte(contents(t, s)), 0o600); err != nil {
		t.Fatal(err)
	}
}

// contents renders everything the test store holds, by all three orders.
func contents(t *testing.T, s *sqlitestore.Store) string {
	t.Helper()
	all := map[string]any{}
	for _, q := range []store.Query{
		{Part: "RUN#0"}, {Part: "RUN#1"}, {Part: "RUN#2"}, {Index: store.ByList, Part: "LOOP"}, {Index: store.ByDue, Part: "DUE"},
	} {
		page, err := s.List(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		all[string(q.Index)+" "+q.Part] = page.Items
	}
	blob, err := s.GetBlob(t.Context(), store.BlobRef([]byte("a blob of version 1")))
	if err != nil {
		t.Fatal(err)
	}
	all["blob"] = string(blob)
	text, err := json.MarshalIndent(all, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text) + "\n"
}

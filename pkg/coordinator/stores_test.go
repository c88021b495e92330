package coordinator_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/store"
	"github.com/outerloop-dev/outerloop/pkg/store/dynamostore"
	"github.com/outerloop-dev/outerloop/pkg/store/sqlitestore"
	"github.com/outerloop-dev/outerloop/pkg/store/storetest/dynamofake"
)

// TestEveryStore runs one whole run, with an approval, an action, a review and a
// halt that is resolved, on every store.
func TestEveryStore(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(t *testing.T) (store.Store, store.Blobs){
		"memory": func(*testing.T) (store.Store, store.Blobs) { m := newMemory(); return m, m },
		"sqlite": func(t *testing.T) (store.Store, store.Blobs) {
			db, err := sqlitestore.Open(filepath.Join(t.TempDir(), "state.db"), sqlitestore.Options{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = db.Close() })
			return db, db
		},
		"dynamo": func(t *testing.T) (store.Store, store.Blobs) {
			s, err := dynamostore.New(dynamostore.Config{
				Client: dynamofake.New("loops"), Objects: dynamofake.NewObjects(), Table: "loops", Bucket: "blobs",
			})
			if err != nil {
				t.Fatal(err)
			}
			return s, s
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, files(eachLoop, nil))
			w.store, w.blobs = open(t)
			w.boot()
			usual(w)
			failing(w, "board", outerloop.ClassFatal, 1)
			run := start(t, w, `{"key":"a","n":3,"ask":true}`)
			w.run(time.Minute, 1000)
			want(t, w, run, outerloop.StatusAwaitingApproval)
			if err := decide(w, asked(t, w), "approve", "bob", ""); err != nil {
				t.Fatal(err)
			}
			w.run(10*time.Minute, 1000)
			view := want(t, w, run, outerloop.StatusCompleted)
			if s := steps(view)["board"]; s.Outcome != outerloop.OutcomeSkipped {
				t.Errorf("board is %+v", s)
			}
			if view.Counts["completed"] != 11 || len(w.provider().effects) != 3 {
				t.Errorf("counts are %v, effects %v", view.Counts, w.provider().effects)
			}
		})
	}
}

package sqlitestore_test

import (
	"path/filepath"
	"testing"

	"github.com/outerloop-dev/outerloop/pkg/store"
	"github.com/outerloop-dev/outerloop/pkg/store/sqlitestore"
)

func TestSmoke(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	path := filepath.Join(t.TempDir(), "a?b#c%.db")
	s, err := sqlitestore.Open(path, sqlitestore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	key := store.Key{Part: "RUN#1", Sort: "RUN"}
	item := store.Item{Key: key, Body: []byte(`{"a":1}`), Numbers: map[string]int64{"left": 5}, List: &store.IndexKey{Part: "L", Sort: "1"}}
	if err := s.Write(ctx, "w1", store.Create(item)); err != nil {
		t.Fatal(err)
	}
	if err := s.Write(ctx, "w1", store.Create(item)); !store.Won(err) {
		t.Fatal(err)
	}
	if err := s.Apply(ctx, "w2", store.Add(key, map[string]int64{"left": -3}, store.AtLeast("left", 3))); err != nil {
		t.Fatal(err)
	}
	if err := s.Apply(ctx, "w3", store.Add(key, map[string]int64{"left": -3}, store.AtLeast("left", 3))); err == nil || store.Won(err) {
		t.Fatal(err)
	}
	page, err := s.List(ctx, store.Query{Index: store.ByList, Part: "L"})
	if err != nil || len(page.Items) != 1 || page.Items[0].Numbers["left"] != 2 || page.Items[0].Version != 2 {
		t.Fatal(page, err)
	}
	ref, err := s.PutBlob(ctx, []byte("hello"))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := s.GetBlob(ctx, ref); err != nil || string(got) != "hello" {
		t.Fatal(got, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := sqlitestore.OpenReadOnly(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if items, err := r.Get(ctx, key); err != nil || items[0].Numbers["left"] != 2 {
		t.Fatal(items, err)
	}
}

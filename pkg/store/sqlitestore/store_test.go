package sqlitestore_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/outerloop-dev/outerloop/pkg/store"
	"github.com/outerloop-dev/outerloop/pkg/store/sqlitestore"
	"github.com/outerloop-dev/outerloop/pkg/store/storetest"
)

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) storetest.Bundle {
		path, s := open(t, sqlitestore.Options{})
		return storetest.Bundle{
			Store: s, Blobs: s,
			Damage: func(t *testing.T, ref string) { damageBlob(t, path, ref) },
			Crash:  func(t *testing.T) store.Store { return reopened(t, path) },
		}
	})
}

// TestOwner: what is kept in memory reads as the file does.
func TestOwner(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) storetest.Bundle {
		path, s := open(t, sqlitestore.Options{Owner: true})
		return storetest.Bundle{
			Store: s, Blobs: s,
			Damage: func(t *testing.T, ref string) { damageBlob(t, path, ref) },
			Crash:  func(t *testing.T) store.Store { return reopened(t, path) },
		}
	})
}

// TestOwnerIsNotAlone: a write is never decided on what another process has
// changed, although the owner's word was that there is none.
func TestOwnerIsNotAlone(t *testing.T) {
	t.Parallel()
	path, s := open(t, sqlitestore.Options{Owner: true})
	ctx, key := t.Context(), store.Key{Part: "a", Sort: "b"}
	if err := s.Write(ctx, "1", store.Create(store.Item{Key: key})); err != nil {
		t.Fatal(err)
	}
	other, err := sqlitestore.Open(path, sqlitestore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(other.Write(ctx, "2", store.Replace(store.Item{Key: key, Version: 1})), other.Close())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Write(ctx, "3", store.Replace(store.Item{Key: key, Version: 1})); !errors.Is(err, store.ErrCondition) {
		t.Errorf("writing over the other's version: %v, want a failed condition", err)
	}
}

// TestRelaxed: the view is a store too, only later durable.
func TestRelaxed(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) storetest.Bundle {
		_, s := open(t, sqlitestore.Options{})
		return storetest.Bundle{Store: struct{ store.Store }{s.Relaxed()}, Blobs: s.Relaxed()}
	})
}

func open(t *testing.T, opts sqlitestore.Options) (string, *sqlitestore.Store) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "state.db")
	s, err := sqlitestore.Open(path, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return path, s
}

// reopened opens a copy of file and log as they stand: what a kill leaves.
func reopened(t *testing.T, path string) *sqlitestore.Store {
	t.Helper()
	to := filepath.Join(t.TempDir(), "copy.db")
	for _, suffix := range []string{"", "-wal"} {
		content, err := os.ReadFile(path + suffix)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to+suffix, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, err := sqlitestore.Open(to, sqlitestore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

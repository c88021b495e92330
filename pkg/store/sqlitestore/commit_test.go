package sqlitestore_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/store"
	"github.com/outerloop-dev/outerloop/pkg/store/sqlitestore"
)

func numbered(n int) store.Op {
	return store.Create(store.Item{Key: store.Key{Part: "P", Sort: fmt.Sprintf("%06d", n)}})
}

// TestApplyIsCommittedUnasked: within the linger, without anybody waiting.
func TestApplyIsCommittedUnasked(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s, err := sqlitestore.Open(filepath.Join(dir, "state.db"), sqlitestore.Options{Linger: 7 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		before := s.Stats().Syncs
		if err := s.Apply(context.Background(), "1", numbered(1)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(6 * time.Millisecond) // of the bubble's clock
		synctest.Wait()
		if s.Stats().Syncs != before {
			t.Fatal("committed before the linger")
		}
		time.Sleep(2 * time.Millisecond)
		synctest.Wait()
		if s.Stats().Syncs != before+1 {
			t.Fatal("not committed after the linger")
		}
	})
}

// TestSyncsAreShared: many callers, few commits; a Sync of nothing is free.
func TestSyncsAreShared(t *testing.T) {
	t.Parallel()
	_, s := open(t, sqlitestore.Options{})
	before := s.Stats().Syncs
	var all sync.WaitGroup
	for caller := range 64 {
		all.Go(func() {
			for n := range 20 {
				if err := s.Write(t.Context(), fmt.Sprint(caller, n), numbered(100*caller+n)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	stats := s.Stats()
	if stats.Writes != 64*20 || stats.Syncs-before > stats.Writes/2 {
		t.Fatalf("%+v", stats)
	}
	if err := s.Sync(t.Context()); err != nil || s.Stats() != stats {
		t.Fatalf("a sync of nothing: %+v, %v", s.Stats(), err)
	}
}

// TestFull: when the file may not grow, what was durable stays, what came
// after is lost as a whole, and the store says so from then on.
func TestFull(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	s, err := sqlitestore.Open(path, sqlitestore.Options{MaxBytes: 1 << 20, Linger: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	body := []byte(strings.Repeat("x", 20_000))
	durable := 0
	for n := 0; ; n++ {
		op := numbered(n)
		op.Item.Body = body
		if err = s.Apply(t.Context(), fmt.Sprint(n), op); err != nil {
			break
		}
		if n%7 == 0 {
			if err = s.Sync(t.Context()); err != nil {
				break
			}
			durable = n + 1
		}
	}
	if !errors.Is(err, sqlitestore.ErrFull) || !errors.Is(err, sqlitestore.ErrBroken) {
		t.Fatalf("got %v", err)
	}
	key := store.Key{Part: "P", Sort: "000000"}
	_, getErr := s.Get(t.Context(), key)
	_, listErr := s.List(t.Context(), store.Query{Part: "P"})
	for what, err := range map[string]error{
		"get": getErr, "list": listErr, "sync": s.Sync(t.Context()), "apply": s.Apply(t.Context(), "x", numbered(1)),
	} {
		if !errors.Is(err, sqlitestore.ErrBroken) {
			t.Errorf("%s after the failure: %v", what, err)
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	again, err := sqlitestore.Open(path, sqlitestore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	page, err := again.List(t.Context(), store.Query{Part: "P", Limit: 1000})
	if err != nil || len(page.Items) != durable {
		t.Fatalf("%d items are left of %d that were durable, %v", len(page.Items), durable, err)
	}
	if err := again.Write(t.Context(), "more", numbered(999)); err != nil {
		t.Fatal(err)
	}
}

func TestClosed(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	s, err := sqlitestore.Open(path, sqlitestore.Options{Linger: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Apply(t.Context(), "1", numbered(1)); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Close(), s.Close()); err != nil {
		t.Fatal(err)
	}
	if err := s.Apply(t.Context(), "2", numbered(2)); !errors.Is(err, sqlitestore.ErrClosed) {
		t.Fatalf("got %v", err)
	}
	r, err := sqlitestore.OpenReadOnly(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if items, err := r.Get(t.Context(), numbered(1).Item.Key); err != nil || items[0] == nil {
		t.Fatalf("closing lost what was applied: %v, %v", items, err)
	}
	for what, err := range map[string]error{
		"write": r.Write(t.Context(), "1", numbered(3)), "sync": r.Sync(t.Context()),
	} {
		if !errors.Is(err, store.ErrReadOnly) {
			t.Errorf("%s on a store opened for reading: %v", what, err)
		}
	}
}

// TestReadersBesideTheWriter: another connection sees what is committed while
// the writer goes on, and hinders nothing.
func TestReadersBesideTheWriter(t *testing.T) {
	t.Parallel()
	path, s := open(t, sqlitestore.Options{})
	r, err := sqlitestore.OpenReadOnly(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for n := range 200 {
		if err := s.Write(t.Context(), fmt.Sprint(n), numbered(n)); err != nil {
			t.Fatal(err)
		}
		if items, err := r.Get(t.Context(), numbered(n).Item.Key); err != nil || items[0] == nil {
			t.Fatalf("write %d: %v, %v", n, items, err)
		}
	}
}

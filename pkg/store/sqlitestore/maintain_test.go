package sqlitestore_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/store"
	"github.com/outerloop-dev/outerloop/pkg/store/sqlitestore"
)

// TestBackup: the copy holds what was applied before, though writing goes on.
func TestBackup(t *testing.T) {
	t.Parallel()
	_, s := open(t, sqlitestore.Options{})
	fill(t, s, 300)
	stop, stopped := make(chan struct{}), make(chan error)
	go func() {
		var err error
		for i := 0; err == nil; i++ {
			select {
			case <-stop:
				stopped <- nil
				return
			default:
				err = s.Write(context.WithoutCancel(t.Context()), fmt.Sprint("w", i), store.Create(store.Item{Key: store.Key{Part: "LATER", Sort: fmt.Sprint(i)}}))
			}
		}
		stopped <- err
	}()
	file := filepath.Join(t.TempDir(), "back up's.db")
	if err := s.Backup(t.Context(), file); err != nil {
		t.Fatal(err)
	}
	close(stop)
	if err := <-stopped; err != nil {
		t.Fatal(err)
	}
	before := hashOf(t, file)
	if err := s.Backup(t.Context(), file); !errors.Is(err, fs.ErrExist) || hashOf(t, file) != before {
		t.Fatalf("an existing file: %v", err)
	}
	copied, err := sqlitestore.OpenReadOnly(file)
	if err != nil {
		t.Fatal(err)
	}
	defer copied.Close()
	if err := copied.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	page, err := copied.List(t.Context(), store.Query{Index: store.ByList, Part: "LIST", Limit: 1000})
	if err != nil || len(page.Items) != 300 {
		t.Fatalf("the copy lists %d items, %v", len(page.Items), err)
	}
	if _, err := copied.GetBlob(t.Context(), store.BlobRef([]byte("kept for years"))); err != nil {
		t.Fatal(err)
	}
	if err := s.Backup(t.Context(), filepath.Join(t.TempDir(), "none", "x.db")); err == nil {
		t.Fatal("a backup into a directory that is not there succeeds")
	}
}

// TestPrune: bounded batches remove what is old and the file shrinks.
func TestPrune(t *testing.T) {
	t.Parallel()
	_, s := open(t, sqlitestore.Options{})
	fill(t, s, 3000)
	if err := s.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	drain := func(remove func() (int, error)) (total int) {
		for {
			n, err := remove()
			if err != nil || n > 100 {
				t.Fatalf("a batch of %d, %v", n, err)
			}
			if total += n; n < 100 {
				return total
			}
		}
	}
	if n := drain(func() (int, error) { return s.RemovePart(t.Context(), "RUN#1", 100) }); n != 300 {
		t.Fatalf("removed %d of one run", n)
	}
	if n := drain(func() (int, error) { return s.RemoveExpired(t.Context(), time.Unix(2000, 0), 100) }); n != 900 {
		t.Fatalf("removed %d expired", n)
	}
	if n := drain(func() (int, error) { return s.RemovePartsWith(t.Context(), "RUN#", 100) }); n != 1800 {
		t.Fatalf("removed %d of the rest", n)
	}
	if _, err := s.RemovePartsWith(t.Context(), "", 100); !errors.Is(err, store.ErrInvalid) {
		t.Fatalf("no prefix: %v", err)
	}
	before, err := s.Size(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for left := int64(1); left > 0; {
		if left, err = s.Shrink(t.Context(), 1<<20); err != nil {
			t.Fatal(err)
		}
	}
	after, err := s.Size(t.Context())
	if err != nil || after.File > 200_000 || before.File < 5_000_000 || after.Free != 0 {
		t.Fatalf("shrank from %+v to %+v, %v", before, after, err)
	}
	if err := s.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestSweepBlobs: a blob that is put again while its references are looked for stays.
func TestSweepBlobs(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_000_000, 0)
	s, err := sqlitestore.Open(filepath.Join(t.TempDir(), "state.db"), sqlitestore.Options{Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var refs []string
	for i := range 5 {
		ref, err := s.PutBlob(t.Context(), []byte{byte(i)})
		if err != nil {
			t.Fatal(err)
		}
		refs = append(refs, ref)
	}
	now = now.Add(time.Hour)
	if _, err := s.PutBlob(t.Context(), []byte{3}); err != nil {
		t.Fatal(err)
	}
	if n, err := s.RemoveBlobs(t.Context(), now, refs[2:]...); n != 2 || err != nil {
		t.Fatalf("removed %d, %v", n, err)
	}
	var left []string
	for after := ""; ; {
		entries, err := s.ListBlobs(t.Context(), after, 2)
		if err != nil {
			t.Fatal(err)
		}
		for _, entry := range entries {
			left, after = append(left, entry.Ref), entry.Ref
		}
		if len(entries) < 2 {
			break
		}
	}
	if len(left) != 3 {
		t.Fatalf("left %v", left)
	}
}

// TestLogIsBounded: the log does not grow with what is written.
func TestLogIsBounded(t *testing.T) {
	t.Parallel()
	_, s := open(t, sqlitestore.Options{})
	body := []byte(strings.Repeat("x", 100_000))
	for i := range 600 {
		item := store.Item{Key: store.Key{Part: "P", Sort: fmt.Sprint(i % 50)}, Body: body}
		if items, err := s.Get(t.Context(), item.Key); err == nil && items[0] != nil {
			item.Version = items[0].Version
		}
		op := store.Create(item)
		if item.Version > 0 {
			op = store.Replace(item)
		}
		if err := s.Write(t.Context(), fmt.Sprint(i), op); err != nil {
			t.Fatal(err)
		}
	}
	if size, err := s.Size(t.Context()); err != nil || size.Log > 20<<20 {
		t.Fatalf("after 60 MB the log has %+v, %v", size, err)
	}
}

package sqlitestore_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/outerloop-dev/outerloop/pkg/store"
	"github.com/outerloop-dev/outerloop/pkg/store/sqlitestore"
)

// asNobody runs a function without root's power over files, where it has it.
func asNobody(t *testing.T, do func()) {
	t.Helper()
	if os.Getuid() != 0 {
		do()
		return
	}
	const nobody = 65534
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	// The file system's user is a thread's own.
	if _, _, errno := syscall.RawSyscall(syscall.SYS_SETFSUID, nobody, 0, 0); errno != 0 {
		t.Fatal(errno)
	}
	defer func() { _, _, _ = syscall.RawSyscall(syscall.SYS_SETFSUID, 0, 0, 0) }()
	do()
}

// public gives a store whose file and directory anybody may read.
func public(t *testing.T, file, dir os.FileMode) string {
	t.Helper()
	path := filled(t, 10)
	place := filepath.Dir(path)
	t.Cleanup(func() { _ = os.Chmod(place, 0o700) }) // so that it can be removed
	if err := errors.Join(os.Chmod(path, file), os.Chmod(place, dir), os.Chmod(filepath.Dir(place), 0o755)); err != nil {
		t.Fatal(err)
	}
	return path
}

func withEmptyLog(t *testing.T) string {
	t.Helper()
	path := public(t, 0o444, 0o755)
	if err := errors.Join(os.WriteFile(path+"-wal", nil, 0o444), os.Chmod(filepath.Dir(path), 0o555)); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestReadOnlyPlaces: writing is refused with a word of its own, reading works.
func TestReadOnlyPlaces(t *testing.T) {
	t.Parallel()
	for name, path := range map[string]string{
		"file":                               public(t, 0o444, 0o777),
		"directory":                          public(t, 0o666, 0o555),
		"both":                               public(t, 0o444, 0o555),
		"all, with an empty log left behind": withEmptyLog(t),
	} {
		before := hashOf(t, path)
		asNobody(t, func() {
			if s, err := sqlitestore.Open(path, sqlitestore.Options{}); !errors.Is(err, store.ErrReadOnly) {
				t.Errorf("read-only %s: opened for writing: %v, %v", name, s, err)
			}
			s, err := sqlitestore.OpenReadOnly(path)
			if err != nil {
				t.Errorf("read-only %s: %v", name, err)
				return
			}
			defer s.Close()
			page, err := s.List(t.Context(), store.Query{Index: store.ByList, Part: "LIST"})
			if err != nil || len(page.Items) != 10 {
				t.Errorf("read-only %s: lists %d, %v", name, len(page.Items), err)
			}
		})
		if hashOf(t, path) != before {
			t.Errorf("read-only %s: the file was changed", name)
		}
	}
}

func TestDirectoryCannotBeMade(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := errors.Join(os.Chmod(dir, 0o555), os.Chmod(filepath.Dir(dir), 0o755)); err != nil {
		t.Fatal(err)
	}
	asNobody(t, func() {
		_, err := sqlitestore.Open(filepath.Join(dir, "new", "state.db"), sqlitestore.Options{})
		if !errors.Is(err, store.ErrReadOnly) {
			t.Errorf("got %v", err)
		}
	})
}

package sqlitestore

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql/driver"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/store"
)

// Check reads the whole file beside the running writer and answers what is
// wrong with it, wrapped in store.ErrCorrupt: structure, indexes and the
// content of every blob. It sees what was committed; it may take seconds for a
// large file, and the context ends it.
func (s *Store) Check(ctx context.Context) error {
	db, err := dialToRead(s.path)
	if err != nil {
		return fmt.Errorf("%s: %w", s.path, err)
	}
	return errors.Join(check(ctx, db), db.close())
}

const maxProblems = 20

func check(ctx context.Context, db *conn) error {
	var problems []string
	err := db.queryContext(ctx, fmt.Sprintf("PRAGMA integrity_check(%d)", maxProblems), func(row []driver.Value) error {
		if line, _ := row[0].(string); line != "ok" {
			problems = append(problems, line)
		}
		return nil
	})
	if err != nil {
		return err
	}
	err = db.queryContext(ctx, "SELECT hash, content FROM blob", func(row []driver.Value) error {
		hash, _ := row[0].([]byte)
		content, _ := row[1].([]byte)
		if sum := sha256.Sum256(content); !bytes.Equal(sum[:], hash) && len(problems) < maxProblems {
			problems = append(problems, "content of blob "+hex.EncodeToString(hash))
		}
		return nil
	})
	if len(problems) > 0 {
		return fmt.Errorf("%s: %w: %s", db.file, store.ErrCorrupt, strings.Join(problems, "; "))
	}
	return err
}

// Backup writes a copy of everything applied before the call to a new file,
// while the store goes on working; the copy is compact and complete by itself.
// The file appears when it is complete and on disk. An existing file is
// fs.ErrExist and stays.
func (s *Store) Backup(ctx context.Context, file string) error {
	if _, err := os.Lstat(file); err == nil {
		return fmt.Errorf("backing up to %s: %w", file, fs.ErrExist)
	}
	if !s.readOnly {
		if err := s.Sync(ctx); err != nil {
			return fmt.Errorf("backing up to %s: %w", file, err)
		}
	}
	part := file + ".part"
	if err := errors.Join(removeIfThere(part), s.copyTo(ctx, part)); err != nil {
		return fmt.Errorf("backing up to %s: %w", file, errors.Join(err, removeIfThere(part)))
	}
	return os.Rename(part, file)
}

func (s *Store) copyTo(ctx context.Context, file string) error {
	created, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	db, err := dialToRead(s.path)
	if err != nil {
		return errors.Join(fmt.Errorf("%s: %w", s.path, err), created.Close())
	}
	err = db.queryContext(ctx, "VACUUM INTO ?", func([]driver.Value) error { return nil }, file)
	if errors.Is(err, ErrFull) { // the copy's disk: the store is only read
		err = fmt.Errorf("writing the copy: %w", ErrFull)
	}
	if err == nil {
		err = created.Sync() // SQLite leaves that to the caller
	}
	return errors.Join(err, created.Close(), db.close())
}

func removeIfThere(file string) error {
	if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// RemovePart deletes up to limit items of one partition, whatever their
// version, and answers how many: the caller repeats until fewer than limit
// went. It is for what is closed for good; it waits for no disk.
func (s *Store) RemovePart(ctx context.Context, part string, limit int) (int, error) {
	return s.removeWhere(ctx, "DELETE FROM item WHERE id IN (SELECT id FROM item WHERE part = ? LIMIT ?)", part, int64(limit))
}

// RemovePartsWith is RemovePart for every partition whose name begins with a prefix.
func (s *Store) RemovePartsWith(ctx context.Context, prefix string, limit int) (int, error) {
	span, err := store.Query{Part: "-", Prefix: prefix}.Span()
	if err != nil || prefix == "" {
		return 0, errors.Join(err, fmt.Errorf("%w: prefix %q", store.ErrInvalid, prefix))
	}
	if span.To == "" {
		return s.removeWhere(ctx, "DELETE FROM item WHERE id IN (SELECT id FROM item WHERE part >= ? LIMIT ?)", prefix, int64(limit))
	}
	return s.removeWhere(ctx, "DELETE FROM item WHERE id IN (SELECT id FROM item WHERE part >= ? AND part < ? LIMIT ?)",
		span.From, span.To, int64(limit))
}

// RemoveExpired deletes up to limit items whose Expires has passed.
func (s *Store) RemoveExpired(ctx context.Context, now time.Time, limit int) (int, error) {
	return s.removeWhere(ctx, "DELETE FROM item WHERE id IN (SELECT id FROM item WHERE expires > 0 AND expires < ? LIMIT ?)",
		now.Unix(), int64(limit))
}

func (s *Store) removeWhere(ctx context.Context, text string, args ...driver.Value) (removed int, err error) {
	if err := s.writable(ctx); err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept.forget()
	err = s.inBatch(func() (int, error) {
		n, err := s.db.exec(text, args...)
		if err != nil {
			return 0, s.fail(err)
		}
		removed = int(n)
		return 0, nil
	})
	return removed, err
}

// Size is what a store takes on disk, in bytes.
type Size struct {
	// File is the size of the file, Free the part of it that holds nothing, Log
	// that of the log beside it.
	File int64
	Free int64
	Log  int64
}

// Size answers what the store takes on disk.
func (s *Store) Size(ctx context.Context) (Size, error) {
	if err := ctx.Err(); err != nil {
		return Size{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed != nil {
		return Size{}, s.failed
	}
	free, err := s.db.number("PRAGMA freelist_count")
	if err != nil {
		return Size{}, err
	}
	file, err := os.Stat(s.path)
	if err != nil {
		return Size{}, err
	}
	size := Size{File: file.Size(), Free: free * pageSize}
	if log, err := os.Stat(s.path + "-wal"); err == nil {
		size.Log = log.Size()
	}
	return size, nil
}

// Shrink gives up to so many bytes of free space back to the disk and answers
// how much is left to give. One call of a few MB holds up writers for some
// milliseconds; the caller repeats it at its leisure.
func (s *Store) Shrink(ctx context.Context, bytes int64) (left int64, err error) {
	if err := s.writable(ctx); err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	pages := max(1, bytes/pageSize)
	err = s.inBatch(func() (int, error) {
		if _, err := s.db.exec(fmt.Sprintf("PRAGMA incremental_vacuum(%d)", pages)); err != nil {
			return 0, s.fail(err)
		}
		return 0, nil
	})
	if err != nil {
		return 0, err
	}
	if err := s.commit(); err != nil {
		return 0, err
	}
	// The file itself shrinks when the log is moved into it. A reader that is in
	// the way puts that off.
	if _, err := s.db.exec("PRAGMA wal_checkpoint(TRUNCATE)"); err != nil && !errors.Is(err, ErrBusy) {
		return 0, err
	}
	free, err := s.db.number("PRAGMA freelist_count")
	return free * pageSize, err
}

// Path is the store's file, absolute where the system can tell.
func (s *Store) Path() string {
	if path, err := filepath.Abs(s.path); err == nil {
		return path
	}
	return s.path
}

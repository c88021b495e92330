package sqlitestore

import (
	"context"
	"database/sql/driver"
	"fmt"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/store"
)

// ListBlobs answers up to limit blobs in the order of their references, after
// one ("" begins). Fewer than limit: these were the last.
func (s *Store) ListBlobs(ctx context.Context, after string, limit int) ([]store.BlobEntry, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	hash := []byte{}
	if after != "" {
		var err error
		if hash, err = store.ParseBlobRef(after); err != nil {
			return nil, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed != nil {
		return nil, s.failed
	}
	var entries []store.BlobEntry
	err := s.db.query("SELECT hash, length(content), stored FROM blob WHERE hash > ? ORDER BY hash LIMIT ?", func(row []driver.Value) error {
		hash, _ := row[0].([]byte)
		size, _ := row[1].(int64)
		stored, _ := row[2].(int64)
		entries = append(entries, store.BlobEntry{Ref: store.FormatBlobRef(hash), Size: size, Stored: time.Unix(stored, 0)})
		return nil
	}, hash, int64(limit))
	return entries, err
}

// RemoveBlobs deletes those of the blobs that were not put since a time, and
// answers how many. The time must lie before the caller began to look for
// references: a blob that was put again meanwhile stays.
func (s *Store) RemoveBlobs(ctx context.Context, before time.Time, refs ...string) (int, error) {
	removed := 0
	for _, ref := range refs {
		hash, err := store.ParseBlobRef(ref)
		if err != nil {
			return removed, err
		}
		n, err := s.removeWhere(ctx, "DELETE FROM blob WHERE hash = ? AND stored < ?", hash, before.Unix())
		if removed += n; err != nil {
			return removed, fmt.Errorf("removing blob %s: %w", ref, err)
		}
	}
	return removed, nil
}

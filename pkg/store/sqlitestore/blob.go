package sqlitestore

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql/driver"
	"fmt"

	"github.com/outerloop-dev/outerloop/pkg/store"
)

// PutBlob stores content durably. Content that is there already is only dated anew.
func (s *Store) PutBlob(ctx context.Context, content []byte) (string, error) {
	ref, err := s.applyBlob(ctx, content)
	if err != nil {
		return "", err
	}
	return ref, s.settle(ctx)
}

func (s *Store) applyBlob(ctx context.Context, content []byte) (string, error) {
	if err := s.writable(ctx); err != nil {
		return "", err
	}
	if len(content) > store.MaxBlob {
		return "", fmt.Errorf("%w: a blob of %d bytes, at most %d are allowed", store.ErrTooLarge, len(content), store.MaxBlob)
	}
	sum := sha256.Sum256(content)
	s.mu.Lock()
	defer s.mu.Unlock()
	return store.BlobRef(content), s.inBatch(func() (int, error) {
		now := s.now().Unix()
		dated, err := s.db.exec("UPDATE blob SET stored = ? WHERE hash = ?", now, sum[:])
		if err == nil && dated == 0 {
			_, err = s.db.exec("INSERT INTO blob (hash, stored, content) VALUES (?, ?, ?)", sum[:], now, nonNil(content))
		}
		if err != nil {
			return 0, s.fail(err)
		}
		return len(content), nil
	})
}

func nonNil(content []byte) []byte {
	if content == nil {
		return []byte{}
	}
	return content
}

// GetBlob reads content and checks it against its reference.
func (s *Store) GetBlob(ctx context.Context, ref string) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	hash, err := store.ParseBlobRef(ref)
	if err != nil {
		return nil, err
	}
	content, found, err := s.blob(hash)
	if err != nil {
		return nil, fmt.Errorf("reading blob %s: %w", ref, err)
	}
	if !found {
		return nil, fmt.Errorf("%w: %s", store.ErrNoBlob, ref)
	}
	if sum := sha256.Sum256(content); !bytes.Equal(sum[:], hash) {
		return nil, fmt.Errorf("%w: blob %s does not have this content any more", store.ErrCorrupt, ref)
	}
	return content, nil
}

func (s *Store) blob(hash []byte) (content []byte, found bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed != nil {
		return nil, false, s.failed
	}
	err = s.db.query("SELECT content FROM blob WHERE hash = ?", func(row []driver.Value) error {
		content, _ = row[0].([]byte)
		found = true
		return nil
	}, hash)
	return content, found, err
}

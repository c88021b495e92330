// Package sweep removes blobs that nothing refers to any more. It knows a
// reference by its 64 hex digits, wherever they stand: in keys and bodies of
// items, and in blobs that are referred to.
package sweep

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"regexp"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/store"
)

// Source is what is swept.
type Source interface {
	store.Scanner
	// ListBlobs answers up to limit blobs in the order of their references,
	// after one ("" begins). Fewer than limit: these were the last.
	ListBlobs(ctx context.Context, after string, limit int) ([]store.BlobEntry, error)
	// GetBlob reads a blob.
	GetBlob(ctx context.Context, ref string) ([]byte, error)
	// RemoveBlobs deletes those of the blobs that were not put since a time, and
	// answers how many.
	RemoveBlobs(ctx context.Context, before time.Time, refs ...string) (int, error)
}

// Blobs removes the blobs that were last put before a time and that no item
// refers to, directly or through other blobs; at most so many (0: all). The time
// lies so far back that whoever put a blob has long written what refers to it: a
// day. Items are read twice, since a reference may move from one that is still
// to be read to one that was read already.
func Blobs(ctx context.Context, from Source, before time.Time, most int) (removed int, err error) {
	s := &sweeping{from: from, unused: map[string]bool{}}
	if err := s.candidates(ctx, before); err != nil || len(s.unused) == 0 {
		return 0, err
	}
	err = s.mark(ctx, s.young())
	if err == nil {
		err = s.mark(ctx, nil)
	}
	if err != nil {
		return 0, fmt.Errorf("looking for references: %w", err)
	}
	for hash, unused := range s.unused {
		if !unused || most > 0 && removed >= most {
			continue
		}
		ref, err := reference(hash)
		if err != nil {
			return removed, err
		}
		n, err := from.RemoveBlobs(ctx, before, ref)
		if removed += n; err != nil {
			return removed, err
		}
	}
	return removed, nil
}

// sweeping are the blobs that may go unless something refers to them.
type sweeping struct {
	from   Source
	unused map[string]bool // by their hex digits; true: nothing was found yet
}

var digits = regexp.MustCompile(`[0-9a-f]{64}`)

func reference(hash string) (string, error) {
	raw, err := hex.DecodeString(hash)
	return store.FormatBlobRef(raw), err
}

func (s *sweeping) candidates(ctx context.Context, before time.Time) error {
	const page = 1000
	for after := ""; ; {
		blobs, err := s.from.ListBlobs(ctx, after, page)
		if err != nil {
			return err
		}
		for _, blob := range blobs {
			after = blob.Ref
			hash := digits.FindString(blob.Ref)
			s.unused[hash] = blob.Stored.Before(before)
		}
		if len(blobs) < page {
			return nil
		}
	}
}

// young are the blobs that stay in any case; what they refer to stays as well.
func (s *sweeping) young() (stay []string) {
	for hash, unused := range s.unused {
		if !unused {
			stay = append(stay, hash)
		}
	}
	return stay
}

// mark goes through all items, and from them and the blobs to be read through
// the blobs that are referred to.
func (s *sweeping) mark(ctx context.Context, next []string) error {
	for after := (store.Key{}); ; {
		items, err := s.from.Scan(ctx, after, store.MaxPage)
		if err != nil {
			return err
		}
		if len(items) == 0 {
			break
		}
		for _, item := range items {
			after = item.Key
			next = s.used([]byte(item.Part+"\n"+item.Sort), next)
			next = s.used(plain(item.Body), next)
		}
	}
	for len(next) > 0 {
		ref, err := reference(next[len(next)-1])
		if err != nil {
			return err
		}
		next = next[:len(next)-1]
		content, err := s.from.GetBlob(ctx, ref)
		if err != nil {
			return err
		}
		next = s.used(content, next)
	}
	return nil
}

// used takes what a text refers to off the list, and adds it to what is to be read.
func (s *sweeping) used(text []byte, next []string) []string {
	for _, hash := range digits.FindAll(text, -1) {
		if s.unused[string(hash)] {
			s.unused[string(hash)] = false
			next = append(next, string(hash))
		}
	}
	return next
}

// plain expands a body that is compressed, as those of folded histories are.
func plain(body []byte) []byte {
	if !bytes.HasPrefix(body, []byte{0x1f, 0x8b}) {
		return body
	}
	r, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return body
	}
	text, err := io.ReadAll(r)
	if err != nil {
		return body
	}
	return text
}

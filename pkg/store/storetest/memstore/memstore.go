// Package memstore is a store in memory, for tests and simulation: fast under
// the race detector, without goroutines, and crashed at will. It passes the
// same suite as the stores that keep their content.
package memstore

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"sync"

	"github.com/outerloop-dev/outerloop/pkg/store"
)

// Store is a store.Pipeline whose disk is a part of its memory. It is safe for
// concurrent use; every call is one step.
type Store struct {
	mu     sync.Mutex
	now    content
	disk   content // what a crash leaves at least
	behind []change
	syncs  int
}

// content is items and blobs. Items are never changed in place.
type content struct {
	items map[store.Key]*store.Item
	blobs map[string][]byte
}

// change is one write as it was carried out; nil removes.
type change struct {
	items map[store.Key]*store.Item
	blobs map[string][]byte
}

var (
	_ store.Pipeline = (*Store)(nil)
	_ store.Blobs    = (*Store)(nil)
	_ store.Scanner  = (*Store)(nil)
)

// New makes an empty store.
func New() *Store { return &Store{now: empty(), disk: empty()} }

func empty() content {
	return content{items: map[store.Key]*store.Item{}, blobs: map[string][]byte{}}
}

func (c content) copied() content {
	return content{items: maps.Clone(c.items), blobs: maps.Clone(c.blobs)}
}

func (c content) take(ch change) {
	for key, item := range ch.items {
		if item == nil {
			delete(c.items, key)
		} else {
			c.items[key] = item
		}
	}
	maps.Copy(c.blobs, ch.blobs)
}

// Unsynced is how many writes a crash may lose.
func (s *Store) Unsynced() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.behind)
}

// Syncs is how often the disk was waited for.
func (s *Store) Syncs() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.syncs
}

// Crash gives the store as it is found after a crash that loses the last so
// many of the writes that were not synced, at most all of them. The store
// itself is left as it is.
func (s *Store) Crash(lost int) *Store {
	s.mu.Lock()
	defer s.mu.Unlock()
	disk := s.disk.copied()
	for _, ch := range s.behind[:max(0, len(s.behind)-lost)] {
		disk.take(ch)
	}
	return &Store{now: disk.copied(), disk: disk}
}

// Write does all operations or none, durably.
func (s *Store) Write(ctx context.Context, id string, ops ...store.Op) error {
	if err := s.Apply(ctx, id, ops...); err != nil {
		return err
	}
	return s.Sync(ctx)
}

// Apply does all operations or none; a crash before the next Sync may lose them.
func (s *Store) Apply(ctx context.Context, id string, ops ...store.Op) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := store.Validate(id, ops); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	before, after := make([]*store.Item, len(ops)), make([]*store.Item, len(ops))
	first := -1
	for i, op := range ops {
		before[i] = s.now.items[op.Item.Key]
		next, ok := store.Evaluate(id, op, before[i])
		if !ok && first < 0 {
			first = i
		}
		after[i] = next
	}
	if first >= 0 {
		failed := store.Failed(id, ops, first, before)
		failed.Current = given(failed.Current)
		return failed
	}
	ch := change{items: map[store.Key]*store.Item{}}
	for i, op := range ops {
		if after[i] != nil {
			if err := store.CheckSize(*after[i]); err != nil {
				return fmt.Errorf("operation %d: %w", i+1, err)
			}
		}
		if op.Kind != store.KindCheck {
			ch.items[op.Item.Key] = given(after[i])
		}
	}
	if meter := store.MeterOf(ctx); meter != nil {
		meter.Count(store.Usage{Calls: 1, WriteUnits: store.Units(ops, before, after)})
	}
	s.add(ch)
	return nil
}

func (s *Store) add(ch change) {
	s.now.take(ch)
	s.behind = append(s.behind, ch)
}

// Sync makes everything applied before it durable.
func (s *Store) Sync(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.behind) == 0 {
		return nil
	}
	for _, ch := range s.behind {
		s.disk.take(ch)
	}
	s.behind = nil
	s.syncs++
	return nil
}

// given copies an item so that nobody shares it with the store.
func given(item *store.Item) *store.Item {
	if item == nil {
		return nil
	}
	own := *item
	own.Body, own.Numbers = bytes.Clone(item.Body), maps.Clone(item.Numbers)
	if len(own.Body) == 0 {
		own.Body = nil
	}
	if len(own.Numbers) == 0 {
		own.Numbers = nil
	}
	own.List, own.Due = key(item.List), key(item.Due)
	return &own
}

func key(k *store.IndexKey) *store.IndexKey {
	if k == nil {
		return nil
	}
	own := *k
	return &own
}

// PutBlob stores content in the order of the writes, durably.
func (s *Store) PutBlob(ctx context.Context, content []byte) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	if len(content) > store.MaxBlob {
		return "", fmt.Errorf("%w: a blob of %d bytes, at most %d are allowed", store.ErrTooLarge, len(content), store.MaxBlob)
	}
	ref := store.BlobRef(content)
	s.mu.Lock()
	s.add(change{blobs: map[string][]byte{ref: bytes.Clone(content)}})
	s.mu.Unlock()
	return ref, s.Sync(ctx)
}

// GetBlob reads content and checks it against its reference.
func (s *Store) GetBlob(ctx context.Context, ref string) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if _, err := store.ParseBlobRef(ref); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	content, ok := s.now.blobs[ref]
	switch {
	case !ok:
		return nil, fmt.Errorf("%w: %s", store.ErrNoBlob, ref)
	case store.BlobRef(content) != ref:
		return nil, fmt.Errorf("%w: blob %s does not have this content any more", store.ErrCorrupt, ref)
	}
	return bytes.Clone(content), nil
}

// Damage changes the first byte of a stored blob.
func (s *Store) Damage(ref string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	damaged := bytes.Clone(s.now.blobs[ref])
	damaged[0] ^= 0xff
	s.now.blobs[ref] = damaged
}

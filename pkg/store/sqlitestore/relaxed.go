package sqlitestore

import (
	"context"

	"github.com/outerloop-dev/outerloop/pkg/store"
)

// Relaxed is a view of a store whose writes do not wait for the disk: Write is
// Apply. Whoever holds it calls Sync before an effect leaves the process. The
// bodies of items are shared with the store, and the index keys of those that are
// written: neither what was written nor a body that was read may be changed
// afterwards.
type Relaxed struct{ *Store }

var (
	_ store.Pipeline = Relaxed{}
	_ store.Blobs    = Relaxed{}
)

// Relaxed gives the view.
func (s *Store) Relaxed() Relaxed { return Relaxed{s} }

// Get is Store.Get but for the bodies, which are shared.
func (r Relaxed) Get(ctx context.Context, keys ...store.Key) ([]*store.Item, error) {
	return r.read(ctx, lent, keys)
}

// Apply is Store.Apply but for the bodies, which are shared.
func (r Relaxed) Apply(ctx context.Context, id string, ops ...store.Op) error {
	return r.enter(ctx, taken, id, ops)
}

// Write is Apply.
func (r Relaxed) Write(ctx context.Context, id string, ops ...store.Op) error {
	return r.Apply(ctx, id, ops...)
}

// PutBlob stores content in the order of the writes, durable after the next Sync.
func (r Relaxed) PutBlob(ctx context.Context, content []byte) (string, error) {
	return r.applyBlob(ctx, content)
}

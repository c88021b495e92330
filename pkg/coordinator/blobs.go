package coordinator

import (
	"context"
	"encoding/json"
	"sync"
)

// cachedBytes bounds the blobs kept in memory; their content never changes.
const cachedBytes = 16 << 20

// blobCache keeps blobs that are read again and again: pages of items, which
// every step of an item reads, and the outputs that all items share.
type blobCache struct {
	mu    sync.Mutex
	bytes int
	held  map[string][]byte
	// old is the generation before: what is read there moves into held.
	old map[string][]byte
}

func (b *blobCache) get(ref string) ([]byte, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if content, ok := b.held[ref]; ok {
		return content, true
	}
	content, ok := b.old[ref]
	if ok {
		b.add(ref, content)
	}
	return content, ok
}

func (b *blobCache) put(ref string, content []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.add(ref, content)
}

// add holds a blob; when half the space is used the generation before is dropped.
func (b *blobCache) add(ref string, content []byte) {
	if _, known := b.held[ref]; known || len(content) > cachedBytes/4 {
		return
	}
	if b.held == nil || b.bytes+len(content) > cachedBytes/2 {
		b.old, b.held, b.bytes = b.held, map[string][]byte{}, 0
	}
	b.held[ref] = content
	b.bytes += len(content)
}

// blob reads content by its reference, from memory where it is held.
func (c *Coordinator) blob(ctx context.Context, ref string) ([]byte, error) {
	if content, ok := c.blobs.get(ref); ok {
		return content, nil
	}
	content, err := c.cfg.Blobs.GetBlob(ctx, ref)
	if err != nil {
		return nil, err
	}
	c.blobs.put(ref, content)
	return content, nil
}

// heldPages bounds the pages of items that are kept read.
const heldPages = 64

// pageCache keeps pages of items as they were read: every step of an item reads its page.
type pageCache struct {
	mu   sync.Mutex
	held map[string][]json.RawMessage
}

func (p *pageCache) get(ref string) ([]json.RawMessage, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	page, ok := p.held[ref]
	return page, ok
}

func (p *pageCache) put(ref string, page []json.RawMessage) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.held == nil || len(p.held) >= heldPages {
		p.held = map[string][]json.RawMessage{}
	}
	p.held[ref] = page
}

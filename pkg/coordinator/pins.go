package coordinator

import "sync"

// pinned remembers the definition hash of runs, which never changes.
type pinned struct {
	mu     sync.Mutex
	hashes map[string]string
}

// pinnedRuns bounds what is remembered; beyond it all is forgotten and read again.
const pinnedRuns = 4096

func (p *pinned) get(run string) (string, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	hash, ok := p.hashes[run]
	return hash, ok
}

func (p *pinned) put(run, hash string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.hashes == nil || len(p.hashes) >= pinnedRuns {
		p.hashes = map[string]string{}
	}
	p.hashes[run] = hash
}

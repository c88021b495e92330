package sqlitestore

import "github.com/outerloop-dev/outerloop/pkg/store"

// Bounds of what is remembered of partitions, in two generations as with rows.
const (
	knownParts  = 256
	knownInPart = 20_000
)

// partition is what is known of one. The store of an owner saw it empty once and
// put everything into it that is there, so that it knows what is not: half of
// all reads of a run in progress look for a record that is still to come.
type partition struct {
	// sorts are the sort keys in it; nil: it was not empty when it was met.
	sorts map[string]struct{}
}

// partitions are those met last.
type partitions struct{ young, old map[string]*partition }

func (p *partitions) get(part string) *partition {
	if found, ok := p.young[part]; ok {
		return found
	}
	found, ok := p.old[part]
	if ok {
		p.put(part, found)
	}
	return found
}

func (p *partitions) put(part string, known *partition) {
	if p.young == nil || len(p.young) >= knownParts {
		p.old, p.young = p.young, make(map[string]*partition)
	}
	p.young[part] = known
}

// met notes a partition and whether it is empty.
func (p *partitions) met(part string, empty bool) {
	known := &partition{}
	if empty {
		known.sorts = make(map[string]struct{})
	}
	p.put(part, known)
}

// set notes whether an item stands under a key now.
func (p *partitions) set(key store.Key, stands bool) {
	known := p.get(key.Part)
	switch {
	case known == nil || known.sorts == nil:
	case stands && len(known.sorts) >= knownInPart:
		known.sorts = nil
	case stands:
		known.sorts[key.Sort] = struct{}{}
	default:
		delete(known.sorts, key.Sort)
	}
}

// lacks tells whether there is surely nothing under a key.
func (p *partitions) lacks(key store.Key) bool {
	known := p.get(key.Part)
	if known == nil || known.sorts == nil {
		return false
	}
	_, stands := known.sorts[key.Sort]
	return !stands
}

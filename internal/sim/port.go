package sim

import (
	"context"
	"fmt"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/store"
)

// Backend is a store under test.
type Backend struct {
	Store store.Store
	Blobs store.Blobs
	// Quiet runs a read of the simulation itself, during which the backend's own
	// faults are off; nil: it has none.
	Quiet func(read func())
	// Calm ends the backend's own faults; nil: it has none.
	Calm func()
	// Close is called at the end; nil: nothing is to be closed.
	Close func()
}

// port is the store as the coordinators see it: every call parks its actor,
// anything may go wrong at it, and the guard sees what it changed.
type port struct{ s *Sim }

// Get reads items.
func (p port) Get(ctx context.Context, keys ...store.Key) ([]*store.Item, error) {
	p.s.wait(p.s.latency())
	if err := p.s.readFault(); err != nil {
		return nil, err
	}
	items, err := p.s.backend.Store.Get(ctx, keys...)
	if err == nil {
		p.s.distort(items)
	}
	return items, err
}

// List reads a page.
func (p port) List(ctx context.Context, q store.Query) (store.Page, error) {
	p.s.wait(p.s.latency())
	if err := p.s.readFault(); err != nil {
		return store.Page{}, err
	}
	page, err := p.s.backend.Store.List(ctx, q)
	if err == nil && p.s.Options.Without != nil {
		for i := range page.Items {
			p.s.distort([]*store.Item{&page.Items[i]})
		}
	}
	return page, err
}

func (s *Sim) readFault() error {
	if s.draw(StoreThrottled, 400) {
		return store.ErrThrottled
	}
	if s.draw(CrashAtRead, 400) {
		panic(died{})
	}
	return nil
}

// distort shows a reader what it would see without a precondition that is
// taken away.
func (s *Sim) distort(items []*store.Item) {
	w := s.Options.Without
	if w == nil || w.Read == nil || !w.in(s.cur.op) {
		return
	}
	for _, item := range items {
		if item != nil {
			w.Read(s, item)
		}
	}
}

// Write does a write, or does it and loses the answer, or dies.
func (p port) Write(ctx context.Context, id string, ops ...store.Op) error {
	s := p.s
	s.wait(s.latency())
	s.meanwhile()
	switch {
	case s.draw(StoreThrottled, 60):
		return store.ErrThrottled
	case s.draw(StoreNotDone, 100):
		return fmt.Errorf("the line broke: %w", store.ErrOutcomeUnknown)
	case s.draw(CrashBeforeWrite, 80) || s.windowBefore(ops):
		panic(died{})
	}
	sent := s.strip(ops)
	if len(sent) == 0 {
		return nil
	}
	err := s.backend.Store.Write(ctx, id, sent...)
	s.logWrite(ops, err)
	s.took(ops)
	if err != nil {
		return err
	}
	if s.draw(CrashAfterWrite, 80) || s.windowAfter(ops) {
		panic(died{})
	}
	if s.draw(StoreLost, 60) {
		return fmt.Errorf("the line broke: %w", store.ErrOutcomeUnknown)
	}
	return nil
}

// meanwhile lets much happen between what an operation has read and what it writes.
func (s *Sim) meanwhile() {
	a := s.cur
	if s.draw(SleepsAtWrite, 150) {
		s.wait(time.Duration(5+s.random.IntN(600)) * time.Second)
	}
	if a.run != "" && s.draw(CancelledAtWrite, 200) {
		s.spawn(s.latency(), "ann", func() { s.cancel(a.run) })
		s.wait(time.Duration(1+s.random.IntN(4)) * time.Second)
	}
}

// strip takes a precondition away.
func (s *Sim) strip(ops []store.Op) []store.Op {
	w := s.Options.Without
	if w == nil || w.Write == nil || !w.in(s.cur.op) {
		return ops
	}
	out := make([]store.Op, 0, len(ops))
	for _, op := range ops {
		if op, keep := w.Write(s, op); keep {
			out = append(out, op)
		}
	}
	return out
}

// PutBlob stores content.
func (p port) PutBlob(ctx context.Context, content []byte) (string, error) {
	p.s.wait(p.s.latency())
	if p.s.draw(CrashBeforeWrite, 80) {
		panic(died{})
	}
	return p.s.backend.Blobs.PutBlob(ctx, content)
}

// GetBlob reads content.
func (p port) GetBlob(ctx context.Context, ref string) ([]byte, error) {
	p.s.wait(p.s.latency())
	return p.s.backend.Blobs.GetBlob(ctx, ref)
}

// took reads what stands under the keys of a write now and shows the guard what
// changed. It is asked after every write, since one that failed may have been done.
func (s *Sim) took(ops []store.Op) {
	keys := make([]store.Key, 0, len(ops))
	for _, op := range ops {
		keys = append(keys, op.Item.Key)
	}
	var now []*store.Item
	s.quietly(func() {
		var err error
		if now, err = s.backend.Store.Get(context.Background(), keys...); err != nil {
			panic(fmt.Sprintf("reading what was written: %v", err))
		}
	})
	var changed []change
	for i, key := range keys {
		before := s.shadow[key]
		if before == nil && now[i] == nil || before != nil && now[i] != nil && before.Version == now[i].Version {
			continue
		}
		changed = append(changed, change{before: before, after: now[i], op: ops[i]})
		if now[i] == nil {
			delete(s.shadow, key)
		} else {
			s.shadow[key] = now[i]
		}
	}
	if len(changed) > 0 {
		s.guard.wrote(changed)
	}
}

func (s *Sim) quietly(read func()) {
	if s.backend.Quiet != nil {
		s.backend.Quiet(read)
		return
	}
	read()
}

// change is one item before and after a write; nil: absent.
type change struct {
	before, after *store.Item
	op            store.Op
}

// createsRun tells whether a write creates a run.
func createsRun(ops []store.Op) bool {
	for _, op := range ops {
		if op.Kind == store.KindCreate && op.Item.Sort == "RUN" {
			return true
		}
	}
	return false
}

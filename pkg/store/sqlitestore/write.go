package sqlitestore

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/store"
)

// batch is the open transaction: what it holds becomes durable together.
type batch struct {
	writes int64
	bytes  int
	done   chan struct{} // closed after the commit
	err    error         // set before done is closed
}

// A transaction of this size is committed without being asked.
const (
	largeWrites = 2000
	largeBytes  = 8 << 20
)

// Write does all operations or none and returns when they are durable. When
// the context ends while it waits for the disk, the answer is ErrOutcomeUnknown.
func (s *Store) Write(ctx context.Context, id string, ops ...store.Op) error {
	if err := s.Apply(ctx, id, ops...); err != nil {
		return err
	}
	return s.settle(ctx)
}

func (s *Store) settle(ctx context.Context) error {
	err := s.Sync(ctx)
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("%w: waiting for the disk: %w", store.ErrOutcomeUnknown, err)
	}
	return err
}

// Apply does a Write without waiting for the disk. It is committed within
// Options.Linger in any case.
func (s *Store) Apply(ctx context.Context, id string, ops ...store.Op) error {
	return s.enter(ctx, copied, id, ops)
}

// enter is Apply; own makes what is kept in memory of an item its own.
func (s *Store) enter(ctx context.Context, own func(*store.Item) *store.Item, id string, ops []store.Op) error {
	if err := s.writable(ctx); err != nil {
		return err
	}
	if err := store.Validate(id, ops); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.inBatch(func() (int, error) { return s.apply(ctx, own, id, ops) })
}

func (s *Store) writable(ctx context.Context) error {
	if s.readOnly {
		return fmt.Errorf("%w: it was opened for reading", store.ErrReadOnly)
	}
	return ctx.Err()
}

// inBatch runs a change in the open transaction, opening one if need be. The
// change answers how many bytes it wrote; when it refuses, it has changed nothing.
func (s *Store) inBatch(change func() (bytes int, err error)) error {
	if s.failed != nil {
		return s.failed
	}
	opened := s.batch == nil
	if opened {
		if err := s.begin(); err != nil {
			return err
		}
		s.batch = &batch{done: make(chan struct{})}
	}
	bytes, err := change()
	if err != nil {
		if opened && s.failed == nil {
			s.batch = nil
			if err := s.db.run("ROLLBACK"); err != nil {
				return s.fail(err)
			}
		}
		return err
	}
	s.stats.Writes++
	s.batch.writes++
	s.batch.bytes += bytes
	if opened {
		signal(s.dirty)
	}
	if s.batch.writes >= largeWrites || s.batch.bytes >= largeBytes {
		signal(s.kick)
	}
	return nil
}

// begin opens the transaction, in which nobody else can write. Whoever wrote
// before it, against the word of the owner, makes the rows in memory void.
func (s *Store) begin() error {
	if err := s.db.run("BEGIN IMMEDIATE"); err != nil || !s.owner {
		return err
	}
	seen, err := s.db.number("PRAGMA data_version")
	if err != nil {
		return errors.Join(err, s.db.run("ROLLBACK"))
	}
	if seen != s.seen {
		s.seen = seen
		s.kept.forget()
	}
	return nil
}

// apply decides every operation before it changes anything.
func (s *Store) apply(ctx context.Context, own func(*store.Item) *store.Item, id string, ops []store.Op) (bytes int, err error) {
	ids := make([]int64, len(ops))
	before, after := make([]*store.Item, len(ops)), make([]*store.Item, len(ops))
	first := -1
	for i, op := range ops {
		if ids[i], before[i], err = s.load(op.Item.Key); err != nil {
			return 0, err
		}
		next, ok := store.Evaluate(id, op, before[i])
		if !ok && first < 0 {
			first = i
		}
		after[i] = next
	}
	if first >= 0 {
		failed := store.Failed(id, ops, first, before)
		failed.Current = copied(failed.Current)
		return 0, failed
	}
	for i, op := range ops {
		if op.Kind == store.KindAdd {
			if err := store.CheckSize(*after[i]); err != nil {
				return 0, fmt.Errorf("operation %d: %w", i+1, err)
			}
		}
	}
	for i, op := range ops {
		if op.Kind == store.KindCheck {
			continue
		}
		if ids[i], err = s.change(op.Kind, ids[i], before[i], after[i]); err != nil {
			return 0, s.fail(err)
		}
		s.keep(op.Item.Key, ids[i], own(after[i]))
		if after[i] != nil {
			bytes += len(after[i].Body)
		}
	}
	if meter := store.MeterOf(ctx); meter != nil {
		meter.Count(store.Usage{Calls: 1, WriteUnits: store.Units(ops, before, after)})
	}
	return bytes, nil
}

// load gives an item as it stands, which must not be changed.
func (s *Store) load(key store.Key) (id int64, item *store.Item, err error) {
	if r, ok := s.kept.get(key); ok {
		return r.id, r.item, nil
	}
	if s.kept.parts.lacks(key) {
		return 0, nil, nil
	}
	err = s.db.query("SELECT "+columns+" FROM item WHERE part = ? AND sort = ?", func(row []driver.Value) error {
		id, item, err = decode(row)
		return err
	}, key.Part, key.Sort)
	if err == nil {
		s.keep(key, id, item)
		err = s.meet(key.Part, item != nil)
	}
	return id, item, err
}

// meet notes of a partition that is new to the owner whether it is empty.
func (s *Store) meet(part string, stands bool) error {
	if !s.owner || s.kept.parts.get(part) != nil {
		return nil
	}
	empty := !stands
	if empty {
		err := s.db.query("SELECT 1 FROM item WHERE part = ? LIMIT 1", func([]driver.Value) error {
			empty = false
			return nil
		}, part)
		if err != nil {
			return err
		}
	}
	s.kept.parts.met(part, empty)
	return nil
}

// keep remembers how an item stands now.
func (s *Store) keep(key store.Key, id int64, item *store.Item) {
	if s.owner {
		s.kept.put(key, row{id: id, item: item})
		s.kept.parts.set(key, item != nil)
	}
}

// change makes a row what it is afterwards and answers its id.
func (s *Store) change(kind store.Kind, id int64, before, after *store.Item) (int64, error) {
	if kind == store.KindCreate {
		return s.insert(after)
	}
	var changed int64
	var err error
	switch kind {
	case store.KindRemove:
		changed, err = s.db.exec("DELETE FROM item WHERE id = ?", id)
	case store.KindAdd:
		changed, err = s.db.exec("UPDATE item SET version = ?, write_id = ?, numbers = ? WHERE id = ?",
			after.Version, after.WriteID, encodeNumbers(after.Numbers), id)
	case store.KindReplace:
		changed, err = s.replace(id, before, after)
	}
	if err == nil && changed != 1 {
		return id, fmt.Errorf("%w: %s changed %d rows", store.ErrCorrupt, kind, changed)
	}
	return id, err
}

func (s *Store) insert(item *store.Item) (id int64, err error) {
	args := []driver.Value{
		item.Part, item.Sort, item.Version, item.WriteID, encodeNumbers(item.Numbers), bodyArg(item.Body),
		item.Expires,
	}
	return s.db.insert(`INSERT INTO item
		(part, sort, version, write_id, numbers, body, expires, list_part, list_sort, due_part, due_sort)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, append(args, indexArgs(item)...)...)
}

// replace leaves the index columns alone where it can: naming them would
// rewrite the index entries.
func (s *Store) replace(id int64, before, after *store.Item) (int64, error) {
	args := []driver.Value{
		after.Version, after.WriteID, encodeNumbers(after.Numbers), bodyArg(after.Body),
	}
	const values = "UPDATE item SET version = ?, write_id = ?, numbers = ?, body = ?"
	if same(before.List, after.List) && same(before.Due, after.Due) && before.Expires == after.Expires {
		return s.db.exec(values+" WHERE id = ?", append(args, id)...)
	}
	args = append(append(args, after.Expires), indexArgs(after)...)
	return s.db.exec(values+", expires = ?, list_part = ?, list_sort = ?, due_part = ?, due_sort = ? WHERE id = ?",
		append(args, id)...)
}

func same(a, b *store.IndexKey) bool {
	return a == b || a != nil && b != nil && *a == *b
}

// Sync returns when everything applied before the call is durable. Callers
// share one commit: whoever is ready to run does so before it, and who comes to
// wait as well finds it done.
func (s *Store) Sync(ctx context.Context) error {
	if err := s.writable(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	open, failed := s.batch, s.failed
	s.mu.Unlock()
	if failed != nil || open == nil {
		return failed
	}
	runtime.Gosched()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.batch != open {
		<-open.done
		return open.err
	}
	return s.commit()
}

// commitLoop commits what nobody syncs: a transaction that has lingered, or is
// large.
func (s *Store) commitLoop() {
	defer close(s.done)
	for {
		select {
		case <-s.quit:
			return
		case <-s.dirty:
		}
		s.mu.Lock()
		open := s.batch
		s.mu.Unlock()
		timer := time.NewTimer(s.linger)
		select {
		case <-s.quit:
			timer.Stop()
			return
		case <-s.kick:
		case <-timer.C:
		}
		timer.Stop()
		s.mu.Lock()
		if s.batch == open {
			_ = s.commit() // the waiters and the next caller are told
		}
		s.mu.Unlock()
	}
}

// commit makes the open transaction durable and tells who waits for it. The
// lock is held.
func (s *Store) commit() error {
	if s.batch == nil {
		return nil
	}
	done := s.batch
	if err := s.db.run("COMMIT"); err != nil {
		return s.fail(err)
	}
	s.stats.Syncs++
	s.batch = nil
	close(done.done)
	return nil
}

// fail goes back to the last durable state for good: what was applied since is
// lost as a whole, so that a suffix of the order is missing and never a middle.
func (s *Store) fail(cause error) error {
	s.failed = fmt.Errorf("%w: %w", ErrBroken, cause)
	_ = s.db.run("ROLLBACK") // SQLite may have rolled back by itself
	if s.batch != nil {
		s.batch.err = s.failed
		close(s.batch.done)
		s.batch = nil
	}
	return s.failed
}

func signal(to chan struct{}) {
	select {
	case to <- struct{}{}:
	default:
	}
}

// Package sqlitestore keeps the shared state in one SQLite file.
//
// One process writes. Writes run at once in the open transaction of its single
// connection and are seen by its reads; one commit makes durable all that came
// before it, for however many callers wait. After a crash the file holds a
// prefix of the order of writes. Other processes may read beside the writer
// (OpenReadOnly) and see what is committed.
package sqlitestore

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"modernc.org/sqlite"

	"github.com/outerloop-dev/outerloop/pkg/store"
)

// Options tunes a store; the zero value is right for most.
type Options struct {
	// Linger is how long an Apply may wait for its commit when nobody asks for
	// a Sync; default 5 ms.
	Linger time.Duration
	// MaxBytes bounds the size of the file; a write beyond it is ErrFull and
	// stops the store. 0: as much as the disk holds.
	MaxBytes int64
	// Owner says that no other process writes the file while the store is open:
	// the caller holds a lock that says so. Rows are then kept in memory.
	Owner bool
	// Now is the clock that dates blobs; default time.Now.
	Now func() time.Time
}

// Store is a store in a SQLite file. It is safe for concurrent use.
type Store struct {
	path     string
	readOnly bool
	now      func() time.Time
	linger   time.Duration
	owner    bool

	mu     sync.Mutex // guards what follows and the connection
	db     *conn
	batch  *batch // the open transaction, nil if none
	failed error  // why the store takes no more work
	kept   kept   // rows in memory, of the owner
	seen   int64  // which state of the file they are of
	stats  Stats

	dirty chan struct{} // a transaction was opened
	kick  chan struct{} // it is large
	quit  chan struct{}
	done  chan struct{}
}

var (
	_ store.Pipeline = (*Store)(nil)
	_ store.Blobs    = (*Store)(nil)
	_ store.Scanner  = (*Store)(nil)
)

// Stats counts since the store was opened.
type Stats struct {
	// Writes is the number of writes carried out.
	Writes int64
	// Syncs is the number of commits, each of which waits for the disk once.
	Syncs int64
}

const (
	pageSize = 8192
	// checkpointPages is the length of the log, in pages, at which a commit
	// moves it into the file; logBytes is what the log's file is cut back to.
	checkpointPages = 1000
	logBytes        = 16 << 20
	cacheKB         = 8 << 10
)

// Open opens the store for writing; a missing file and its directory are
// created, an older version is migrated. Errors: store.ErrReadOnly,
// store.ErrCorrupt, ErrNewer, ErrNotStore, ErrForeignLog, ErrBusy, ErrFull; the
// file is then as it was.
func Open(path string, opts Options) (*Store, error) {
	s, err := open(path, opts)
	if err != nil {
		return nil, fmt.Errorf("opening store %s: %w", path, err)
	}
	return s, nil
}

func open(path string, opts Options) (*Store, error) {
	path, err := inspect(path, true)
	if err != nil {
		return nil, err
	}
	// Where the system has no fdatasync, the default is as durable.
	_, _ = sqlite.Fdatasync(true)
	db, err := dial(path, url.Values{"mode": {"rwc"}})
	if err != nil {
		return nil, err
	}
	if err := prepare(db, opts); err != nil {
		return nil, errors.Join(err, db.close())
	}
	s := newStore(path, db, opts)
	go s.commitLoop()
	return s, nil
}

func newStore(path string, db *conn, opts Options) *Store {
	db.file = path
	s := &Store{
		path: path, db: db, now: opts.Now, linger: opts.Linger, owner: opts.Owner,
		dirty: make(chan struct{}, 1), kick: make(chan struct{}, 1),
		quit: make(chan struct{}), done: make(chan struct{}),
	}
	if s.now == nil {
		s.now = time.Now
	}
	if s.linger <= 0 {
		s.linger = 5 * time.Millisecond
	}
	return s
}

// prepare looks before it changes anything: a file that is refused stays as it is.
func prepare(db *conn, opts Options) error {
	if err := db.run("PRAGMA busy_timeout = 5000"); err != nil {
		return err
	}
	version, err := identify(db)
	if err != nil {
		return err
	}
	if version == 0 {
		err := db.run(fmt.Sprintf("PRAGMA page_size = %d", pageSize), "PRAGMA auto_vacuum = INCREMENTAL")
		if err != nil {
			return err
		}
	}
	err = db.run(
		"PRAGMA journal_mode = WAL",
		"PRAGMA synchronous = FULL",
		"PRAGMA temp_store = MEMORY",
		fmt.Sprintf("PRAGMA cache_size = -%d", cacheKB),
		fmt.Sprintf("PRAGMA wal_autocheckpoint = %d", checkpointPages),
		fmt.Sprintf("PRAGMA journal_size_limit = %d", logBytes),
	)
	if err != nil {
		return err
	}
	if opts.MaxBytes > 0 {
		if err := db.run(fmt.Sprintf("PRAGMA max_page_count = %d", max(1, opts.MaxBytes/pageSize))); err != nil {
			return err
		}
	}
	defer db.forget()
	if version < schemaVersion {
		return migrate(db)
	}
	return db.run("BEGIN IMMEDIATE", "ROLLBACK") // read-only and busy files show now
}

// inspect gives the clear errors that SQLite has no words for, and the file
// itself where a link leads to it: its log stands beside that.
func inspect(path string, write bool) (string, error) {
	if write {
		if err := writable(path); err != nil {
			return "", err
		}
	}
	found, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if path, err = filepath.EvalSymlinks(path); err != nil {
		return "", err
	}
	return path, errors.Join(regular(found), foreignLog(path))
}

// writable creates the file where there is none, and tells what stands in the way
// of writing it.
func writable(path string) error {
	if found, err := os.Stat(path); err == nil {
		if err := regular(found); err != nil {
			return err
		}
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return unwritable("creating its directory", err)
	}
	// The file is private: it holds what people wrote.
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return unwritable("the file", err)
	}
	if err := file.Close(); err != nil {
		return err
	}
	probe, err := os.CreateTemp(dir, ".outerloop-probe-*")
	if err != nil {
		return unwritable("its directory, where the log must stand,", err)
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name()))
}

func regular(found fs.FileInfo) error {
	if !found.Mode().IsRegular() {
		return fmt.Errorf("%w: it is not a regular file", ErrNotStore)
	}
	return nil
}

func unwritable(what string, err error) error {
	if errors.Is(err, fs.ErrPermission) || isReadOnlyVolume(err) {
		return fmt.Errorf("%w: %s cannot be written: %w", store.ErrReadOnly, what, err)
	}
	return err
}

// OpenReadOnly opens an existing store for reading, also beside a writer in
// another process. It changes nothing in the store and creates none, though
// SQLite's -wal and -shm files may appear beside it; writes answer
// store.ErrReadOnly. Errors: fs.ErrNotExist, store.ErrCorrupt, ErrNewer, ErrNotStore,
// ErrForeignLog.
func OpenReadOnly(path string) (*Store, error) {
	s, err := openReadOnly(path)
	if err != nil {
		return nil, fmt.Errorf("opening store %s for reading: %w", path, err)
	}
	return s, nil
}

func openReadOnly(path string) (*Store, error) {
	path, err := inspect(path, false)
	if err != nil {
		return nil, err
	}
	db, err := dialToRead(path)
	if err != nil {
		return nil, err
	}
	s := newStore(path, db, Options{})
	s.readOnly = true
	close(s.done)
	return s, nil
}

// dialToRead opens a connection that reads, wherever the file stands.
func dialToRead(path string) (*conn, error) {
	db, err := dialReadOnly(path, url.Values{"mode": {"ro"}})
	if (errors.Is(err, store.ErrReadOnly) || errors.Is(err, fs.ErrPermission)) && noLog(path) {
		// SQLite wants to put its shared memory beside the file and cannot.
		// Without a log there is no writer either, and the file is all there is.
		db, err = dialReadOnly(path, url.Values{"mode": {"ro"}, "immutable": {"1"}})
	}
	if err != nil {
		return nil, err
	}
	db.file = path
	return db, nil
}

func dialReadOnly(path string, params url.Values) (*conn, error) {
	db, err := dial(path, params)
	if err != nil {
		return nil, err
	}
	err = db.run("PRAGMA busy_timeout = 5000", fmt.Sprintf("PRAGMA cache_size = -%d", cacheKB))
	if err == nil {
		err = readable(db)
	}
	if err != nil {
		return nil, errors.Join(err, db.close())
	}
	return db, nil
}

func readable(db *conn) error {
	version, err := identify(db)
	if err != nil {
		return err
	}
	if version == 0 {
		return fmt.Errorf("%w: it is empty", fs.ErrNotExist)
	}
	if version < schemaVersion {
		return fmt.Errorf("store has the older version %d: open it for writing once to migrate it", version)
	}
	return nil
}

func noLog(path string) bool {
	log, err := os.Stat(path + "-wal")
	return errors.Is(err, fs.ErrNotExist) || err == nil && log.Size() == 0
}

// Close commits what was applied and closes the file. Errors: what the last
// commit says.
func (s *Store) Close() error {
	s.mu.Lock()
	if errors.Is(s.failed, ErrClosed) {
		s.mu.Unlock()
		return nil
	}
	err := s.commit()
	s.failed = ErrClosed
	s.mu.Unlock()
	close(s.quit)
	<-s.done
	return errors.Join(err, s.db.close())
}

// Stats answers the counts so far.
func (s *Store) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stats
}

package local

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/local/durable"
	"github.com/outerloop-dev/outerloop/pkg/store"
	"github.com/outerloop-dev/outerloop/pkg/store/sqlitestore"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// Engine owns a state file and moves what is in it. It is safe for concurrent use.
type Engine struct {
	cfg   Config
	lock  *lock
	store *sqlitestore.Store
	core  *durable.Core
	coord *coordinator.Coordinator
	defs  *definitions
	files *worker.BlobFiles
	post  *post

	listener net.Listener
	visits   sync.WaitGroup

	// life makes the identity of this owner part of every id it gives.
	life    string
	ids     atomic.Int64
	closing chan struct{}
	// handlers is cancelled when functions must stop.
	handlers context.Context
	stop     context.CancelCauseFunc

	mu      sync.Mutex // guards what follows
	pools   []*pool    // in the order of the configuration
	byName  map[string]*pool
	direct  []durable.Call // invocations of workers in line
	gates   []durable.Call // invocations of the coordinator in line
	running int            // of direct
	busy    int            // goroutines that work
	failed  error
	changed chan struct{} // closed and replaced whenever busy, failed or the lines change

	// watching is apart: progress is told under the core's lock, which may be
	// taken under mu.
	watching sync.Mutex
	watchers map[int]func(Progress)
	watcher  int
	// sweepDue is when blobs are looked through next; guarded by mu.
	sweepDue time.Time
}

// pool is one worker with its queue.
type pool struct {
	Worker
	inUse int
}

// Open becomes the owner of the state file, which is created when missing,
// finds what was under way, and listens for visitors. Nothing moves before
// RunUntilIdle or Serve. Errors: *OwnedError, those of sqlitestore.Open, and
// what is wrong with the configuration.
func Open(ctx context.Context, cfg Config) (*Engine, error) {
	cfg, err := cfg.filled()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(cfg.State), 0o700); err != nil {
		return nil, fmt.Errorf("opening %s: %w", cfg.State, err)
	}
	held, err := acquire(cfg.State)
	if err != nil {
		return nil, err
	}
	db, err := sqlitestore.Open(cfg.State, sqlitestore.Options{Now: cfg.Clock.Now, Owner: true})
	if err != nil {
		return nil, errors.Join(err, held.release())
	}
	e := newEngine(cfg, held, db)
	if err := e.begin(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("opening %s: %w", cfg.State, err), e.Close())
	}
	return e, nil
}

func newEngine(cfg Config, held *lock, db *sqlitestore.Store) *Engine {
	var life [8]byte
	rand.Read(life[:]) //nolint:errcheck // never fails
	e := &Engine{
		cfg: cfg, lock: held, store: db, life: hex.EncodeToString(life[:]),
		closing: make(chan struct{}), changed: make(chan struct{}),
		byName: make(map[string]*pool), watchers: make(map[int]func(Progress)),
		files: &worker.BlobFiles{Get: db.GetBlob},
	}
	e.handlers, e.stop = context.WithCancelCause(context.Background())
	if cfg.Progress != nil {
		e.watchers[0] = cfg.Progress
	}
	e.watcher = 1
	return e
}

// begin makes core and coordinator and finds what was under way.
func (e *Engine) begin(ctx context.Context) error {
	var err error
	e.core, err = durable.New(durable.Config{
		Store: e.store.Relaxed(), Blobs: e.store.Relaxed(), Clock: e.cfg.Clock.Now, OnStep: e.progress,
		DeadLetter: outerloop.ErrorCrashed,
	})
	if err != nil {
		return err
	}
	e.defs = newDefinitions(e.store, e.cfg.Loops)
	if err := e.publish(ctx); err != nil {
		return err
	}
	if err := e.openPost(); err != nil {
		return err
	}
	limits := e.cfg.Limits
	e.coord, err = coordinator.New(coordinator.Config{
		Store: e.store.Relaxed(), Blobs: e.store.Relaxed(), Definitions: e.defs,
		Loops: e.defs.names, Startable: e.defs.startable, Executions: executions{e}, Tokens: tokens{e}, Clock: e.cfg.Clock.Now, IDs: e.id,
		Notify: e.notify, Log: e.cfg.Log, Deliver: e.handOver, Files: e.triggered(),
		ResourcePoll: limits.ResourcePoll, Lease: limits.Lease, ActionGrace: limits.ActionGrace, CrashLimit: limits.CrashLimit, Attempts: limits.Attempts,
		Keep: limits.Keep, KeepOf: limits.KeepOf,
	})
	if err != nil {
		return err
	}
	e.makePools()
	if err := e.takeOver(ctx); err != nil {
		return err
	}
	return e.listen()
}

// makePools reads from the charters how many of each worker run at a time.
func (e *Engine) makePools() {
	for _, w := range e.cfg.Workers {
		for _, l := range e.cfg.Loops {
			checked := l.Definition.Workers[w.Code.Name()]
			if checked == nil {
				continue
			}
			if w.AtOnce == 0 {
				w.AtOnce = checked.Charter.Dispatch.AtOnce
			}
			if w.Timeout == 0 {
				w.Timeout = checked.Charter.Dispatch.Timeout
			}
		}
		w.AtOnce = max(w.AtOnce, 1)
		if w.Timeout == 0 {
			w.Timeout = defaultTimeout
		}
		p := &pool{Worker: w}
		e.pools = append(e.pools, p)
		e.byName[w.Code.Name()] = p
	}
}

// id is unique over all owners of the file.
func (e *Engine) id() string { return e.life + "-" + strconv.FormatInt(e.ids.Add(1), 36) }

// notify hands an alert on when the incident is durable.
func (e *Engine) notify(ctx context.Context, alert coordinator.Alert) {
	e.post.keep(ctx, alert)
	if e.cfg.Notify == nil {
		return
	}
	if err := e.store.Sync(ctx); err != nil {
		e.fail(err)
		return
	}
	e.cfg.Notify(ctx, alert)
}

// Coordinator is the owner's coordinator: use cases and readers. What it wrote
// is durable after Sync.
func (e *Engine) Coordinator() *coordinator.Coordinator { return e.coord }

// Store is the owner's store. Write it only through the coordinator.
func (e *Engine) Store() *sqlitestore.Store { return e.store }

// Sync returns when everything done so far is durable.
func (e *Engine) Sync(ctx context.Context) error { return e.store.Sync(ctx) }

// fail stops the engine for good; the first error counts.
func (e *Engine) fail(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.failed == nil {
		e.failed = err
	}
	e.notice()
}

// notice wakes whoever waits for a change. The lock is held.
func (e *Engine) notice() {
	close(e.changed)
	e.changed = make(chan struct{})
}

// Close ends the ownership: visitors are sent away, functions under way get the
// grace to finish, everything is made durable. What did not finish is found
// again by the next owner. It may be called more than once.
func (e *Engine) Close() error {
	e.mu.Lock()
	select {
	case <-e.closing:
		e.mu.Unlock()
		return nil
	default:
	}
	close(e.closing)
	if e.failed == nil {
		e.failed = ErrClosed
	}
	e.notice()
	e.mu.Unlock()
	var errs []error
	if e.listener != nil {
		errs = append(errs, ignoreClosed(e.listener.Close()))
	}
	e.settle()
	e.visits.Wait()
	e.post.wait()
	errs = append(errs, e.post.last(), e.store.Close(), e.lock.release())
	return errors.Join(errs...)
}

// settle waits for the functions under way, at most for the grace.
func (e *Engine) settle() {
	grace := e.cfg.Clock.After(e.cfg.Grace)
	for {
		e.mu.Lock()
		busy, changed := e.busy, e.changed
		e.mu.Unlock()
		if busy == 0 {
			e.stop(ErrClosed)
			return
		}
		select {
		case <-changed:
		case <-grace:
			e.stop(ErrClosed)
			return
		}
	}
}

func ignoreClosed(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// soon is a moment from now, for what is tried again.
func (e *Engine) soon(d time.Duration) time.Time { return e.cfg.Clock.Now().Add(d) }

var _ store.Pipeline = (*sqlitestore.Store)(nil)

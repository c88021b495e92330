package durable

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/asl"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// Errors to branch on.
var (
	// ErrExists says that an execution of this name exists with another input
	// or machine, or has ended (ExecutionAlreadyExists).
	ErrExists = errors.New("execution already exists")
	// ErrEnded says, beside ErrExists, that it is the same execution and has ended.
	ErrEnded = errors.New("execution has ended")
	// ErrAbsent says that there is no such execution (ExecutionDoesNotExist).
	ErrAbsent = errors.New("execution does not exist")
	// ErrName says that a name is not one that Step Functions takes (InvalidName).
	ErrName = errors.New("invalid name")
	// ErrNoMachine says that there is no such machine (StateMachineDoesNotExist).
	ErrNoMachine = errors.New("state machine does not exist")
	// ErrTokenGone says that a token's task is closed or timed out (TaskTimedOut).
	ErrTokenGone = errors.New("task timed out or is already closed")
	// ErrToken says that a token is malformed (InvalidToken).
	ErrToken = errors.New("invalid token")
	// ErrOutput says that an output is not JSON (InvalidOutput), ErrTooLarge
	// that it or an input is over 256 KiB.
	ErrOutput   = errors.New("invalid output")
	ErrTooLarge = errors.New("payload is over the size limit")
	// ErrBroken says that an earlier write failed.
	ErrBroken = errors.New("an earlier write failed; open the store anew")
)

// Config is what a core is made of. Store, Blobs and Clock are required.
type Config struct {
	Store store.Pipeline
	Blobs store.Blobs
	Clock func() time.Time
	// Seed gives the randomness of each transition; nil: crypto/rand. Task
	// tokens are made from it.
	Seed func() asl.Seed
	// Cache is how many executions are kept decoded; 0: 512.
	Cache int
	// MaxReceive is after how many receives a message is dead-lettered; 0: 100.
	MaxReceive int64
	// DeadLetter is the error by which a task fails whose message went to the
	// dead-letter queue: what the queue's consumer does there. Empty: nothing
	// happens, as on SQS alone, and the task waits for its time limit.
	DeadLetter string
	// OnStep is told of every transition, in order, before it is durable. It
	// must be quick and must not call the core. nil: nobody.
	OnStep func(Transition)
}

// Transition is one operation's history for one execution.
type Transition struct {
	Execution string
	Parent    string
	History   []asl.HistoryEvent
}

const (
	defaultCache      = 512
	defaultMaxReceive = 100
)

// Core is the durable engine. It is safe for concurrent use.
type Core struct {
	cfg Config
	mu  sync.Mutex

	machines map[string]*asl.Machine
	cache    *cache
	queues   map[string]*queue
	calls    []Call
	jobs     []job
	timers   timers
	writes   int64
	prefix   string // of write ids: unique to this core
	broken   error
}

// New returns a core over a store. Call Recover before anything else.
func New(cfg Config) (*Core, error) {
	if cfg.Store == nil || cfg.Blobs == nil || cfg.Clock == nil {
		return nil, errors.New("durable: Store, Blobs and Clock are required")
	}
	if cfg.Seed == nil {
		cfg.Seed = randomSeed
	}
	if cfg.Cache <= 0 {
		cfg.Cache = defaultCache
	}
	if cfg.MaxReceive <= 0 {
		cfg.MaxReceive = defaultMaxReceive
	}
	if cfg.OnStep == nil {
		cfg.OnStep = func(Transition) {}
	}
	seed := cfg.Seed()
	return &Core{
		cfg:      cfg,
		prefix:   hex.EncodeToString(seed[:]) + "/",
		machines: make(map[string]*asl.Machine),
		cache:    newCache(cfg.Cache),
		queues:   make(map[string]*queue),
		timers:   newTimers(),
	}, nil
}

func randomSeed() asl.Seed {
	var seed asl.Seed
	rand.Read(seed[:]) //nolint:errcheck // never fails
	return seed
}

// lock begins an operation; the answer ends it.
func (c *Core) lock() (unlock func(), err error) {
	c.mu.Lock()
	if c.broken != nil {
		err := fmt.Errorf("%w: %w", ErrBroken, c.broken)
		c.mu.Unlock()
		return nil, err
	}
	return c.mu.Unlock, nil
}

// apply writes; a failure other than a failed condition breaks the core.
func (c *Core) apply(ctx context.Context, ops ...store.Op) error {
	c.writes++
	err := c.cfg.Store.Apply(context.WithoutCancel(ctx), c.prefix+strconv.FormatInt(c.writes, 36), ops...)
	if err != nil && !errors.Is(err, store.ErrCondition) {
		c.broken = err
	}
	return err
}

// get reads one item; nil if absent.
func (c *Core) get(ctx context.Context, key store.Key) (*store.Item, error) {
	items, err := c.cfg.Store.Get(context.WithoutCancel(ctx), key)
	if err != nil {
		return nil, err
	}
	return items[0], nil
}

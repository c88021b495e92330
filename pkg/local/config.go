package local

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/gate"
)

// DefaultState is the state file of a project, relative to its directory.
const DefaultState = ".outerloop/state.db"

// Config is what an engine is made of. State is required; the rest has defaults.
type Config struct {
	// State is the path of the SQLite file. Its directory is made when missing;
	// lock and socket stand beside it.
	State string
	// Loops are the loops that this process can start. Runs of older
	// definitions go on from what the state file keeps of them.
	Loops []Loop
	// Workers do the steps. A delivery for a worker that is not listed waits.
	Workers []Worker
	// Clock is the source of time; nil: the system's.
	Clock Clock
	// Notify hands alerts on; nil: nobody. It is called after the sync.
	Notify coordinator.Notify
	// Progress is told what happens, as it happens and possibly before it is
	// durable: for display. It must not block. nil: nobody.
	Progress func(Progress)
	// Log gets what went wrong and was repaired; nil: discarded.
	Log *slog.Logger
	// Patience is how long RunUntilIdle waits for a retry, a busy lease or a
	// wait state before it calls the engine idle; 0: 2 minutes, negative: never.
	Patience time.Duration
	// AtOnce bounds direct invocations of all workers together; 0: 64.
	AtOnce int
	// Coordinator sets Lease, ActionGrace, CrashLimit and Attempts; the ports
	// in it are filled in by Open.
	Coordinator coordinator.Config
}

// Loop is one loop as the project holds it: checked, compiled, committed.
type Loop struct {
	Name string
	// Definition is the bundle's content hash; Bundle its bytes (canonical JSON).
	Definition string
	Bundle     []byte
	// Machine is the committed NAME.asl.json, byte for byte.
	Machine []byte
}

// Worker is one worker as the engine calls it.
type Worker struct {
	Name string
	// AtOnce is how many deliveries of its queue run at a time; 0: 1.
	AtOnce int
	// Timeout ends an invocation, as a Lambda function's does; 0: 60 s.
	Timeout time.Duration
	// Deliver runs one delivery through the gate and answers what became of it.
	Deliver Deliver
}

// Deliver handles one delivery: admit, handler, settle. It must return soon
// after ctx ends. An error means that nothing is known; the delivery is repeated
// (queue) or the task fails with it (direct).
type Deliver func(ctx context.Context, g gate.Gate, d gate.Delivery, call Invocation) (Handled, error)

// Invocation is what a function knows about one invocation of it.
type Invocation struct {
	// RequestID is new for every invocation; nonces are made from it.
	RequestID string
	// Limit is when the invocation ends.
	Limit time.Time
}

// Handled says what became of a delivery: a verdict, or later.
type Handled struct {
	// Verdict answers it; nil: not answered.
	Verdict *gate.Verdict
	// Later, when not answered, is when to deliver it again.
	Later time.Time
}

// Clock tells and waits for time. The zero of a simulation and the system's
// clock are both one.
type Clock interface {
	Now() time.Time
	// After sends once, d from now.
	After(d time.Duration) <-chan time.Time
}

// Progress is one thing that happened, for display.
type Progress struct {
	At time.Time `json:"at"`
	// Run is the execution's name without its generation; empty when none is meant.
	Run string `json:"run,omitempty"`
	// Event is the history's word: ExecutionStarted, TaskStateEntered,
	// TaskStateExited, TaskFailed, ExecutionSucceeded, …
	Event string `json:"event"`
	// State is the machine's state, the step's path.
	State string `json:"state,omitempty"`
	// Item is the item's address inside `each`, as in "3.".
	Item string `json:"item,omitempty"`
	// Error is the error's name, for events that have one.
	Error string `json:"error,omitempty"`
}

// Errors to branch on.
var (
	// ErrOwned says that another process owns the state file; errors.As gives *OwnedError.
	ErrOwned = errors.New("state file is owned by another process")
	// ErrNoState says that there is no state file (and reading does not make one).
	ErrNoState = errors.New("no state file")
	// ErrClosed says that the engine was closed.
	ErrClosed = errors.New("engine is closed")
)

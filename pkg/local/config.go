package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/alert"
	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/loop"
	"github.com/outerloop-dev/outerloop/pkg/worker"
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
	// Workers do the steps. A delivery for a worker that is not listed waits in
	// its queue; a direct call to it fails as one to a function that does not exist.
	Workers []Worker
	// Clock is the source of time; nil: the system's.
	Clock worker.Clock
	// Notify hands alerts on; nil: nobody. It is called when the incident is durable.
	Notify coordinator.Notify
	// Alerts are the groups and channels by which people are told; its Store,
	// Clock and IDs are the engine's. What it was told is kept in the state file and
	// sent by Serve, and at the latest by Close. nil: only Notify is told.
	Alerts *alert.Config
	// Progress is told what happens, as it happens and possibly before it is
	// durable: for display. It is called from several goroutines, in order, and
	// must not block. nil: nobody.
	Progress func(Progress)
	// Scheduled gives the input of a run that a schedule starts: what the
	// trigger says, with the files that it names kept as blobs. An error starts
	// nothing. nil: Serve fires no schedules.
	Scheduled func(ctx context.Context, fire Scheduled) (json.RawMessage, error)
	// Files keeps the files that the input of a run names which a webhook, an event
	// or the end of another run starts; Definition, Input and PutBlob are given. An
	// error starts nothing. nil: inputs stay as they are.
	Files func(ctx context.Context, of Scheduled) (json.RawMessage, error)
	// Log gets what went wrong and was repaired; nil: discarded.
	Log *slog.Logger
	// Patience is how long RunUntilIdle waits for what comes by itself (a
	// retry, a busy lease, a wait state) before it calls the engine idle;
	// 0: 2 minutes, negative: not at all.
	Patience time.Duration
	// Grace is how long Close lets functions under way finish; 0: 5 s.
	Grace time.Duration
	// DirectAtOnce bounds direct invocations of workers together; 0: 64.
	DirectAtOnce int
	// Limits are the coordinator's Lease, ActionGrace, ResourcePoll (here 250 ms
	// where it is 0), CrashLimit (here 50: in one process the end of the host is
	// every worker's end, and says little about one of them), Attempts, Keep and
	// KeepOf; its other fields are ignored.
	Limits coordinator.Config
}

// Loop is one loop as the project holds it: checked, compiled, committed.
type Loop struct {
	// Definition has its Hash.
	Definition *loop.Definition
	// Bundle is what the hash is of; it is kept in the state file, so that runs
	// go on with it when the project has changed.
	Bundle []byte
	// Machine is the committed NAME.asl.json, byte for byte. One that is broken
	// keeps new runs of this loop from starting (ErrMachine), and nothing else.
	Machine []byte
}

// Worker is one worker's code and surroundings. How many run at a time and for
// how long is what its charter says (dispatch).
type Worker struct {
	Code worker.Worker
	// Connections are those that its charter names, by name.
	Connections map[string]worker.Connection
	// AtOnce and Timeout replace the charter's where they are not 0. The
	// defaults where neither says anything: 1 at a time, 60 s.
	AtOnce  int
	Timeout time.Duration
}

// Scheduled is one fire of a loop's schedule.
type Scheduled struct {
	Definition *loop.Definition
	Trigger    loop.TriggerRule
	// At is the nominal time of the fire.
	At time.Time
	// Input is the trigger's, evaluated.
	Input json.RawMessage
	// PutBlob keeps the content of a file and answers its reference.
	PutBlob func(ctx context.Context, content []byte) (string, error)
}

// Progress is one thing that happened, for display.
type Progress struct {
	At time.Time `json:"at"`
	// Run is the run's id.
	Run string `json:"run,omitempty"`
	// Event is the history's word: ExecutionStarted, TaskStateEntered,
	// TaskStateExited, TaskFailed, ExecutionSucceeded, …
	Event string `json:"event"`
	// State is the machine's state, the step's path.
	State string `json:"state,omitempty"`
	// Error is the error's name, for events that have one.
	Error string `json:"error,omitempty"`
}

// Errors to branch on.
var (
	// ErrOwned says that another process owns the state file; errors.As gives *OwnedError.
	ErrOwned = errors.New("state file is owned by another process")
	// ErrNoState says that there is no state file (and reading does not make one).
	ErrNoState = errors.New("no state file")
	// ErrMachine says that a loop's committed machine cannot be run; errors.As gives *MachineError.
	ErrMachine = errors.New("machine is broken")
	// ErrClosed says that the engine was closed.
	ErrClosed = errors.New("engine is closed")
)

const (
	defaultPatience   = 2 * time.Minute
	defaultGrace      = 5 * time.Second
	defaultDirect     = 64
	defaultPoll       = 250 * time.Millisecond
	defaultCrashLimit = 50
	defaultTimeout    = 60 * time.Second
)

// filled checks the configuration and fills in defaults; all problems are joined.
func (cfg Config) filled() (Config, error) {
	var faults []error
	if cfg.State == "" {
		faults = append(faults, errors.New("State is required"))
	}
	for i, l := range cfg.Loops {
		if l.Definition == nil || l.Definition.Hash == "" || len(l.Bundle) == 0 {
			faults = append(faults, fmt.Errorf("loop %d lacks its definition with hash or its bundle", i+1))
		}
	}
	seen := map[string]bool{}
	for _, w := range cfg.Workers {
		if seen[w.Code.Name()] {
			faults = append(faults, fmt.Errorf("worker %q is listed twice", w.Code.Name()))
		}
		seen[w.Code.Name()] = true
	}
	if err := errors.Join(faults...); err != nil {
		return cfg, fmt.Errorf("configuring the embedded engine: %w", err)
	}
	if cfg.Clock == nil {
		cfg.Clock = worker.SystemClock{}
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Patience == 0 {
		cfg.Patience = defaultPatience
	}
	if cfg.Grace == 0 {
		cfg.Grace = defaultGrace
	}
	if cfg.Limits.ResourcePoll == 0 {
		cfg.Limits.ResourcePoll = defaultPoll
	}
	if cfg.Limits.CrashLimit == 0 {
		cfg.Limits.CrashLimit = defaultCrashLimit
	}
	if cfg.DirectAtOnce <= 0 {
		cfg.DirectAtOnce = defaultDirect
	}
	return cfg, nil
}

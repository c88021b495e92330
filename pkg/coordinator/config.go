package coordinator

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/gate"
	"github.com/outerloop-dev/outerloop/pkg/loop"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// Definitions gives the checked loops. Implementations keep what they parsed:
// Definition is called by every operation.
type Definitions interface {
	// Definition is the loop of a content hash. Error: ErrNoDefinition (wrapped)
	// when nothing was published under it.
	Definition(ctx context.Context, hash string) (*loop.Definition, error)
	// Latest is the hash that a new run of the loop pins. Error: ErrNoLoop (wrapped).
	Latest(ctx context.Context, loopName string) (hash string, err error)
}

// Execution is one start of a compiled machine.
type Execution struct {
	// Name is RUN-gGENERATION.
	Name string
	// Loop and Definition say which machine: the one compiled from this content hash.
	Loop       string
	Definition string
	// Input is the machine's whole input, canonical: the same run and generation give the same bytes.
	Input json.RawMessage
}

// ExecutionStatus is what an engine says about an execution.
type ExecutionStatus string

// The states of an execution.
const (
	ExecutionAbsent  ExecutionStatus = "absent"
	ExecutionRunning ExecutionStatus = "running"
	ExecutionEnded   ExecutionStatus = "ended"
)

// ExecutionState is an execution as its engine sees it. Error and Cause are
// empty when it succeeded or still runs.
type ExecutionState struct {
	Status ExecutionStatus
	Error  string
	Cause  string
}

// Executions starts and stops machines.
type Executions interface {
	// Start is idempotent: the same name with the same input is one execution,
	// also after it has ended.
	Start(ctx context.Context, e Execution) error
	// Stop ends an execution; one that has ended or never was is no error.
	Stop(ctx context.Context, name, errorName, cause string) error
	// Describe may lag behind; an unknown name is ExecutionAbsent, no error.
	Describe(ctx context.Context, name string) (ExecutionState, error)
}

// Tokens completes the tasks that wait for a token. A token that is used,
// expired or unknown answers ErrTokenGone, which the coordinator takes for success.
type Tokens interface {
	Succeed(ctx context.Context, token string, output json.RawMessage) error
	Fail(ctx context.Context, token, errorName, cause string) error
}

// Errors of the ports.
var (
	ErrTokenGone    = errors.New("task token is used, expired or unknown")
	ErrNoDefinition = errors.New("no definition of this hash")
	ErrNoLoop       = errors.New("no such loop")
)

// Config is what a coordinator is made of. Store, Blobs, Definitions,
// Executions, Tokens, Clock and IDs are required.
type Config struct {
	Store       store.Store
	Blobs       store.Blobs
	Definitions Definitions
	Executions  Executions
	Tokens      Tokens
	// Clock is the only source of time.
	Clock func() time.Time
	// IDs gives a new unique text for every write, at most 36 bytes.
	IDs func() string
	// Files replaces the fields of a triggered run's input that are files, and
	// name one, by references of blobs; nil: they stay as they are, unless the fire
	// brings its own (FireRequest.Files).
	Files func(ctx context.Context, loop string, input json.RawMessage) (json.RawMessage, error)
	// Loops lists the loops that new runs can be started of, for triggers by
	// events; nil: none subscribes to any.
	Loops func(ctx context.Context) ([]string, error)
	// Deliver hands a delivery to a worker outside of any machine, for rollbacks:
	// at least once, and without waiting for its end. nil: none can be made.
	Deliver func(ctx context.Context, worker string, d gate.Delivery) error
	// Startable tells whether a new run of a definition, or of a loop that has it
	// for a sub-loop, may be created; its error refuses the start. Runs that there
	// are go on regardless. nil: all may.
	Startable func(ctx context.Context, definition string) error
	// Notify is told of incidents; nil: nobody.
	Notify Notify
	// Log gets refused and repaired things; nil: discarded. Never business data.
	Log *slog.Logger
	// Lease is how long an attempt may be silent; 0: 60 s.
	Lease time.Duration
	// ActionGrace is added to an action's time limit before its outcome is
	// called unknown: clock skew and provider delay must fit in it; 0: 10 s.
	ActionGrace time.Duration
	// CrashLimit is how many dead leases one generation of a step survives; 0: 3.
	CrashLimit int
	// ResourcePoll is how soon a step asks again for a resource that another step
	// holds, at the latest; 0: 5 s. On a queue each asking is a receive.
	ResourcePoll time.Duration
	// Keep is how long closed runs are kept where neither loop nor project says
	// (`keep`), 0: DefaultKeep, 90 days; KeepOf is what holds for loops by name,
	// whatever they say.
	Keep   time.Duration
	KeepOf map[string]time.Duration
	// Attempts is how often a write is decided again after it lost a race; 0: 8.
	Attempts int
}

const (
	defaultLease       = 60 * time.Second
	defaultPoll        = 5 * time.Second
	defaultActionGrace = 10 * time.Second
	defaultCrashLimit  = 3
	defaultAttempts    = 8
)

// Coordinator does the use cases. It is safe for concurrent use when its ports are.
type Coordinator struct {
	cfg   Config
	pins  pinned
	blobs blobCache
	pages pageCache
	// records decodes what is read again and again.
	records record.Decoder
	// usual and stalls spare the watch reading the same again and again.
	usual  histories
	stalls looks
	// loose spares it looking for what belongs to no run.
	loose looks
	// opened are the exceptions that this process has told or found told.
	opened notices
}

// New checks the configuration and fills in defaults; all problems are joined in the error.
func New(cfg Config) (*Coordinator, error) {
	missing := func(absent bool, what string) error {
		if absent {
			return errors.New("coordinator: " + what + " is required")
		}
		return nil
	}
	err := errors.Join(
		missing(cfg.Store == nil, "Store"), missing(cfg.Blobs == nil, "Blobs"),
		missing(cfg.Definitions == nil, "Definitions"), missing(cfg.Executions == nil, "Executions"),
		missing(cfg.Tokens == nil, "Tokens"), missing(cfg.Clock == nil, "Clock"), missing(cfg.IDs == nil, "IDs"),
	)
	if err != nil {
		return nil, err
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Lease == 0 {
		cfg.Lease = defaultLease
	}
	if cfg.ResourcePoll == 0 {
		cfg.ResourcePoll = defaultPoll
	}
	if cfg.ActionGrace == 0 {
		cfg.ActionGrace = defaultActionGrace
	}
	if cfg.CrashLimit == 0 {
		cfg.CrashLimit = defaultCrashLimit
	}
	if cfg.Attempts == 0 {
		cfg.Attempts = defaultAttempts
	}
	c := &Coordinator{cfg: cfg}
	if cfg.Notify == nil {
		cfg.Notify = func(context.Context, Alert) {}
	}
	c.cfg.Notify = once(c.veiled(cfg.Notify))
	return c, nil
}

package alert

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/registry"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// DefaultQuiet is how long more of one incident waits after a message.
const DefaultQuiet = 15 * time.Minute

// Channel brings messages to people. Send gives up by itself after some time,
// also where the other side neither answers nor closes. It may be asked to send
// a message again (same ID) after a crash. Errors: *LaterError where it may be
// tried again from a time on, ErrRefused (wrapped) where it is no use, anything
// else is tried again a few times. No error may contain a secret.
type Channel interface {
	Send(ctx context.Context, m Message) error
}

// ErrRefused says that sending again is no use: a wrong address or secret.
var ErrRefused = errors.New("the channel refuses it")

// LaterError is a failure that names the earliest time of another try.
type LaterError struct {
	Until time.Time
	Why   string
}

// Error says why.
func (e *LaterError) Error() string { return e.Why }

// Config is what a desk is made of. Store, Clock and IDs are required.
type Config struct {
	Store store.Store
	// Clock is the only source of time; IDs gives a new text for every write.
	Clock func() time.Time
	IDs   func() string
	// Project names groups with their channels, and the zone of digests; nil:
	// everything goes to the log.
	Project *registry.Project
	// Channels by the names that groups use. One that is missing here is
	// replaced by the log, which then says so.
	Channels map[string]Channel
	// Also gets every message beside a group's own channels, as a topic does on
	// AWS; nil: none.
	Also Channel
	// Quiet is the quiet period after a message; 0: DefaultQuiet.
	Quiet time.Duration
	// Commands is how printed commands begin; empty: "outerloop".
	Commands string
	// Log gets what could not be sent, and every message for want of a channel; nil: discarded.
	Log *slog.Logger
}

// Desk keeps and sends alerts. It is safe for concurrent use.
type Desk struct{ cfg Config }

// New checks the configuration; all problems are joined in the error.
func New(cfg Config) (*Desk, error) {
	var missing []error
	if cfg.Store == nil {
		missing = append(missing, errors.New("alert: Store is required"))
	}
	if cfg.Clock == nil {
		missing = append(missing, errors.New("alert: Clock is required"))
	}
	if cfg.IDs == nil {
		missing = append(missing, errors.New("alert: IDs is required"))
	}
	if err := errors.Join(missing...); err != nil {
		return nil, err
	}
	if cfg.Quiet == 0 {
		cfg.Quiet = DefaultQuiet
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Commands == "" {
		cfg.Commands = "outerloop"
	}
	return &Desk{cfg: cfg}, nil
}

func (d *Desk) now() time.Time { return d.cfg.Clock().UTC().Truncate(time.Millisecond) }

// The channels that need no connection.
const (
	// Logged is the log.
	Logged = "log"
	// also is the channel of Config.Also.
	also = "*"
)

// channels are the names of a group's channels, at least one.
func (d *Desk) channels(group string) []string {
	var names []string
	if d.cfg.Project != nil {
		if g, known := d.cfg.Project.Group(group); known {
			names = slices.Clone(g.Alert)
		}
	}
	if d.cfg.Also != nil {
		names = append(names, also)
	}
	if len(names) == 0 {
		names = []string{Logged}
	}
	return slices.Compact(slices.Sorted(slices.Values(names)))
}

// channel finds a channel; the log stands in for one that is not there.
func (d *Desk) channel(name string) Channel {
	if name == also && d.cfg.Also != nil {
		return d.cfg.Also
	}
	if c := d.cfg.Channels[name]; c != nil {
		return c
	}
	return toLog{log: d.cfg.Log, instead: name}
}

// incident is what an alert belongs to: what happens to one loop is told
// together; a worker's breaker, a request's reminders and a budget are
// incidents of their own, and so are all requests of a run together.
func incident(a coordinator.Alert) string {
	switch {
	case a.Kind == coordinator.KindReminder || a.Kind == coordinator.KindEscalation:
		return "request " + a.ID
	case a.Kind == coordinator.KindRequest:
		return "requests " + a.Run
	case a.Loop != "":
		return "loop " + a.Loop
	}
	return a.Kind + " " + a.ID
}

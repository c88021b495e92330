package worker

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/gate"
)

// Env is what the runtime provides to its workers. The zero Env has the
// system's clock, no files and no connections.
type Env struct {
	// Clock is the source of time; nil: the system's.
	Clock Clock
	// Files opens file inputs; nil: there are none.
	Files Files
	// Connections are the configured connections that this worker's charter
	// names in `tools`, by name.
	Connections map[string]Connection
	// Run runs another worker on a delivery of a tool call and returns when it
	// has settled; nil: this runtime makes no tool calls.
	Run func(ctx context.Context, worker string, d gate.Delivery) error
	// Log gets what was repaired, never business data; nil: discarded.
	Log *slog.Logger
	// Inline runs the worker's function on the calling goroutine, without
	// heartbeats and without a bound on how long it may overstay: for a
	// simulation in which nothing runs at the same time.
	Inline bool
}

// Clock tells and waits for time.
type Clock interface {
	Now() time.Time
	// After sends once, d from now.
	After(d time.Duration) <-chan time.Time
}

// SystemClock is the machine's clock.
type SystemClock struct{}

// Now is time.Now.
func (SystemClock) Now() time.Time { return time.Now() }

// After is time.After.
func (SystemClock) After(d time.Duration) <-chan time.Time { return time.After(d) }

// Connection is a configured way to the outside world. Its kind says which
// settings it has; secrets are resolved by the runtime and never logged.
type Connection struct {
	Name     string
	Kind     string
	Settings map[string]string
	// Directory stands behind kinds files and outbox; nil: the directory of the
	// disk that the setting dir names.
	Directory Directory
	// Mail sends, over kinds that are a mail service; nil: it cannot.
	Mail Mail
	// Fault is why the connection cannot be used now, as a secret that could not
	// be read; nil: it can.
	Fault error
}

// Setting gives a setting, or the fallback when it is absent or empty.
func (c Connection) Setting(name, fallback string) string {
	if v := c.Settings[name]; v != "" {
		return v
	}
	return fallback
}

// LogValue keeps settings, which may be secrets, out of logs.
func (c Connection) LogValue() slog.Value {
	return slog.GroupValue(slog.String("name", c.Name), slog.String("kind", c.Kind))
}

func (e Env) filled() Env {
	if e.Clock == nil {
		e.Clock = SystemClock{}
	}
	if e.Log == nil {
		e.Log = slog.New(slog.DiscardHandler)
	}
	return e
}

func (e Env) connection(name string) (Connection, error) {
	if c, ok := e.Connections[name]; ok {
		if c.Fault != nil {
			return Connection{}, Transient("connection %q cannot be used: %w", name, c.Fault)
		}
		return c, nil
	}
	var have []string
	for known := range e.Connections {
		have = append(have, known)
	}
	slices.Sort(have)
	return Connection{}, Fatal("no connection %q is configured for this worker (configured: %s)", name, strings.Join(have, ", "))
}

func (e Env) open(ctx context.Context, property, ref string) (File, error) {
	if ref == "" {
		return nil, MissingInput("the input has no file %q", property)
	}
	if e.Files == nil {
		return nil, Fatal("opening file %q: this runtime has no files", property)
	}
	f, err := e.Files.Open(ctx, ref)
	if err != nil {
		if hasClass(err) {
			return nil, err
		}
		return nil, &Error{Class: outerloop.ClassTransient, err: fmt.Errorf("opening file %q: %w", property, err)}
	}
	return f, nil
}

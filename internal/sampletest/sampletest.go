// Package sampletest runs the sample loops of this project from end to end on
// the embedded engine, with a state directory of their own and a clock that
// jumps from one due moment to the next. Only tests import it.
package sampletest

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/local"
	"github.com/outerloop-dev/outerloop/pkg/project"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// World is an engine with some of the project's loops and everything outside.
type World struct {
	testing.TB
	// Dir holds the state file and what the workers make: one directory for
	// each connection.
	Dir     string
	Engine  *local.Engine
	Project *project.Project

	mu      sync.Mutex
	alerts  []coordinator.Alert
	root    string
	clock   *clock
	instead map[string]string
}

// clock is moved by hand; what waits for it waits for good.
type clock struct{ now atomic.Int64 }

// Now is the time that was set last.
func (c *clock) Now() time.Time { return time.Unix(0, c.now.Load()).UTC() }

// After never sends: the world looks for what is due and jumps there.
func (c *clock) After(time.Duration) <-chan time.Time { return make(chan time.Time) }

// Setup is what a world begins with. Root is the project's directory.
type Setup struct {
	Root    string
	Now     time.Time
	Loops   []string
	Workers []worker.Worker
	// Instead are directories for connections whose shipped content a test changes.
	Instead map[string]string
}

// New opens an engine with the committed machines of the named loops.
func New(t testing.TB, s Setup) *World {
	t.Helper()
	read, problems := project.Open(s.Root)
	for _, name := range s.Loops {
		if _, ok := read.Loop(name); !ok {
			t.Fatalf("there is no right loop %s: %v", name, problems.Err())
		}
	}
	w := &World{TB: t, Dir: t.TempDir(), Project: read, root: s.Root, clock: &clock{}, instead: s.Instead}
	w.clock.now.Store(s.Now.UnixNano())
	cfg := local.Config{
		State: filepath.Join(w.Dir, "state.db"), Clock: w.clock, Patience: -1, Grace: time.Nanosecond,
		Notify: w.alert,
	}
	for _, name := range s.Loops {
		cfg.Loops = append(cfg.Loops, w.loop(name))
	}
	for _, code := range s.Workers {
		cfg.Workers = append(cfg.Workers, local.Worker{Code: code, Connections: w.connections(code.Name())})
	}
	e, err := local.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	w.Engine = e
	t.Cleanup(func() {
		w.smallStates()
		_ = e.Close()
	})
	return w
}

func (w *World) loop(name string) local.Loop {
	w.Helper()
	def, _ := w.Project.Loop(name)
	bundle, err := w.Project.Bundle(name)
	w.must(err)
	pinned := *def
	pinned.Hash = project.Hash(bundle)
	machine, err := os.ReadFile(filepath.Join(w.root, project.LoopDir, name+".asl.json"))
	w.must(err)
	return local.Loop{Definition: &pinned, Bundle: bundle, Machine: machine}
}

// connections are those that a worker's charter names: directories.
func (w *World) connections(name string) map[string]worker.Connection {
	w.Helper()
	declared := w.Project.Workers[name]
	if declared == nil {
		w.Fatalf("worker %s has no charter", name)
	}
	all := map[string]worker.Connection{}
	for _, tool := range declared.Charter.Tools {
		c, _ := w.Project.Registry.Connection(tool.Connection)
		dir := filepath.Join(w.Dir, c.Name)
		if c.URL != "" {
			dir = filepath.Join(w.root, c.URL)
		}
		if other, changed := w.instead[c.Name]; changed {
			dir = other
		}
		all[c.Name] = worker.Connection{Name: c.Name, Kind: c.Kind, Settings: map[string]string{"dir": dir, "from": c.From}}
	}
	return all
}

func (w *World) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *World) alert(_ context.Context, a coordinator.Alert) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.alerts = append(w.alerts, a)
}

// Alerts are those that people were sent.
func (w *World) Alerts() []coordinator.Alert {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.alerts)
}

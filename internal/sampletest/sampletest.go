// Package sampletest runs the sample loops of this project from end to end on
// the embedded engine, with a state directory of their own and a clock that
// jumps from one due moment to the next. Only tests import it.
package sampletest

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
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
	// Alerts are those that people were sent.
	Alerts []coordinator.Alert

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
	t.Cleanup(func() { _ = e.Close() })
	w.Engine = e
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

func (w *World) alert(_ context.Context, a coordinator.Alert) { w.Alerts = append(w.Alerts, a) }

// Now is the world's time.
func (w *World) Now() time.Time { return w.clock.Now() }

// Start starts a run by hand; the source time is the world's.
func (w *World) Start(loop string, input any) string {
	w.Helper()
	raw, err := json.Marshal(input)
	w.must(err)
	started, err := w.Engine.Coordinator().Start(w.Context(), coordinator.StartRequest{
		Loop: loop, Input: raw, AsOf: w.Now(), Trigger: "manual",
	})
	w.must(err)
	return started.Run
}

// Webhook is a delivery whose signature was right: the run that it led to,
// empty where a trigger's `when` is false.
func (w *World) Webhook(name string, body any) (string, error) {
	w.Helper()
	raw, err := json.Marshal(body)
	w.must(err)
	fired, err := w.Engine.Coordinator().Webhook(w.Context(), name, raw, nil)
	if err != nil {
		return "", err
	}
	if len(fired) != 1 {
		w.Fatalf("%d triggers listen to the webhook %s", len(fired), name)
	}
	return fired[0].Run, nil
}

// Look lets a loop's first trigger, a monitor, look, and what it starts begin.
func (w *World) Look(loop string) {
	w.Helper()
	w.must(w.Engine.Look(w.Context(), loop, 0))
	w.For(time.Minute)
}

// Runs are a loop's runs by subject.
func (w *World) Runs(loop string) map[string]coordinator.RunView {
	w.Helper()
	all, err := w.Engine.Coordinator().Runs(w.Context(), coordinator.RunsQuery{Loop: loop, Limit: 1000})
	w.must(err)
	runs := map[string]coordinator.RunView{}
	for _, run := range all {
		runs[run.Subject] = run
	}
	return runs
}

// Publish is an event from outside.
func (w *World) Publish(event string, data any) {
	w.Helper()
	raw, err := json.Marshal(data)
	w.must(err)
	_, err = w.Engine.Coordinator().Publish(w.Context(), coordinator.PublishRequest{Event: event, Data: raw})
	w.must(err)
}

// File keeps a file of the project as a blob and gives its reference.
func (w *World) File(path string) string {
	w.Helper()
	content, err := os.ReadFile(filepath.Join(w.root, path))
	w.must(err)
	ref, err := w.Engine.Store().PutBlob(w.Context(), content)
	w.must(err)
	return ref
}

// Until lets everything happen that is due up to a time, which is the world's
// then: at each due moment the engine works, and the coordinator's watch looks.
func (w *World) Until(end time.Time) {
	w.Helper()
	for {
		idle, err := w.Engine.RunUntilIdle(w.Context())
		w.must(err)
		tick, err := w.Engine.Coordinator().Watch(w.Context())
		w.must(err)
		next := idle.Next
		if next.IsZero() || !tick.Next.IsZero() && tick.Next.Before(next) {
			next = tick.Next
		}
		switch {
		case len(tick.Repaired) > 0:
		case next.IsZero() || next.After(end):
			if !end.After(w.Now()) {
				return
			}
			w.clock.now.Store(end.UnixNano())
		case next.After(w.Now()):
			w.clock.now.Store(next.UnixNano())
		default:
			return // what is due now was looked at and does not move
		}
	}
}

// For is Until from now.
func (w *World) For(d time.Duration) { w.Helper(); w.Until(w.Now().Add(d)) }

// Show is a run as it stands.
func (w *World) Show(run string) coordinator.ShowView {
	w.Helper()
	view, err := w.Engine.Coordinator().Show(w.Context(), run)
	w.must(err)
	return view
}

// Step is one step of a run; a step that is not there fails the test.
func (w *World) Step(run, path string) coordinator.StepView {
	w.Helper()
	view := w.Show(run)
	for _, step := range view.Steps {
		if step.Path == path {
			return step
		}
	}
	w.Fatalf("run %s (%s, %s) has no step %s: %+v", run, view.Status, view.Reason, path, view.Steps)
	return coordinator.StepView{}
}

// Approvals are the open requests of a run; empty: of all runs.
func (w *World) Approvals(run string) []coordinator.ApprovalView {
	w.Helper()
	all, err := w.Engine.Coordinator().Approvals(w.Context(), coordinator.ApprovalsQuery{Run: run})
	w.must(err)
	return all
}

// Exceptions are the open exceptions of a run; empty: of all runs.
func (w *World) Exceptions(run string) []coordinator.ExceptionView {
	w.Helper()
	all, err := w.Engine.Coordinator().Exceptions(w.Context(), coordinator.ExceptionsQuery{Run: run})
	w.must(err)
	return all
}

// Decide records a person's word and lets things go on for a second.
func (w *World) Decide(id, verdict, by string) error {
	w.Helper()
	_, err := w.Engine.Coordinator().Decide(w.Context(), coordinator.DecideRequest{
		Approval: id, Verdict: verdict, By: by, Reason: "decided in the test",
	})
	w.For(time.Second)
	return err
}

// Made are the files that workers made over a connection, by name.
func (w *World) Made(connection string) map[string]string {
	w.Helper()
	made := map[string]string{}
	entries, err := os.ReadDir(filepath.Join(w.Dir, connection))
	if err != nil && !os.IsNotExist(err) {
		w.Fatal(err)
	}
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), ".") {
			w.Errorf("%s holds the draft %s", connection, entry.Name())
			continue
		}
		content, err := os.ReadFile(filepath.Join(w.Dir, connection, entry.Name()))
		w.must(err)
		made[entry.Name()] = string(content)
	}
	return made
}

// Fact decodes a shared record; one that is not there fails the test.
func (w *World) Fact(name string, into any) {
	w.Helper()
	w.must(w.Engine.Sync(w.Context()))
	r, err := local.OpenReader(w.Context(), filepath.Join(w.Dir, "state.db"))
	w.must(err)
	defer func() { _ = r.Close() }()
	raw, err := r.Fact(w.Context(), name)
	w.must(err)
	if raw == nil {
		w.Fatalf("there is no fact %s", name)
	}
	w.must(json.Unmarshal(raw, into))
}

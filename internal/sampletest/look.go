package sampletest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/local"
)

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
	fact, err := r.Fact(w.Context(), name)
	w.must(err)
	if fact.Value == nil {
		w.Fatalf("there is no fact %s", name)
	}
	w.must(json.Unmarshal(fact.Value, into))
}

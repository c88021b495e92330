package sampletest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/coordinator"
)

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

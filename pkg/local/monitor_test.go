package local_test

import (
	"context"
	"testing"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/local"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// Serve asks a monitor's probe when it is due and starts a run for each
// condition; the next look, after a restart as well, starts none again (R6).
func TestServeAsksProbes(t *testing.T) {
	t.Parallel()
	looks := 0
	cfg := config(t, &crew{})
	cfg.Workers = append(cfg.Workers, local.Worker{Code: worker.New("levels", 1, func(context.Context, worker.Task[struct{}]) (worker.Result[items], error) {
		looks++
		return worker.Result[items]{Output: items{Items: []count{{1}, {7}, {2}}}}, nil
	})})
	ctx, done := context.WithTimeout(t.Context(), time.Minute)
	defer done()
	ended := make(chan struct{}, 10)
	cfg.Progress = func(p local.Progress) {
		if p.Event == "ExecutionSucceeded" {
			ended <- struct{}{}
		}
	}
	e := open(t, cfg)
	served := make(chan error, 1)
	go func() { served <- e.Serve(ctx) }()
	for range 2 {
		select {
		case <-ended:
		case err := <-served:
			t.Fatal("serving ended:", err)
		}
	}
	done()
	if err := <-served; err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	e = open(t, cfg)
	if err := e.Look(t.Context(), "low", 0); err != nil {
		t.Fatal(err)
	}
	idle(t, e)
	runs, err := e.Coordinator().Runs(t.Context(), coordinator.RunsQuery{Loop: "low"})
	if err != nil || len(runs) != 2 || looks != 2 {
		t.Fatalf("%d runs after %d looks: %v", len(runs), looks, err)
	}
	for _, r := range runs {
		if r.Status != outerloop.StatusCompleted {
			t.Errorf("run %s is %s", r.Subject, r.Status)
		}
	}
}

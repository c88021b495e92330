package local_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/compile"
	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/local"
	"github.com/outerloop-dev/outerloop/pkg/project"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

type count struct {
	N int `json:"n"`
}

type items struct {
	Items []count `json:"items"`
}

// crew is the workers of the test project; before is called in each of them.
type crew struct {
	before func(ctx context.Context, worker string, n int) error
	calls  atomic.Int64
}

func (c *crew) add(name string) local.Worker {
	return local.Worker{Code: worker.New(name, 1, func(ctx context.Context, t worker.Task[count]) (worker.Result[count], error) {
		c.calls.Add(1)
		if c.before != nil {
			if err := c.before(ctx, name, t.Input.N); err != nil {
				return worker.Result[count]{}, err
			}
		}
		return worker.Result[count]{Output: count{t.Input.N + 1}, Confidence: worker.High, Reason: "counted"}, nil
	})}
}

func (c *crew) workers() []local.Worker {
	plan := worker.New("plan", 1, func(_ context.Context, t worker.Task[count]) (worker.Result[items], error) {
		list := items{Items: make([]count, t.Input.N)}
		for i := range list.Items {
			list.Items[i].N = i
		}
		return worker.Result[items]{Output: list, Confidence: worker.High, Reason: "counted"}, nil
	})
	return []local.Worker{c.add("stamp"), c.add("queued"), {Code: plan}}
}

var loops = sync.OnceValues(func() ([]local.Loop, error) {
	read, problems := project.Open("testdata/project")
	if err := problems.Err(); err != nil {
		return nil, err
	}
	var all []local.Loop
	for _, name := range read.Names() {
		def, _ := read.Loop(name)
		bundle, err := read.Bundle(name)
		if err != nil {
			return nil, err
		}
		def.Hash = project.Hash(bundle)
		machine, err := compile.Compile(def)
		if err != nil {
			return nil, err
		}
		all = append(all, local.Loop{Definition: def, Bundle: bundle, Machine: machine})
	}
	return all, nil
})

func config(t *testing.T, c *crew) local.Config {
	t.Helper()
	all, err := loops()
	if err != nil {
		t.Fatal(err)
	}
	return local.Config{State: filepath.Join(t.TempDir(), "state.db"), Loops: all, Workers: c.workers()}
}

func open(t *testing.T, cfg local.Config) *local.Engine {
	t.Helper()
	e, err := local.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

func request(loop string, n int) coordinator.StartRequest {
	return coordinator.StartRequest{Loop: loop, Input: json.RawMessage(fmt.Sprintf(`{"n":%d}`, n)), Trigger: "manual"}
}

func start(t *testing.T, e *local.Engine, loop string, n int) string {
	t.Helper()
	started, err := e.Coordinator().Start(t.Context(), request(loop, n))
	if err != nil {
		t.Fatal(err)
	}
	return started.Run
}

func idle(t *testing.T, e *local.Engine) local.Idle {
	t.Helper()
	i, err := e.RunUntilIdle(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// reads is anything that shows runs.
type reads interface {
	Show(ctx context.Context, run string) (coordinator.ShowView, error)
}

func wants(t *testing.T, r reads, run string, status outerloop.Status, output string) coordinator.ShowView {
	t.Helper()
	view, err := r.Show(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	if view.Status != status || string(view.Output) != output {
		t.Fatalf("run %s is %s with %s (%s), want %s with %s", run, view.Status, view.Output, view.Reason, status, output)
	}
	return view
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

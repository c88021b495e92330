package local_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/local"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// later is a clock that is moved by hand.
type later struct{ ahead time.Duration }

func (c *later) Now() time.Time { return time.Now().Add(c.ahead) }

func (c *later) After(d time.Duration) <-chan time.Time { return time.After(d) }

// R75: what ended long ago goes with all that only it referred to, and the
// file shrinks; a blob that something refers to stays.
func TestCleanShrinksTheFile(t *testing.T) {
	t.Parallel()
	clock := &later{}
	cfg := config(t, &crew{})
	cfg.Clock = clock
	e := open(t, cfg)
	var runs []string
	for n := range 40 {
		runs = append(runs, start(t, e, "chain", n))
	}
	idle(t, e)
	large, err := e.Store().PutBlob(t.Context(), []byte(strings.Repeat("large ", 2_000_000)))
	if err != nil {
		t.Fatal(err)
	}
	kept, err := e.Store().PutBlob(t.Context(), []byte("kept"))
	if err != nil {
		t.Fatal(err)
	}
	outer, err := e.Store().PutBlob(t.Context(), []byte(`{"pages":["`+kept+`"]}`))
	if err != nil {
		t.Fatal(err)
	}
	item := store.Item{Key: store.Key{Part: "FACT#x", Sort: "FACT"}, Body: []byte(`{"ref":"` + outer + `"}`)}
	if err := e.Store().Write(t.Context(), "keep", store.Create(item)); err != nil {
		t.Fatal(err)
	}
	clean(t, e, local.CleanRequest{}, 0, 0)

	clock.ahead = 91 * 24 * time.Hour
	young := start(t, e, "chain", 1000)
	idle(t, e)
	was := size(t, cfg.State)
	out := clean(t, e, local.CleanRequest{}, len(runs), len(runs))
	if out.Blobs != 1 || out.Bytes < 10_000_000 || size(t, cfg.State) > was-10_000_000 {
		t.Errorf("cleaned %+v; the file had %d bytes and has %d", out, was, size(t, cfg.State))
	}
	if _, err := e.Store().GetBlob(t.Context(), large); !errors.Is(err, store.ErrNoBlob) {
		t.Errorf("a blob of nobody: %v", err)
	}
	if _, err := e.Store().GetBlob(t.Context(), kept); err != nil {
		t.Errorf("a blob that a blob refers to: %v", err)
	}
	wants(t, e.Coordinator(), young, outerloop.StatusCompleted, `{"n":1003}`)
	if err := e.Store().Check(t.Context()); err != nil {
		t.Error(err)
	}
	again := start(t, e, "chain", 0)
	idle(t, e)
	wants(t, e.Coordinator(), again, outerloop.StatusCompleted, `{"n":3}`)
}

func clean(t *testing.T, e *local.Engine, req local.CleanRequest, runs, executions int) local.Cleaned {
	t.Helper()
	out, err := e.Clean(t.Context(), req)
	if err != nil || out.Runs != runs || out.Executions != executions {
		t.Fatalf("cleaned %+v, %v; want %d runs and %d executions", out, err, runs, executions)
	}
	return out
}

func size(t *testing.T, file string) int64 {
	t.Helper()
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// Serving removes what is old by itself.
func TestServingCleans(t *testing.T) {
	t.Parallel()
	clock := &later{}
	cfg := config(t, &crew{})
	cfg.Clock, cfg.Limits.Keep = clock, time.Hour
	e := open(t, cfg)
	run := start(t, e, "chain", 1)
	idle(t, e)
	clock.ahead = 2 * time.Hour
	ctx, stop := context.WithTimeout(t.Context(), 30*time.Second)
	defer stop()
	served := make(chan error, 1)
	go func() { served <- e.Serve(ctx) }()
	for {
		items, err := e.Store().Get(t.Context(), store.Key{Part: "RUN#" + run, Sort: "RUN"})
		if err != nil || ctx.Err() != nil {
			t.Fatal("the run is still there", err)
		}
		if items[0] == nil {
			break
		}
	}
	stop()
	if err := <-served; err != nil {
		t.Fatal(err)
	}
}

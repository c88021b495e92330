package local_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/compile"
	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/local"
	"github.com/outerloop-dev/outerloop/pkg/project"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

const reversible = `
worker: room
version: 1
owner: ops
objective: Open a room, and close it.
kind: go
input: {type: object, properties: {n: {type: integer}}, required: [n], additionalProperties: false}
output: {type: object, properties: {n: {type: integer}}, required: [n], additionalProperties: false}
reads: []
writes: []
tools: {}
actions: {open: {effect: none, undo: shut, unknown: verify, start: limited}, shut: {effect: none, undo: open, unknown: verify, start: limited}}
authority: execute
risk: low
success: {metric: done, at_least: 90%}
fails_with: [transient, fatal]
dispatch: {mode: queue, timeout: 30s}
`

const reversibleLoop = `
loop: rooms
version: 1
owner: ops
objective: Two rooms.
subject: ${input.n}
input: {type: object, properties: {n: {type: integer}}, required: [n], additionalProperties: false}
budget: {cost: 1.00 USD, deadline: 23h}
defaults: {on_failure: {then: halt}}
steps:
  one: {worker: room, action: open, key: "${input.n}/one", input: {n: 1}}
  two: {worker: room, action: open, key: "${input.n}/two", input: {n: 2}, after: [one]}
`

// A rollback runs the real workers without a machine, and a second one does
// nothing more (R35).
func TestRollback(t *testing.T) {
	t.Parallel()
	p, problems := project.Load(fstest.MapFS{
		"outerloop.yaml":                      {Data: []byte("project: test\nzone: UTC\npeople: {me: {email: me@example.com}}\ngroups: {ops: {members: [me], alert: [email]}}\n")},
		"statemachines/rooms.loop.yaml":       {Data: []byte(reversibleLoop)},
		"functions/workers/room/charter.yaml": {Data: []byte(reversible)},
	})
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	def := p.Loops["rooms"]
	bundle, err := p.Bundle("rooms")
	if err != nil {
		t.Fatal(err)
	}
	def.Hash = project.Hash(bundle)
	machine, err := compile.Compile(def)
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var did []string
	room := worker.New("room", 1, func(ctx context.Context, task worker.Task[count]) (worker.Result[count], error) {
		_, err := task.Do(ctx, task.Action, task.Input, func(context.Context, worker.Action) (any, error) {
			mu.Lock()
			defer mu.Unlock()
			did = append(did, fmt.Sprint(task.Action, task.Input.N))
			return nil, nil
		})
		return worker.Result[count]{Output: task.Input, Confidence: worker.High, Reason: "done"}, err
	})
	e := open(t, local.Config{
		State: filepath.Join(t.TempDir(), "state.db"), Workers: []local.Worker{{Code: room}},
		Loops: []local.Loop{{Definition: def, Bundle: bundle, Machine: machine}},
	})
	run := start(t, e, "rooms", 1)
	idle(t, e)
	for range 2 {
		back, err := e.Coordinator().Rollback(t.Context(), coordinator.PersonRequest{Run: run, By: "me@example.com"})
		if err != nil {
			t.Fatal(err)
		}
		idle(t, e)
		if view, err := e.Coordinator().Run(t.Context(), back.ID); err != nil || view.Status != outerloop.StatusCompleted {
			t.Fatalf("the rollback is %+v, %v", view, err)
		}
	}
	if got := strings.Join(did, " "); got != "open1 open2 shut2 shut1" {
		t.Errorf("done was %s", got)
	}
}

package coordinator_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/coordinator"
)

// An event that cannot start what it was to start is one exception that keeps
// it: whoever sent it has its answer, and nobody else would hear of it (R38, R39).
func TestRefusedStartIsOneException(t *testing.T) {
	t.Parallel()
	strict := strings.Replace(listener, "key: {type: string}, n:", "key: {type: string, maxLength: 3}, n:", 1)
	w := newWorld(t, files(loopHead+`
steps:
  first: {worker: writer, input: {text: x}}
`, map[string]string{"outerloop.yaml": eventsProject, "statemachines/listener.loop.yaml": strict}))
	usual(w)
	for range 2 {
		if _, err := w.coord.Publish(w.ctx, coordinator.PublishRequest{Event: "session.closed", ID: "e1", Data: json.RawMessage(`{"key":"too long"}`)}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.coord.Watch(w.ctx); err != nil {
			t.Fatal(err)
		}
	}
	if runs, err := w.coord.Runs(w.ctx, coordinator.RunsQuery{Loop: "listener"}); err != nil || len(runs) != 0 {
		t.Errorf("runs %+v %v", runs, err)
	}
	list, err := w.coord.Exceptions(w.ctx, coordinator.ExceptionsQuery{})
	if err != nil || len(list) != 1 {
		t.Fatalf("exceptions %+v %v", list, err)
	}
	exc := list[0]
	if exc.Loop != "listener" || exc.Owner != "ops" || exc.Body != `{"key":"too long"}` || !strings.Contains(exc.Cause, "/key") {
		t.Errorf("the exception is %+v", exc)
	}
	if n := len(w.alerts); n != 1 {
		t.Errorf("%d alerts", n)
	}
	if _, err := w.coord.Resolve(w.ctx, coordinator.ResolveRequest{Exception: exc.ID, Way: coordinator.WayClose, By: "ann"}); err != nil {
		t.Error(err)
	}
	if _, err := w.coord.Publish(w.ctx, coordinator.PublishRequest{Event: "session.closed", ID: "e2", Data: json.RawMessage(`{"key":"abc"}`)}); err != nil {
		t.Fatal(err)
	}
	w.run(time.Minute, 100)
	if runs, err := w.coord.Runs(w.ctx, coordinator.RunsQuery{Loop: "listener"}); err != nil || len(runs) != 1 || runs[0].Status != outerloop.StatusCompleted {
		t.Errorf("runs %+v %v", runs, err)
	}
}

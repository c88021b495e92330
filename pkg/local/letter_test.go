package local_test

import (
	"strings"
	"testing"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/local"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// A message that no worker can read is one exception that keeps its body; the
// queue goes on, and a person closes it over the socket or here (R39).
func TestUnreadableMessageIsKept(t *testing.T) {
	t.Parallel()
	e := open(t, config(t, &crew{}))
	foreign := store.Item{
		Key: store.Key{Part: "QUEUE#queued", Sort: "foreign"}, Body: []byte(`{"order":"A-7`), Numbers: map[string]int64{"receives": 0},
		Due: &store.IndexKey{Part: "QUEUE#queued", Sort: store.TimeKey(time.Now().Add(-time.Hour)) + "#foreign"},
	}
	if err := e.Store().Write(t.Context(), "foreign", store.Create(foreign)); err != nil {
		t.Fatal(err)
	}
	run := start(t, e, "chain", 1)
	idle(t, e)
	wants(t, e.Coordinator(), run, outerloop.StatusCompleted, `{"n":4}`)
	list, err := e.Coordinator().Exceptions(t.Context(), coordinator.ExceptionsQuery{})
	if err != nil || len(list) != 1 || list[0].Body != `{"order":"A-7` || list[0].Queue != "queued" {
		t.Fatalf("%+v, %v", list, err)
	}
	if items, err := e.Store().Get(t.Context(), foreign.Key); err != nil || items[0] != nil {
		t.Errorf("it is still in its queue: %+v, %v", items, err)
	}
}

// A message of a machine that no worker can read fails its step, whose rule
// decides, and is one exception beside it.
func TestUnreadableDeliveryFailsItsStep(t *testing.T) {
	t.Parallel()
	cfg := config(t, &crew{})
	cfg.Loops = append([]local.Loop{}, cfg.Loops...)
	for i, l := range cfg.Loops {
		cfg.Loops[i].Machine = []byte(strings.Replace(string(l.Machine), `"step": "second"`, `"step": 2`, 1))
	}
	e := open(t, cfg)
	run := start(t, e, "chain", 1)
	idle(t, e)
	view := wants(t, e.Coordinator(), run, outerloop.StatusBlocked, "")
	if !strings.Contains(view.Reason, "cannot be read: field step is not of its type") {
		t.Errorf("blocked by %q", view.Reason)
	}
	list, err := e.Coordinator().Exceptions(t.Context(), coordinator.ExceptionsQuery{})
	if err != nil || len(list) != 2 {
		t.Fatalf("%+v, %v", list, err)
	}
	for _, exc := range list {
		if exc.Run == "" && (!strings.Contains(exc.Body, `"token":"[redacted]"`) || !strings.Contains(exc.Body, run)) {
			t.Errorf("kept is %s", exc.Body)
		}
	}
}

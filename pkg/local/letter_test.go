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
	cfg := config(t, &crew{})
	e := open(t, cfg)
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
	r, err := local.OpenReader(t.Context(), cfg.State) // who looks has no loops
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if seen, err := r.Coordinator().Exception(t.Context(), list[0].ID); err != nil || seen.Body != list[0].Body {
		t.Errorf("a reader sees %+v, %v", seen, err)
	}
	if items, err := e.Store().Get(t.Context(), foreign.Key); err != nil || items[0] != nil {
		t.Errorf("it is still in its queue: %+v, %v", items, err)
	}
}

// A message that can be read and belongs nowhere does not come again and again,
// does not keep the engine from opening, and is kept like one that cannot be read.
func TestMessageThatBelongsNowhere(t *testing.T) {
	t.Parallel()
	cfg := config(t, &crew{})
	e := open(t, cfg)
	run := start(t, e, "chain", 1)
	idle(t, e)
	due := store.TimeKey(time.Now().Add(-time.Hour))
	for id, body := range map[string]string{
		"gone": `{"run":"nobody-1","gen":1,"step":"second"}`, "step": `{"run":"` + run + `","gen":1,"step":"fourth"}`,
		"long": `{"run":"` + strings.Repeat("r", 9000) + `","gen":1,"step":"second"}`,
		"item": `{"run":"` + run + `","gen":1,"step":"second","item":"x.y"}`,
	} {
		item := store.Item{
			Key: store.Key{Part: "QUEUE#queued", Sort: id}, Body: []byte(body), Numbers: map[string]int64{"receives": 1},
			Due:  &store.IndexKey{Part: "QUEUE#queued", Sort: due + "#" + id},
			List: &store.IndexKey{Part: "FLIGHT", Sort: "QUEUE#queued/" + id}, // somebody died over it
		}
		if err := e.Store().Write(t.Context(), id, store.Create(item)); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	e = open(t, cfg)
	if i := idle(t, e); !i.Next.IsZero() {
		t.Errorf("something is due at %s", i.Next)
	}
	list, err := e.Coordinator().Exceptions(t.Context(), coordinator.ExceptionsQuery{})
	if err != nil || len(list) != 4 {
		t.Fatalf("%+v, %v", list, err)
	}
	for _, exc := range list {
		if exc.Body == "" || exc.Tried != "it was delivered 2 times" {
			t.Errorf("%+v", exc)
		}
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

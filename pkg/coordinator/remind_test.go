package coordinator_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/coordinator"
)

const remindLoop = loopHead + `
steps:
  send:
    worker: sender
    action: send
    input: {text: "${input.key}"}
    approval:
      ask: Send ${input.key}?
      remind: 90m
      escalate:
        - {after: 3h, to: [bosses]}
        - {after: 2h, to: [others]}
`

// Approvers are reminded while nobody decides; a stage's people are asked with
// the others from its time on, and may decide only then (R46). What expires or
// is decided reminds nobody.
func TestRemindsAndEscalates(t *testing.T) {
	t.Parallel()
	project := strings.Replace(projectFile, "groups:\n", "groups:\n  bosses: {members: [eve], alert: [email]}\n  others: {members: [bob], alert: [email]}\n", 1)
	w := newWorld(t, files(remindLoop, map[string]string{"outerloop.yaml": project}))
	usual(w)
	run := start(t, w, `{"key":"a"}`)
	w.run(time.Minute, 200)
	ap := asked(t, w)
	at := func(d time.Duration) []string {
		w.run(ap.Since.Add(d).Sub(w.now), 500)
		w.now = ap.Since.Add(d)
		if _, err := w.coord.Watch(w.ctx); err != nil {
			t.Fatal(err)
		}
		var told []string
		for _, a := range w.alerts {
			told = append(told, a.Kind+" "+a.To)
		}
		slices.Sort(told)
		w.alerts = nil
		return told
	}
	for _, c := range []struct {
		after time.Duration
		told  []string
	}{
		{1 * time.Minute, []string{"request leads"}},
		{89 * time.Minute, nil},
		{91 * time.Minute, []string{"reminder leads"}},
		{119 * time.Minute, nil},
		{121 * time.Minute, []string{"escalation leads", "escalation others"}},
		{179 * time.Minute, nil},
	} {
		if told := at(c.after); !slices.Equal(told, c.told) {
			t.Errorf("after %s: %v, want %v", c.after, told, c.told)
		}
	}
	if err := decide(w, ap, coordinator.Approve, "eve", ""); !errors.Is(err, coordinator.ErrNotAllowed) {
		t.Errorf("before her stage: %v", err)
	}
	if told := at(181 * time.Minute); !slices.Equal(told, []string{"escalation bosses", "escalation leads", "escalation others"}) {
		t.Errorf("at the last stage: %v", told)
	}
	if err := decide(w, ap, coordinator.Approve, "eve", ""); err != nil {
		t.Error(err)
	}
	if told := at(5 * time.Hour); len(told) != 0 {
		t.Errorf("after the decision: %v", told)
	}
	want(t, w, run, outerloop.StatusCompleted)
}

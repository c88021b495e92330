package coordinator_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/coordinator"
)

const monitorLoop = `
loop: test
version: 1
owner: ops
objective: A monitor.
subject: ${input.key}/${run.as_of}
triggers:
  - monitor: {every: 30m, probe: lister, each: output.items, as: item, key: "${item.id}", cool_down: 6h}
    when: item.n < 5
    input: {key: "${item.id}"}
overlap: allow
input: {type: object, properties: {key: {type: string}}, required: [key], additionalProperties: false}
budget: {cost: 1.00 USD, deadline: 23h, otherwise: ask}
defaults: {on_failure: {then: skip}}
steps:
  one: {worker: writer, input: {text: "${input.key}"}}
output: {text: "${one.text}"}
`

// A condition starts one run for its key: not again until it was clear, and not
// within its cool-down; another key has its own (R6).
func TestMonitor(t *testing.T) {
	t.Parallel()
	w := newWorld(t, files(monitorLoop, nil))
	usual(w)
	look := func(after time.Duration, items ...string) string {
		t.Helper()
		w.now = w.now.Add(after)
		output, _ := json.Marshal(map[string]any{"items": []any{}})
		if len(items) > 0 {
			output = json.RawMessage(`{"items":[` + strings.Join(items, ",") + `]}`)
		}
		fired, err := w.coord.Observe(w.ctx, coordinator.Observation{Loop: "test", Trigger: 0, Output: output})
		if err != nil {
			t.Fatal(err)
		}
		w.run(time.Second, 500)
		var subjects []string
		for _, f := range fired {
			key, asOf, _ := strings.Cut(f.Subject, "/")
			at, err := time.Parse(time.RFC3339, asOf)
			if err != nil {
				t.Fatal(err)
			}
			subjects = append(subjects, key+" "+at.Sub(w.now).Round(time.Minute).String())
		}
		return strings.Join(subjects, ", ")
	}
	low, high, other := `{"id":"A","n":1}`, `{"id":"A","n":9}`, `{"id":"B","n":2}`
	for i, l := range []struct {
		after time.Duration
		items []string
		want  string
	}{
		{0, []string{high}, ""},
		{30 * time.Minute, []string{low}, "A 0s"},
		{30 * time.Minute, []string{low}, ""},            // it still holds
		{30 * time.Minute, []string{low, other}, "B 0s"}, // another article
		{30 * time.Minute, []string{high, other}, ""},
		{30 * time.Minute, []string{low, other}, ""},       // again, within the cool-down
		{5 * time.Hour, []string{low, other}, "A -5h0m0s"}, // and it holds at its end
		{24 * time.Hour, []string{low, other}, ""},
		{30 * time.Minute, nil, ""},
		{30 * time.Minute, []string{other}, "B 0s"},
	} {
		if got := look(l.after, l.items...); got != l.want {
			t.Errorf("look %d fired %q, want %q", i+1, got, l.want)
		}
	}
	next, err := w.coord.MonitorDue(w.ctx, "test", 0)
	if err != nil || next.Sub(w.now).Round(time.Minute) != 30*time.Minute {
		t.Errorf("next look in %s (%v)", next.Sub(w.now), err)
	}
	var wrong *coordinator.InputError
	if _, err := w.coord.Observe(w.ctx, coordinator.Observation{Loop: "test", Output: json.RawMessage(`{"things":1}`)}); !errors.As(err, &wrong) {
		t.Errorf("a wrong output gives %v", err)
	}
}

package cli

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// The scope of a loop holds whatever it names, and what that names; events tie
// loops by names of their own, so that there is no narrow scope.
func TestNarrow(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for file, text := range map[string]string{
		"statemachines/alone.loop.yaml":               "steps: {x: {worker: writer, backup: spare-writer}}",
		"statemachines/parent.loop.yaml":              "steps: {x: {loop: child}}",
		"statemachines/child.loop.yaml":               "steps: {x: {worker: agent}}",
		"statemachines/told.loop.yaml":                "triggers: [{event: paid}]",
		"functions/workers/writer/charter.yaml":       "worker: writer",
		"functions/workers/spare-writer/charter.yaml": "worker: spare-writer",
		"functions/workers/agent/charter.yaml":        "agent: {calls: [look-up]}",
		"functions/workers/look-up/charter.yaml":      "worker: look-up",
		"functions/workers/other/charter.yaml":        "worker: other",
	} {
		path := filepath.Join(root, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for loop, want := range map[string][]string{
		"alone":  {"spare-writer", "writer"},
		"parent": {"agent", "look-up"},
	} {
		s, ok := narrow(root, []string{"statemachines/" + loop + ".loop.yaml"})
		var workers []string
		for _, file := range s.workers {
			workers = append(workers, nameOf(file))
		}
		if !ok || !slices.Equal(workers, want) {
			t.Errorf("%s: workers %v, %t; want %v", loop, workers, ok, want)
		}
	}
	if s, _ := narrow(root, []string{"statemachines/parent.loop.yaml"}); len(s.loops) != 2 {
		t.Errorf("parent: loops %v, want two", s.loops)
	}
	if _, ok := narrow(root, []string{"statemachines/told.loop.yaml"}); ok {
		t.Error("a loop that events start has a narrow scope")
	}
}

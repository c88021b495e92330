package workers_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Every worker with code has a main for Lambda, and it serves that worker.
func TestMains(t *testing.T) {
	t.Parallel()
	found, err := filepath.Glob("*/worker.go")
	if err != nil || len(found) < 50 {
		t.Fatalf("%d workers, %v", len(found), err)
	}
	for _, path := range found {
		name := filepath.Dir(path)
		main, err := os.ReadFile(filepath.Join(name, "lambda", "main.go"))
		switch {
		case err != nil:
			t.Errorf("worker %s has no main: go generate ./functions/workers", name)
		case name != "agent" && name != "bridge" && !strings.Contains(string(main), "functions/workers/"+name+"\"\n"):
			t.Errorf("worker %s: its main is another's: go generate ./functions/workers", name)
		}
	}
}

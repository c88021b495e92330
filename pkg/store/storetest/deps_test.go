package storetest_test

import (
	"os/exec"
	"strings"
	"testing"
)

// TestNotInBinaries: what is for tests is linked into no program.
func TestNotInBinaries(t *testing.T) {
	t.Parallel()
	list := exec.CommandContext(t.Context(), "go", "list", "-e", "-f", `{{if eq .Name "main"}}{{.ImportPath}} {{join .Deps " "}}{{end}}`, "./...")
	list.Dir = "../../.."
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		program, deps, _ := strings.Cut(strings.TrimSpace(line), " ")
		for _, dep := range strings.Fields(deps) {
			if strings.Contains(dep, "/storetest") {
				t.Errorf("%s links %s", program, dep)
			}
		}
	}
}

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/outerloop-dev/outerloop/cmd/outerloop/cli"
)

// R70: a new project is whole: its declarations are valid, its machine is fresh,
// its program builds, and its loop runs and asks a person. Nothing is replaced.
func TestInit(t *testing.T) {
	t.Parallel()
	checkout, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	b := &bundle{t: t, dir: t.TempDir()}
	b.want(cli.ExitUsage, "init", "orders").has(t, "--replace DIR")
	made := object(t, b.want(0, "init", "orders", "--replace", checkout, "-o", "json").out)
	if made["id"] != "orders" || len(made["files"].([]any)) < 15 {
		t.Errorf("%v", made)
	}
	for _, again := range []string{"orders", "Orders"} {
		b.want(cli.ExitUsage, "init", again, "--replace", checkout)
	}
	b.dir = filepath.Join(b.dir, "orders")
	b.want(0, "validate", "./...")
	b.want(0, "compile", "--check")
	if testing.Short() {
		return
	}
	for _, line := range []string{"mod tidy", "test ./...", "vet ./cmd/orders ./functions/workers/order-scan/lambda"} {
		if out, err := b.goTool(line); err != nil {
			t.Fatalf("go %s: %v\n%s", line, err, out)
		}
	}
	if out, _ := b.goTool("run ./cmd/orders run overdue-orders --as-of 2026-11-30"); !strings.Contains(out, "1 approval waits for a person") {
		t.Errorf("its program: %s", out)
	}
}

// goTool runs the Go tool in the bundle's directory.
func (b *bundle) goTool(line string) (string, error) {
	command := exec.CommandContext(b.t.Context(), "go", strings.Fields(line)...)
	command.Dir, command.Env = b.dir, append(os.Environ(), "GOWORK=off")
	out, err := command.CombinedOutput()
	return string(out), err
}

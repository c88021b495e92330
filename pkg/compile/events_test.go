package compile_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/outerloop-dev/outerloop/pkg/compile"
	"github.com/outerloop-dev/outerloop/pkg/project"
)

// A loop of which one execution could pass 25,000 events is refused; with fewer
// retries the same loop is not.
func TestEventBudget(t *testing.T) {
	t.Parallel()
	for retries, fits := range map[string]bool{"retry: {timeout: 100, transient: 100}": false, "retry: {timeout: 1, transient: 2}": true} {
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS("../project/testdata/base")); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, "statemachines", "good.loop.yaml")
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		head, _, _ := strings.Cut(string(text), "steps:")
		head = strings.Replace(head, "retry: {timeout: 1}", retries, 1)
		steps := ""
		for i := range 40 {
			steps += "  s" + string(rune('a'+i/10)) + string(rune('0'+i%10)) + ": {worker: scanner, input: {file: \"${input.file}\"}}\n"
		}
		if err := os.WriteFile(path, []byte(head+"steps:\n"+steps+"output: {total: \"${sa0.total}\"}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		p, problems := project.Open(dir)
		def, ok := p.Loop("good")
		if !ok {
			t.Fatal(problems)
		}
		var many *compile.EventsError
		faults := compile.Problems(def)
		_, err = compile.Compile(def)
		if (err == nil) != fits || (len(faults) == 0) != fits {
			t.Errorf("%s: compiling: %v, checking: %v", retries, err, faults)
		}
		if !fits && (!errors.As(err, &many) || many.Events <= 25_000 || faults[0].Code != "E262") {
			t.Errorf("%s: %v, %v", retries, err, faults)
		}
	}
}

package cli

import (
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/outerloop-dev/outerloop/pkg/project"
	"github.com/outerloop-dev/outerloop/pkg/schema"
)

// compileAhead compiles the workers' schemas, of all workers where no charters
// are given, on another core while the project is read: compiled schemas are kept by content, so that whoever comes second
// finds them. It goes backwards, since reading goes forwards. Errors are the
// reader's to find.
func compileAhead(root string, charters []string) {
	if runtime.GOMAXPROCS(0) < 2 {
		return
	}
	go func() {
		patterns := []string{project.WorkerDir + "/*/schemas/*.json"}
		if charters != nil {
			patterns = nil
		}
		for _, charter := range charters {
			patterns = append(patterns, path.Dir(charter)+"/schemas/*.json")
		}
		var files []string
		for _, pattern := range patterns {
			found, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(pattern)))
			if err != nil {
				return
			}
			files = append(files, found...)
		}
		for _, file := range slices.Backward(files) {
			if content, err := os.ReadFile(file); err == nil {
				_, _ = schema.Compile(file, content)
			}
		}
	}()
}

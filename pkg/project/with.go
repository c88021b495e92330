package project

import (
	"io/fs"
	"os"

	"github.com/outerloop-dev/outerloop/pkg/problem"
)

// OpenWith loads the project whose root is a directory as if files with these
// texts stood in it, in place of its own where it has them. Bundles hold them too.
func OpenWith(root string, files map[string]string) (*Project, problem.Problems) {
	return Load(overlay{os.DirFS(root), files})
}

// overlay is a file system with texts in place of, or beside, its files. Files
// are read whole; globbing finds the texts that stand in a file's place only.
type overlay struct {
	under fs.FS
	files map[string]string
}

// Open opens what lies under the texts.
func (o overlay) Open(name string) (fs.File, error) { return o.under.Open(name) }

// ReadFile gives a text, else a file.
func (o overlay) ReadFile(name string) ([]byte, error) {
	if text, ok := o.files[name]; ok {
		return []byte(text), nil
	}
	return fs.ReadFile(o.under, name)
}

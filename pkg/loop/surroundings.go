package loop

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/outerloop-dev/outerloop/pkg/problem"
	"github.com/outerloop-dev/outerloop/pkg/registry"
	"github.com/outerloop-dev/outerloop/pkg/schema"
	"github.com/outerloop-dev/outerloop/pkg/source"
)

// Surroundings are what a loop is checked against.
type Surroundings struct {
	Project *registry.Project
	// Workers are the checked charters by name.
	Workers map[string]*Worker
	// Loops are other checked loops by name; a nil definition stands for one that has errors.
	Loops map[string]*Definition
	Files *Files
}

// maxFile bounds a schema or text that a declaration names, in bytes.
const maxFile = 512 << 10

// Files reads schemas and texts that declarations name. It keeps what it read.
// It is safe for concurrent use if its file system is.
type Files struct {
	fsys    fs.FS
	mu      sync.Mutex // for what follows
	schemas map[string]*schema.Schema
	failed  map[string]string
}

// NewFiles reads from a file system rooted at the project.
func NewFiles(fsys fs.FS) *Files {
	return &Files{fsys: fsys, schemas: map[string]*schema.Schema{}, failed: map[string]string{}}
}

// Schema compiles the schema that is referred to; nil with a problem when it
// cannot be, nil without one when there is no reference.
func (f *Files) Schema(ref source.Schema) (*schema.Schema, problem.Problems) {
	if !ref.Set() {
		return nil, nil
	}
	if ref.Path == "" {
		s, err := schema.FromValue(ref.Node.Where(), ref.Node.Plain())
		var ps problem.Problems
		for _, fault := range schemaFaults(err) {
			ps = append(ps, pointedAt(ref.Node, fault.Path).Problem("E128", "This is no usable JSON Schema: "+sentence(fault.String())))
		}
		return s, ps
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if s, known := f.schemas[ref.Path]; known {
		return s, nil
	}
	message, known := f.failed[ref.Path]
	if !known {
		raw, err := source.ReadFile(f.fsys, ref.Path, maxFile)
		if err != nil {
			message = "There is no file " + ref.Path + ". Paths are relative to the file that names them."
		} else if len(raw) > maxFile {
			message = fmt.Sprintf("%s is larger than %d KiB, which is more than a schema may have.", ref.Path, maxFile>>10)
		} else if s, err := schema.Compile(ref.Path, raw); err != nil {
			message = ref.Path + " is no usable JSON Schema: " + sentence(schemaFaults(err)[0].String())
		} else {
			f.schemas[ref.Path] = s
			return s, nil
		}
		f.failed[ref.Path] = message
	}
	code := "E128"
	if strings.HasPrefix(message, "There is no file") {
		code = "E127"
	}
	return nil, problem.Problems{ref.Node.Problem(code, message)}
}

// schemaFaults lists what makes a schema unusable; none for no error.
func schemaFaults(err error) []schema.Fault {
	var invalid *schema.InvalidSchemaError
	switch {
	case errors.As(err, &invalid) && len(invalid.Faults) > 0:
		return invalid.Faults
	case err != nil:
		return []schema.Fault{{Message: err.Error()}}
	}
	return nil
}

// Text reads a text file of the project; the node is where its path stands.
func (f *Files) Text(path string, n *source.Node) (string, problem.Problems) {
	raw, err := source.ReadFile(f.fsys, path, maxFile)
	switch {
	case err != nil:
		return "", problem.Problems{n.Problem("E127", "There is no file "+path+". Paths are relative to the file that names them.")}
	case len(raw) > maxFile:
		return "", problem.Problems{n.Problem("E127", fmt.Sprintf("%s is larger than %d KiB, which is more than a text may have.", path, maxFile>>10))}
	case !utf8.Valid(raw):
		return "", problem.Problems{n.Problem("E127", path+" is not UTF-8.")}
	case len(strings.TrimSpace(string(raw))) == 0:
		return "", problem.Problems{n.Problem("E127", path+" is empty.")}
	}
	return string(raw), nil
}

// sentence ends a text with a full stop, unless it ends with a question.
func sentence(text string) string {
	if strings.HasSuffix(text, "?") {
		return text
	}
	return strings.TrimSuffix(text, ".") + "."
}

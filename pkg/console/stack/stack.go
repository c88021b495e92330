// Package stack keeps which deployments a project has: the small file that
// `outerloop-aws connect` writes and `outerloop --target aws` reads. It holds
// names and no secrets.
package stack

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// Default is the file's place, relative to the project's directory.
const Default = ".outerloop/aws.json"

// Stack is one deployment.
type Stack struct {
	// Console is the function of its API, by name or ARN.
	Console string `json:"console"`
	// Region and Profile are the AWS configuration's; empty: what the environment says.
	Region  string `json:"region,omitempty"`
	Profile string `json:"profile,omitempty"`
	// Endpoint is another AWS, such as an emulator; empty: AWS itself.
	Endpoint string `json:"endpoint,omitempty"`
	// Concurrency is what workers and their gates may take at one time; 0: not known.
	Concurrency int `json:"concurrency,omitempty"`
	// Table and Bucket are the shared state, for outerloop-aws; Prefix stands
	// before the names of blobs in the bucket.
	Table  string `json:"table,omitempty"`
	Bucket string `json:"bucket,omitempty"`
	Prefix string `json:"prefix,omitempty"`
}

// File is the file: stacks by name, and the one that is meant when none is named.
type File struct {
	Default string           `json:"default"`
	Stacks  map[string]Stack `json:"stacks"`
}

// Errors to branch on.
var (
	// ErrNone says that there is no such file.
	ErrNone = errors.New("no deployment is known here")
	// ErrUnknown says that the file has no such stack.
	ErrUnknown = errors.New("no such stack")
	// ErrFile says that the file cannot be read.
	ErrFile = errors.New("the file of deployments is not valid")
)

// Read reads the file. Errors: ErrNone, ErrFile.
func Read(path string) (File, error) {
	var f File
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return f, fmt.Errorf("%w: there is no %s", ErrNone, path)
	}
	if err != nil {
		return f, fmt.Errorf("%w: %w", ErrFile, err)
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&f); err != nil {
		return f, fmt.Errorf("%w: %s: %w", ErrFile, path, err)
	}
	for name, s := range f.Stacks {
		if s.Console == "" {
			return f, fmt.Errorf("%w: %s: stack %s has no console", ErrFile, path, name)
		}
	}
	return f, nil
}

// Find is the stack of a name, or the default one for "". Error: ErrUnknown.
func (f File) Find(name string) (string, Stack, error) {
	if name == "" {
		name = f.Default
	}
	s, ok := f.Stacks[name]
	if !ok {
		return name, s, fmt.Errorf("%w: %q", ErrUnknown, name)
	}
	return name, s, nil
}

// Names are the stacks' names, sorted.
func (f File) Names() []string { return slices.Sorted(maps.Keys(f.Stacks)) }

// Add puts a stack into the file, which is made when missing, and makes it the
// default. The file is replaced as a whole.
func Add(path, name string, s Stack) error {
	f, err := Read(path)
	if err != nil && !errors.Is(err, ErrNone) {
		return err
	}
	if f.Stacks == nil {
		f.Stacks = map[string]Stack{}
	}
	f.Default, f.Stacks[name] = name, s
	raw, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	part := path + ".part"
	if err := os.WriteFile(part, append(raw, '\n'), 0o644); err != nil {
		return err
	}
	return os.Rename(part, path)
}

// Package scaffold writes a new project: a loop, a worker, the program that runs
// them here, and the CDK app that deploys them.
package scaffold

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"text/template"
)

//go:embed all:project
var files embed.FS

// Project is what a new project is called and made of.
type Project struct {
	// Name begins the names of everything that is deployed: at most 20 lower-case
	// letters, digits and hyphens, a letter first. Required.
	Name string
	// Module is the path of its Go module; default Name.
	Module string
	// Go is the version of Go, Version that of outerloop, as go.mod names them. Required.
	Go, Version string
	// Replace is a checkout of outerloop to use in the version's place, relative to
	// the project or absolute; empty: none.
	Replace string
}

// Errors of Write, for errors.Is.
var (
	// ErrName says that a project cannot have the name.
	ErrName = errors.New("a project's name is at most 20 lower-case letters, digits and hyphens, a letter first")
	// ErrExists says that a file is there already. Nothing was written then.
	ErrExists = errors.New("the file exists")
)

var names = regexp.MustCompile(`^[a-z][a-z0-9-]{0,19}$`)

// Write writes the project's files into a directory, which is made when missing,
// and answers their paths in it, in order. It replaces nothing. The loop's
// machine is not among them: it is compiled from what was written.
func Write(dir string, p Project) ([]string, error) {
	if !names.MatchString(p.Name) {
		return nil, fmt.Errorf("%w: not %q", ErrName, p.Name)
	}
	if p.Module == "" {
		p.Module = p.Name
	}
	made, err := p.files()
	if err != nil {
		return nil, err
	}
	var written []string
	for _, f := range made {
		if _, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(f.name))); !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%w: %s", ErrExists, f.name)
		}
	}
	for _, f := range made {
		at := filepath.Join(dir, filepath.FromSlash(f.name))
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			return written, err
		}
		if err := os.WriteFile(at, f.content, 0o644); err != nil { //nolint:gosec // a project's files are read by its people
			return written, err
		}
		written = append(written, f.name)
	}
	return written, nil
}

type file struct {
	name    string
	content []byte
}

// files are the project's, by name.
func (p Project) files() ([]file, error) {
	var made []file
	err := fs.WalkDir(files, "project", func(at string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := files.ReadFile(at)
		if err != nil {
			return err
		}
		name, isTemplate := strings.CutSuffix(strings.TrimPrefix(at, "project/"), ".tmpl")
		name = strings.ReplaceAll(strings.TrimSuffix(name, ".src"), "NAME", p.Name) // .src: no Go tool is to find it here
		if path.Base(name) == "gitignore" {
			name = path.Join(path.Dir(name), ".gitignore")
		}
		if isTemplate {
			if content, err = p.fill(at, content); err != nil {
				return err
			}
		}
		made = append(made, file{name, content})
		return nil
	})
	return made, err
}

func (p Project) fill(name string, content []byte) ([]byte, error) {
	t, err := template.New(name).Parse(string(content))
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = t.Execute(&out, p)
	return out.Bytes(), err
}

// Package folder is a connection of kind files: a directory that stands for a
// service outside, such as an archive that is read or a store that is written.
package folder

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// Folder is an open connection.
type Folder struct{ name, dir string }

// Of opens what Task.Connection or VerifyRequest.Connection gave. A connection
// of another kind, or without a directory, is a fatal error.
func Of(c worker.Connection, err error) (Folder, error) {
	switch {
	case err != nil:
		return Folder{}, err
	case c.Kind != "files":
		return Folder{}, worker.Fatal("connection %q is of kind %q; this worker needs one of kind files", c.Name, c.Kind)
	case c.Setting("dir", "") == "":
		return Folder{}, worker.Fatal("connection %q has no directory (setting dir)", c.Name)
	}
	return Folder{c.Name, c.Setting("dir", "")}, nil
}

// largest bounds a file that is read, in bytes.
const largest = 16 << 20

// Read gives a file's content. Errors: fs.ErrNotExist; else transient, as of a
// service that does not answer.
func (f Folder) Read(name string) ([]byte, error) {
	path, err := f.path(name)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("connection %s: %s: %w", f.name, name, fs.ErrNotExist)
	case err == nil && info.Size() > largest:
		return nil, worker.MissingInput("connection %s: %s has %d bytes, at most %d can be read", f.name, name, info.Size(), largest)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, worker.Transient("connection %s: %w", f.name, err)
	}
	return content, nil
}

// Lines calls take for each line of a file of JSON lines, counted from 1. A
// line that is no JSON object of T goes to reject with the reason; blank lines
// are passed over. Errors are those of Read.
func Lines[T any](f Folder, name string, take func(line int, record T), reject func(line int, why string)) error {
	content, err := f.Read(name)
	if err != nil {
		return err
	}
	for i, text := range strings.Split(string(content), "\n") {
		var record T
		switch text = strings.TrimSpace(text); {
		case text == "":
		case !utf8.ValidString(text):
			reject(i+1, "it is no UTF-8 text")
		case json.Unmarshal([]byte(text), &record) != nil:
			reject(i+1, "it is no JSON record")
		default:
			take(i+1, record)
		}
	}
	return nil
}

// Add puts a new file, whole or not at all, and returns when it is on the
// disk. Errors: fs.ErrExist when the name is taken; any error but that one and
// a *SyncError says that the file is not there.
func (f Folder) Add(name string, content []byte) error {
	path, err := f.path(name)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(f.dir, 0o755); err != nil {
		return fmt.Errorf("connection %s: %w", f.name, err)
	}
	draft, err := os.CreateTemp(f.dir, ".draft-*")
	if err != nil {
		return fmt.Errorf("connection %s: %w", f.name, err)
	}
	defer os.Remove(draft.Name())
	_, err = draft.Write(content)
	if err = errors.Join(err, draft.Sync(), draft.Close(), os.Chmod(draft.Name(), 0o644)); err != nil {
		return fmt.Errorf("connection %s: writing %s: %w", f.name, name, err)
	}
	if err := os.Link(draft.Name(), path); err != nil {
		return fmt.Errorf("connection %s: %w", f.name, err)
	}
	return f.sync()
}

// SyncError says that a file was added, but perhaps does not survive a crash.
type SyncError struct{ Err error }

// Error is the cause's text.
func (e *SyncError) Error() string { return "syncing: " + e.Err.Error() }

// Unwrap gives the cause.
func (e *SyncError) Unwrap() error { return e.Err }

func (f Folder) sync() error {
	d, err := os.Open(f.dir)
	if err != nil {
		return &SyncError{err}
	}
	if err := errors.Join(d.Sync(), d.Close()); err != nil {
		return &SyncError{err}
	}
	return nil
}

// Names are the folder's files, sorted; a folder that is not there has none.
func (f Folder) Names() ([]string, error) {
	entries, err := os.ReadDir(f.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, worker.Transient("connection %s: %w", f.name, err)
	}
	var names []string
	for _, e := range entries {
		if !e.IsDir() && !strings.HasPrefix(e.Name(), ".") {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// path is a file's path; a name never leads out of the folder.
func (f Folder) path(name string) (string, error) {
	if name == "" || strings.HasPrefix(name, ".") || strings.ContainsAny(name, `/\:`+"\x00") || len(name) > 200 {
		return "", worker.MissingInput("connection %s: %q is no file name", f.name, name)
	}
	return filepath.Join(f.dir, name), nil
}

// Package folder reads a connection of kind files: a directory of the project
// that stands for a service outside, such as an archive. What workers write
// outside is package outside's.
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

// path is a file's path; a name never leads out of the folder.
func (f Folder) path(name string) (string, error) {
	if name == "" || strings.HasPrefix(name, ".") || strings.ContainsAny(name, `/\:`+"\x00") || len(name) > 200 {
		return "", worker.MissingInput("connection %s: %q is no file name", f.name, name)
	}
	return filepath.Join(f.dir, name), nil
}

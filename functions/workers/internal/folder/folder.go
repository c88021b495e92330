// Package folder reads a connection of kind files: a directory of the project
// that stands for a service outside, such as an archive. What workers write
// outside is package outside's.
package folder

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/outerloop-dev/outerloop/functions/workers/internal/directory"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// Folder is an open connection.
type Folder struct {
	name  string
	files worker.Directory
}

// Of opens what Task.Connection or VerifyRequest.Connection gave. A connection
// of another kind, or without a directory, is a fatal error.
func Of(c worker.Connection, err error) (Folder, error) {
	files, err := directory.Of(c, err, "files")
	return Folder{c.Name, files}, err
}

// patience bounds one reading.
const patience = 30 * time.Second

// Read gives a file's content. Errors: fs.ErrNotExist; else transient, as of a
// service that does not answer, unless the directory says otherwise.
func (f Folder) Read(name string) ([]byte, error) {
	if err := f.check(name); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	content, err := f.files.Read(ctx, name)
	var classed *worker.Error
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("connection %s: %s: %w", f.name, name, fs.ErrNotExist)
	case errors.As(err, &classed):
		return nil, fmt.Errorf("connection %s: %w", f.name, err)
	case err != nil:
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

// check refuses a name that could lead out of the folder.
func (f Folder) check(name string) error {
	if name == "" || strings.HasPrefix(name, ".") || strings.ContainsAny(name, `/\:`+"\x00") || len(name) > 200 {
		return worker.MissingInput("connection %s: %q is no file name", f.name, name)
	}
	return nil
}

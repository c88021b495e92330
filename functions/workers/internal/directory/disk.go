package directory

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// disk is a directory of the disk; one that is not there is empty.
type disk string

func notPut(err error) error { return fmt.Errorf("%w: %w", worker.ErrNotCreated, err) }

// largest bounds a file that is read, in bytes.
const largest = 16 << 20

// Read reads a file. A draft of it that a dead process left is no file and is removed.
func (d disk) Read(_ context.Context, name string) ([]byte, error) {
	_ = os.Remove(d.draft(name))
	path := filepath.Join(string(d), name)
	if info, err := os.Stat(path); err == nil && info.Size() > largest {
		return nil, worker.MissingInput("%s has %d bytes, at most %d can be read", name, info.Size(), largest)
	}
	return os.ReadFile(path)
}

// Names lists the directory.
func (d disk) Names(context.Context) ([]string, error) {
	entries, err := os.ReadDir(string(d))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") && !e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// Create writes a draft and gives it its name when it is on the disk.
func (d disk) Create(_ context.Context, name string, content []byte) error {
	if err := os.MkdirAll(string(d), 0o755); err != nil {
		return notPut(err)
	}
	draft := d.draft(name)
	if err := writeSynced(draft, content); err != nil {
		_ = os.Remove(draft)
		return notPut(err)
	}
	defer os.Remove(draft)
	if err := publish(draft, filepath.Join(string(d), name)); err != nil {
		return notPut(err)
	}
	return syncDirectory(string(d))
}

func (d disk) draft(name string) string {
	return filepath.Join(string(d), "."+strings.TrimSuffix(name, filepath.Ext(name))+".draft")
}

// publish gives a written file its name, if nothing has that name yet. A file
// system without hard links leaves a moment between looking and naming; the
// action's owner is alone in it.
func publish(draft, name string) error {
	err := os.Link(draft, name)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	if _, there := os.Lstat(name); there == nil {
		return fs.ErrExist
	}
	return os.Rename(draft, name)
}

func writeSynced(path string, content []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	return errors.Join(err, f.Sync(), f.Close())
}

func syncDirectory(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("syncing %s: %w", dir, err)
	}
	defer func() { _ = d.Close() }()
	if err := d.Sync(); err != nil {
		return fmt.Errorf("syncing %s: %w", dir, err)
	}
	return nil
}

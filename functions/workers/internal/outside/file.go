package outside

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// ErrNotPut says that the directory certainly does not hold the file.
var ErrNotPut = errors.New("the directory did not take the file")

func notPut(err error) error { return fmt.Errorf("%w: %w", ErrNotPut, err) }

// Key is a provider key in a form that file names and Message-IDs may hold: 32
// hexadecimal digits.
func Key(providerKey string) string {
	sum := sha256.Sum256([]byte(providerKey))
	return hex.EncodeToString(sum[:16])
}

// copies bounds how many files of one stem a directory can hold.
const copies = 1000

// Put adds a file under a name of its own that begins with stem, all of it or
// nothing, and returns when it is on the disk. A file of the same stem is not
// replaced: there are two then. An error that is ErrNotPut says that it is not there.
func Put(dir, stem, extension string, content []byte) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return notPut(err)
	}
	draft := draftOf(dir, stem)
	if err := writeSynced(draft, content); err != nil {
		_ = os.Remove(draft)
		return notPut(err)
	}
	defer os.Remove(draft)
	for n := 1; n <= copies; n++ {
		err := publish(draft, filepath.Join(dir, fileName(stem, extension, n)))
		switch {
		case err == nil:
			return syncDirectory(dir)
		case !errors.Is(err, fs.ErrExist):
			return notPut(err)
		}
	}
	return notPut(fmt.Errorf("it holds %d files %s already", copies, stem))
}

// Find reads the file of a stem; nil: there is none. A draft that a dead
// process left is no file and is removed.
func Find(dir, stem, extension string) ([]byte, error) {
	_ = os.Remove(draftOf(dir, stem))
	content, err := os.ReadFile(filepath.Join(dir, fileName(stem, extension, 1)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return content, err
}

func draftOf(dir, stem string) string { return filepath.Join(dir, "."+stem+".draft") }

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

func fileName(stem, extension string, n int) string {
	if n == 1 {
		return stem + extension
	}
	return fmt.Sprintf("%s-%d%s", stem, n, extension)
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

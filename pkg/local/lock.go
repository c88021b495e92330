package local

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/store"
)

// Owner is the process that owns a state file, as its lock file names it.
type Owner struct {
	PID    int       `json:"pid"`
	Socket string    `json:"socket"`
	Since  time.Time `json:"since"`
}

// OwnedError names the owner of a state file. It unwraps to ErrOwned.
type OwnedError struct {
	State string
	Owner Owner
}

// Error names file and process.
func (e *OwnedError) Error() string {
	if e.Owner.PID == 0 {
		return e.State + " is just being taken over by another process"
	}
	return fmt.Sprintf("%s is owned by process %d since %s", e.State, e.Owner.PID, e.Owner.Since.UTC().Format(time.RFC3339))
}

// Unwrap makes errors.Is(err, ErrOwned) true.
func (e *OwnedError) Unwrap() error { return ErrOwned }

// lock is the lock file of a state file. The system frees it when its process
// dies, however it dies; the file itself stays.
type lock struct{ file *os.File }

// lockPath is beside the file itself, whatever link leads to it: one file has one owner.
func lockPath(state string) string {
	if file, err := filepath.EvalSymlinks(state); err == nil {
		state = file
	}
	return state + ".lock"
}

// acquire takes the lock without waiting. Errors: *OwnedError, store.ErrReadOnly.
func acquire(state string) (*lock, error) {
	file, err := os.OpenFile(lockPath(state), os.O_RDWR|os.O_CREATE, 0o600)
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
		return nil, fmt.Errorf("locking %s: %w: %w", state, store.ErrReadOnly, err)
	}
	if err != nil {
		return nil, fmt.Errorf("locking %s: %w", state, err)
	}
	err = lockFile(file)
	if err == nil {
		return &lock{file}, nil
	}
	defer func() { _ = file.Close() }() // read only from here on
	if !errors.Is(err, errLocked) {
		return nil, fmt.Errorf("locking %s: %w", state, err)
	}
	owned := &OwnedError{State: state}
	// An owner that has not written its name yet reads as the zero Owner.
	_ = json.NewDecoder(file).Decode(&owned.Owner)
	return nil, owned
}

// name writes who holds the lock.
func (l *lock) name(owner Owner) error {
	text, err := json.Marshal(owner)
	if err != nil {
		return err
	}
	if err := l.file.Truncate(0); err != nil {
		return err
	}
	_, err = l.file.WriteAt(append(text, '\n'), 0)
	return err
}

// release gives the lock up.
func (l *lock) release() error {
	return errors.Join(l.file.Truncate(0), l.file.Close())
}

var errLocked = errors.New("locked")

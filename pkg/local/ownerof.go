package local

import (
	"errors"
	"io/fs"
	"os"
)

// OwnerOf tells which process owns a state file; nil: none does. It makes no
// file, and holds up an owner that is just coming for a moment.
func OwnerOf(state string) (*Owner, error) {
	if _, err := os.Stat(lockPath(state)); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	held, err := acquire(state)
	var owned *OwnedError
	switch {
	case err == nil:
		return nil, held.release()
	case errors.As(err, &owned):
		return &owned.Owner, nil
	}
	return nil, err
}

//go:build unix

package sqlitestore

import (
	"errors"
	"syscall"
)

func isReadOnlyVolume(err error) bool { return errors.Is(err, syscall.EROFS) }

package sqlitestore

import (
	"errors"
	"fmt"
	"io/fs"

	"modernc.org/sqlite"
	codes "modernc.org/sqlite/lib"

	"github.com/outerloop-dev/outerloop/pkg/store"
)

// Errors to branch on, beside those of package store: a file or directory that
// cannot be written is store.ErrReadOnly, a damaged file store.ErrCorrupt, a
// missing one fs.ErrNotExist.
var (
	// ErrFull says that the disk or the file's size limit is used up. What was
	// durable before stays.
	ErrFull = errors.New("disk is full")
	// ErrDisk says that the system could not read or write the file: a disk that
	// fails, a limit to the size of files.
	ErrDisk = errors.New("the disk refuses")
	// ErrNewer says that the file was written by a later version of the program.
	ErrNewer = errors.New("store was written by a newer version")
	// ErrNotStore says that the file is no store: not a database, or another program's.
	ErrNotStore = errors.New("file is not an outerloop store")
	// ErrForeignLog says that the log beside the file belongs to one that stood
	// there before. See ForeignLogError.
	ErrForeignLog = errors.New("the log beside the file is of another one that stood there before")
	// ErrBusy says that another process holds the file for writing.
	ErrBusy = errors.New("store is in use by another process")
	// ErrBroken says that a commit failed: the store went back to the last
	// durable state and takes no more work. It wraps the cause. Open the store
	// again. Writes that waited for that commit are lost, save that a disk which
	// failed in its very last step may have kept them.
	ErrBroken = errors.New("store has stopped after a failed commit")
	// ErrClosed says that the store was closed.
	ErrClosed = errors.New("store is closed")
)

// classify is the one mapping from SQLite's result codes to errors.
func classify(err error) error {
	var lite *sqlite.Error
	if err == nil || !errors.As(err, &lite) {
		return err
	}
	switch lite.Code() & 0xff {
	case codes.SQLITE_FULL:
		return fmt.Errorf("%w: %w", ErrFull, err)
	case codes.SQLITE_IOERR:
		return fmt.Errorf("%w: %w", ErrDisk, err)
	case codes.SQLITE_READONLY, codes.SQLITE_PERM:
		return fmt.Errorf("%w: %w", store.ErrReadOnly, err)
	case codes.SQLITE_CORRUPT:
		return fmt.Errorf("%w: %w", store.ErrCorrupt, err)
	case codes.SQLITE_NOTADB:
		return fmt.Errorf("%w: %w", ErrNotStore, err)
	case codes.SQLITE_BUSY, codes.SQLITE_LOCKED:
		return fmt.Errorf("%w: %w", ErrBusy, err)
	case codes.SQLITE_CANTOPEN:
		return fmt.Errorf("%w: %w", fs.ErrPermission, err)
	default:
		return err
	}
}

package sqlitestore

import (
	"errors"
	"io"
	"os"
)

// ForeignLogError is a log beside a file that has never had one: a backup was put
// in the place of a store and the log of the old one left there. It unwraps to
// ErrForeignLog.
type ForeignLogError struct {
	// Log is the log's file.
	Log string
}

// Error names the log.
func (e *ForeignLogError) Error() string { return ErrForeignLog.Error() + ": " + e.Log }

// Unwrap makes errors.Is(err, ErrForeignLog) true.
func (e *ForeignLogError) Unwrap() error { return ErrForeignLog }

// The header of a SQLite file: how long it is, and where it says whether the file
// is written through a log. A store is from its first moment on; a backup is not
// until it is opened for writing.
const (
	headerBytes = 100
	writtenHow  = 18
	withoutLog  = 1
)

// foreignLog refuses a log that would be mixed into a file it is not of: SQLite
// itself does not see it, and both would be lost.
func foreignLog(path string) error {
	log, err := os.Stat(path + "-wal")
	if err != nil || log.Size() == 0 {
		return nil //nolint:nilerr // no log, no harm
	}
	file, err := os.Open(path)
	if err != nil {
		return nil //nolint:nilerr // opening it says why
	}
	header := make([]byte, headerBytes)
	_, err = io.ReadFull(file, header)
	if err := errors.Join(err, file.Close()); err != nil || header[writtenHow] != withoutLog {
		return nil //nolint:nilerr // too short to hold anything
	}
	return &ForeignLogError{Log: path + "-wal"}
}

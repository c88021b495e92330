package crm

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// sniff looks at the first bytes: it finds where the text begins, and names
// the usual mistakes.
func sniff(file io.ReaderAt, size int64) (int64, error) {
	if size == 0 {
		return 0, unusable("is empty: the first row must name the columns")
	}
	head := make([]byte, min(size, 512))
	if n, err := file.ReadAt(head, 0); err != nil && (err != io.EOF || n < len(head)) {
		return 0, fmt.Errorf("reading the file: %w", err)
	}
	switch {
	case bytes.HasPrefix(head, []byte("PK\x03\x04")):
		return 0, unusable("is a workbook or an archive, not a CSV file; save the sheet as CSV (UTF-8)")
	case bytes.HasPrefix(head, []byte{0xff, 0xfe}), bytes.HasPrefix(head, []byte{0xfe, 0xff}):
		return 0, unusable("is UTF-16; export it as UTF-8")
	case bytes.IndexByte(head, 0) >= 0:
		return 0, unusable("is not a CSV file: it holds a zero byte at byte %d", bytes.IndexByte(head, 0))
	case bytes.HasPrefix(head, []byte("\ufeff")):
		return int64(len("\ufeff")), nil
	}
	return 0, nil
}

var errTooLong = errors.New("record is too long")

// recordLimit is a reader that stops inside a record that is too long.
type recordLimit struct {
	from   io.Reader
	start  int64
	served int64
}

// Read reads on unless the record has become too long.
func (l *recordLimit) Read(p []byte) (int, error) {
	if l.served-l.start > RecordLimit {
		return 0, errTooLong
	}
	n, err := l.from.Read(p)
	l.served += int64(n)
	return n, err
}

package worker

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"sync"
)

// File is an open input file. Reading at an offset does not load the rest.
type File interface {
	io.ReaderAt
	io.Closer
	// Size is the file's length in bytes.
	Size() int64
}

// Files opens files by the reference that an input carries.
type Files interface {
	// Open gives a file for reading; the caller closes it.
	Open(ctx context.Context, ref string) (File, error)
}

// Reader reads a file from its beginning.
func Reader(f File) io.Reader { return io.NewSectionReader(f, 0, f.Size()) }

// FileOf is a File of content in memory.
func FileOf(content []byte) File { return memoryFile{bytes.NewReader(content)} }

type memoryFile struct{ *bytes.Reader }

// Close does nothing.
func (memoryFile) Close() error { return nil }

// keptFiles is how many contents BlobFiles keeps: the items of one run all
// read the same file.
const keptFiles = 2

// BlobFiles are files kept as content-addressed blobs. The last few contents
// stay in memory, since the items of a run read the same one; a reference
// always means the same content, so they are never stale.
type BlobFiles struct {
	// Get reads the content of a reference.
	Get func(ctx context.Context, ref string) ([]byte, error)

	mu   sync.Mutex
	kept []keptFile
}

type keptFile struct {
	ref     string
	content []byte
}

// Open reads the content unless it is kept.
func (b *BlobFiles) Open(ctx context.Context, ref string) (File, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, k := range b.kept {
		if k.ref == ref {
			return FileOf(k.content), nil
		}
	}
	content, err := b.Get(ctx, ref)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", ref, err)
	}
	if len(b.kept) == keptFiles {
		b.kept = append(b.kept[:0], b.kept[1:]...)
	}
	b.kept = append(b.kept, keptFile{ref, content})
	return FileOf(content), nil
}

// OpenPath opens a file of the disk for a Check. Only a regular file can be an
// input, since it is read more than once: a directory, a device or a pipe is
// refused with a message for the user.
func OpenPath(path string) (File, error) {
	info, err := os.Stat(path)
	switch {
	case os.IsNotExist(err):
		return nil, fmt.Errorf("%s: there is no such file", path)
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, fmt.Errorf("%s is a directory; give the file itself", path)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is a device or a pipe, not a file; save its content to a file and give that", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	return diskFile{f, info.Size()}, nil
}

type diskFile struct {
	*os.File
	size int64
}

// Size is the length when the file was opened.
func (f diskFile) Size() int64 { return f.size }

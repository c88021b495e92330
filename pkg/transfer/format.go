package transfer

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/store"
)

// Version is the version of the file format that Export writes. Import reads
// it and every earlier one.
const Version = 1

// Errors to branch on.
var (
	// ErrFile says that the file is no export, or not as it was written.
	ErrFile = errors.New("not a whole export file")
	// ErrNewer says that a newer program wrote the file.
	ErrNewer = errors.New("export file is of a newer version")
)

// Header is the first line of a file.
type Header struct {
	// Format is the version of the format.
	Format int `json:"outerloop_export"`
	// ID names the move: all exports of one sealed store have the same.
	ID      string    `json:"id"`
	Created time.Time `json:"created"`
	// Source says for people where the content comes from.
	Source string `json:"source,omitempty"`
}

// Counts is what a file holds.
type Counts struct {
	Items int `json:"items"`
	Blobs int `json:"blobs"`
	Runs  int `json:"runs"`
	// Open are runs that go on at the destination, Waiting the undecided
	// approvals and open exceptions among the items.
	Open    int `json:"open"`
	Waiting int `json:"waiting"`
	Actions int `json:"actions"`
	// Executing are actions whose outcome was not recorded when they were read.
	Executing int `json:"executing"`
}

// end is the last line: what was written, and the SHA-256 of all bytes before it.
type end struct {
	Counts *Counts `json:"end"`
	SHA256 string  `json:"sha256"`
}

// line is any other line: an item or a blob.
type line struct {
	Part string `json:"part,omitempty"`
	Sort string `json:"sort,omitempty"`
	// Body is the item's body where it is compact JSON, Bytes where it is not.
	Body    json.RawMessage  `json:"body,omitempty"`
	Bytes   []byte           `json:"bytes,omitempty"`
	Numbers map[string]int64 `json:"numbers,omitempty"`
	List    *[2]string       `json:"list,omitempty"`
	Due     *[2]string       `json:"due,omitempty"`
	Expires int64            `json:"expires,omitempty"`

	Blob    string `json:"blob,omitempty"`
	Content []byte `json:"content,omitempty"`
}

// lineOf is an item as a line; version and write id belong to the store.
func lineOf(item store.Item) line {
	l := line{Part: item.Part, Sort: item.Sort, Numbers: item.Numbers, Expires: item.Expires}
	l.List, l.Due = pairOf(item.List), pairOf(item.Due)
	if again, err := json.Marshal(json.RawMessage(item.Body)); err == nil && bytes.Equal(again, item.Body) {
		l.Body = item.Body
	} else {
		l.Bytes = item.Body
	}
	return l
}

func pairOf(key *store.IndexKey) *[2]string {
	if key == nil {
		return nil
	}
	return &[2]string{key.Part, key.Sort}
}

func (l line) item() store.Item {
	item := store.Item{Key: store.Key{Part: l.Part, Sort: l.Sort}, Body: l.Bytes, Numbers: l.Numbers, Expires: l.Expires}
	if l.Body != nil {
		item.Body = l.Body
	}
	if l.List != nil {
		item.List = &store.IndexKey{Part: l.List[0], Sort: l.List[1]}
	}
	if l.Due != nil {
		item.Due = &store.IndexKey{Part: l.Due[0], Sort: l.Due[1]}
	}
	return item
}

// writer writes the lines of a file.
type writer struct {
	out    *bufio.Writer
	sum    hash.Hash
	counts Counts
}

func newWriter(out io.Writer, h Header) (*writer, error) {
	w := &writer{sum: sha256.New()}
	w.out = bufio.NewWriterSize(io.MultiWriter(out, w.sum), 1<<16)
	return w, w.write(h)
}

func (w *writer) write(v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = w.out.Write(append(text, '\n'))
	return err
}

func (w *writer) item(item store.Item) error {
	w.counts.add(item)
	return w.write(lineOf(item))
}

func (w *writer) blob(ref string, content []byte) error {
	w.counts.Blobs++
	return w.write(line{Blob: ref, Content: content})
}

// end writes the last line.
func (w *writer) end() (Counts, error) {
	if err := w.out.Flush(); err != nil {
		return w.counts, err
	}
	last := end{Counts: &w.counts, SHA256: hex.EncodeToString(w.sum.Sum(nil))}
	return w.counts, errors.Join(w.write(last), w.out.Flush())
}

// maxLine bounds a line: the largest blob in base64.
const maxLine = store.MaxBlob/3*4 + 1<<20

// lines reads the lines of a file one by one.
type lines struct {
	in  *bufio.Reader
	sum hash.Hash
	n   int
}

func (r *lines) next() ([]byte, error) {
	text, err := r.in.ReadBytes('\n')
	if errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%w: it ends after line %d without its last line: it is truncated", ErrFile, r.n)
	}
	if err != nil {
		return nil, fmt.Errorf("reading line %d: %w", r.n+1, err)
	}
	if r.n++; len(text) > maxLine {
		return nil, fmt.Errorf("%w: line %d has %d bytes", ErrFile, r.n, len(text))
	}
	return text, nil
}

func (r *lines) decode(text []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return fmt.Errorf("%w: line %d: %w", ErrFile, r.n, err)
	}
	return nil
}

func (r *lines) header() (Header, error) {
	var h Header
	text, err := r.next()
	if err != nil {
		return h, err
	}
	var version struct {
		Format *int `json:"outerloop_export"`
	}
	if err := json.Unmarshal(text, &version); err != nil || version.Format == nil {
		return h, fmt.Errorf("%w: its first line is not that of an export", ErrFile)
	}
	if *version.Format > Version {
		return h, fmt.Errorf("%w: %d, this program reads up to %d", ErrNewer, *version.Format, Version)
	}
	if err := r.decode(text, &h); err != nil {
		return h, err
	}
	if h.Format < 1 || h.ID == "" {
		return h, fmt.Errorf("%w: its first line names no version or no id", ErrFile)
	}
	r.sum.Write(text)
	return h, nil
}

// contents is a file that was read to its end.
type contents struct {
	header Header
	counts Counts
	sum    string
}

var endMark = []byte(`{"end":`)

// walk reads a whole file from its beginning and hands over each line. What
// is handed over is proved to be whole only when walk answers no error.
func walk(file io.ReadSeeker, visit func(line) error) (contents, error) {
	var c contents
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return c, err
	}
	r := &lines{in: bufio.NewReaderSize(file, 1<<16), sum: sha256.New()}
	var err error
	if c.header, err = r.header(); err != nil {
		return c, err
	}
	for {
		text, err := r.next()
		if err != nil {
			return c, err
		}
		if bytes.HasPrefix(text, endMark) {
			return r.last(c, text)
		}
		r.sum.Write(text)
		var l line
		if err := r.decode(text, &l); err != nil {
			return c, err
		}
		if err := r.count(&c.counts, l); err != nil {
			return c, err
		}
		if err := visit(l); err != nil {
			return c, err
		}
	}
}

func (r *lines) count(c *Counts, l line) error {
	switch {
	case l.Blob != "" && l.Part == "":
		c.Blobs++
		if store.BlobRef(l.Content) != l.Blob {
			return fmt.Errorf("%w: line %d: the blob is not what its name says", ErrFile, r.n)
		}
	case l.Part != "" && l.Sort != "" && l.Blob == "" && carried[kindOf(l.Part)]:
		c.add(l.item())
	default:
		return fmt.Errorf("%w: line %d is neither an item that is carried nor a blob", ErrFile, r.n)
	}
	return nil
}

func (r *lines) last(c contents, text []byte) (contents, error) {
	var said end
	if err := r.decode(text, &said); err != nil {
		return c, err
	}
	c.sum = hex.EncodeToString(r.sum.Sum(nil))
	switch rest, err := r.in.Peek(1); {
	case said.SHA256 != c.sum:
		return c, fmt.Errorf("%w: its content does not have the checksum in its last line: it was altered", ErrFile)
	case said.Counts == nil || *said.Counts != c.counts:
		return c, fmt.Errorf("%w: it does not hold what its last line counts", ErrFile)
	case len(rest) > 0 || !errors.Is(err, io.EOF):
		return c, fmt.Errorf("%w: something follows its last line", ErrFile)
	}
	return c, nil
}

// Verify reads a whole file and answers what it holds. Errors: ErrFile, ErrNewer.
func Verify(file io.ReadSeeker) (Header, Counts, error) {
	c, err := walk(file, func(line) error { return nil })
	return c.header, c.counts, err
}

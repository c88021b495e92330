package project

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"sync"

	"github.com/outerloop-dev/outerloop/pkg/loop"
)

// ErrUnknownLoop says that the project has no right loop of a name.
var ErrUnknownLoop = errors.New("no such loop")

// bundle is everything a run keeps from its start.
type bundle struct {
	// Files are texts by path.
	Files map[string]string `json:"files"`
	// Loop is the loop's name.
	Loop string `json:"loop"`
}

// Bundle is the loop's file with its sub-loops, charters, schemas, prompts and
// the project file, as canonical JSON: the same content gives the same bytes.
// Its hash is what runs pin. Errors: ErrUnknownLoop.
func (p *Project) Bundle(name string) ([]byte, error) {
	d, ok := p.Loops[name]
	if !ok {
		return nil, fmt.Errorf("bundling %s: %w", name, ErrUnknownLoop)
	}
	recorded := &recorder{fsys: p.fsys, files: map[string]string{}}
	if err := recorded.declarations(p, d); err != nil {
		return nil, fmt.Errorf("bundling %s: %w", name, err)
	}
	// Loading what was recorded so far reads, and so records, all that it names.
	if _, ps := load(recorded, false); ps.Err() != nil {
		return nil, fmt.Errorf("bundling %s: %w", name, ps.Err())
	}
	return json.Marshal(bundle{Files: recorded.files, Loop: name})
}

// Hash is the name under which a bundle is kept.
func Hash(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// FromBundle reads a bundle with the parser and the validator of Load. The
// definition's hash is the bundle's. Errors hold the problems, if the language
// has become stricter since.
func FromBundle(data []byte) (*loop.Definition, error) {
	var b bundle
	if err := json.Unmarshal(data, &b); err != nil {
		return nil, fmt.Errorf("reading bundle: %w", err)
	}
	p, ps := load(texts(b.Files), false)
	if err := ps.Err(); err != nil {
		return nil, fmt.Errorf("checking bundle of %s: %w", b.Loop, err)
	}
	d, ok := p.Loops[b.Loop]
	if !ok {
		return nil, fmt.Errorf("reading bundle: %s: %w", b.Loop, ErrUnknownLoop)
	}
	d.Hash = Hash(data)
	return d, nil
}

// texts is a file system of texts by path. It has no directories.
type texts map[string]string

// Open is not supported: files are read whole.
func (t texts) Open(name string) (fs.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: errors.ErrUnsupported}
}

// ReadFile gives a text.
func (t texts) ReadFile(name string) ([]byte, error) {
	text, ok := t[name]
	if !ok {
		return nil, &fs.PathError{Op: "read", Path: name, Err: fs.ErrNotExist}
	}
	return []byte(text), nil
}

// Glob gives the paths that match, sorted.
func (t texts) Glob(pattern string) ([]string, error) {
	return matching(slices.Sorted(maps.Keys(t)), pattern)
}

func matching(names []string, pattern string) ([]string, error) {
	var out []string
	for _, name := range names {
		fits, err := path.Match(pattern, name)
		if err != nil {
			return nil, err
		}
		if fits {
			out = append(out, name)
		}
	}
	return out, nil
}

// recorder keeps the text of every file that is read through it. Glob finds
// the declarations in names only.
type recorder struct {
	fsys  fs.FS
	names []string
	// mu guards files: loops are read at the same time.
	mu    sync.Mutex
	files map[string]string
}

// Open is not supported: files are read whole.
func (r *recorder) Open(name string) (fs.File, error) { return texts(nil).Open(name) }

// ReadFile reads and records.
func (r *recorder) ReadFile(name string) ([]byte, error) {
	raw, err := fs.ReadFile(r.fsys, name)
	if err == nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.files[name] = string(raw)
	}
	return raw, err
}

// Glob gives the declarations that match.
func (r *recorder) Glob(pattern string) ([]string, error) { return matching(r.names, pattern) }

// declarations records the YAML files that the loop needs.
func (r *recorder) declarations(p *Project, d *loop.Definition) error {
	r.names = []string{File}
	r.addLoop(p, d)
	slices.Sort(r.names)
	r.names = slices.Compact(r.names)
	for _, name := range r.names {
		if _, err := fs.ReadFile(r, name); err != nil {
			return err
		}
	}
	return nil
}

func (r *recorder) addLoop(p *Project, d *loop.Definition) {
	r.names = append(r.names, d.Loop.Source.File.Path)
	for name := range maps.Keys(d.Workers) {
		r.names = append(r.names, WorkerDir+"/"+name+"/"+CharterFile)
	}
	for _, n := range d.Nodes {
		if n.Sub != nil {
			r.addLoop(p, n.Sub)
		}
	}
	for _, t := range d.Triggers {
		if other := p.Loops[t.Name]; t.Kind == loop.TriggerAfter && other != nil {
			r.addLoop(p, other)
		}
	}
}

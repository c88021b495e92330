package jsonpath

import (
	"errors"
	"fmt"

	"github.com/outerloop-dev/outerloop/pkg/asl/internal/rawjson"
)

// Limits keep nested scans of one document within reason: bytes looked at, and
// bytes found.
const (
	maxLooked = 256 << 20
	maxFound  = 16 << 20
)

// ErrTooMany says that a path looks at or finds more than is reasonable.
var ErrTooMany = errors.New("the path selects too many values")

// NotFoundError says that a path leads nowhere.
type NotFoundError struct {
	Reason string
	// PastEnd is set when only the last step, an index, is beyond an array.
	PastEnd bool
	// NoArray is set when an index stands where no array is.
	NoArray bool
}

// Error returns the reason.
func (e *NotFoundError) Error() string { return e.Reason }

// walk is one evaluation of a path.
type walk struct {
	path  *Path
	root  []byte
	found [][]byte
	size  int
	// passed is the furthest step that was tried.
	passed int
	// looked counts bytes, together with the paths of filters.
	looked *int
	// loose is set behind the first indefinite step, where what is not
	// there is passed over.
	loose bool
}

// Eval evaluates the path on a document. A definite path gives the value it
// leads to or a *NotFoundError. An indefinite path gives an array of what it
// finds, which may be empty.
func (p *Path) Eval(doc []byte) ([]byte, error) {
	if v, ok := p.direct(doc); ok {
		return v, nil
	}
	return p.evalAt(doc, doc, new(int))
}

// evalAt evaluates a path from a value inside of a document (@ in a filter).
func (p *Path) evalAt(root, value []byte, looked *int) ([]byte, error) {
	w := walk{path: p, root: root, looked: looked}
	err := w.from(0, value)
	if errors.Is(err, ErrTooMany) {
		return nil, err
	}
	if p.function != nil {
		return p.function(w.found, p.definite)
	}
	if !p.definite {
		return rawjson.Join(w.found), nil
	}
	if err != nil {
		return nil, err
	}
	if len(w.found) == 0 {
		_, indexed := p.steps[len(p.steps)-1].(index)
		return nil, &NotFoundError{Reason: "No results for path: " + p.normal(len(p.steps)), PastEnd: indexed && w.passed == len(p.steps)-1}
	}
	return w.found[len(w.found)-1], nil
}

// direct follows names and indexes as long as they lead somewhere: the common
// case, without any allocation.
func (p *Path) direct(value []byte) ([]byte, bool) {
	if p.function != nil {
		return nil, false
	}
	for _, s := range p.steps {
		ok := false
		switch s := s.(type) {
		case property:
			value, ok = rawjson.Get(value, s.name)
		case index:
			if s.n >= 0 {
				value, ok = rawjson.Index(value, s.n)
			}
		}
		if !ok {
			return nil, false
		}
	}
	return value, true
}

// from applies the steps from number at on.
func (w *walk) from(at int, value []byte) error {
	*w.looked += len(value)
	if *w.looked > maxLooked {
		return ErrTooMany
	}
	if at == len(w.path.steps) {
		if w.size += len(value) + 1; w.size > maxFound {
			return ErrTooMany
		}
		w.found = append(w.found, value)
		return nil
	}
	w.passed = max(w.passed, at)
	return w.path.steps[at].apply(w, at, value)
}

func (w *walk) last(at int) bool { return at == len(w.path.steps)-1 }

func (w *walk) missing(format string, args ...any) error {
	if w.loose {
		return nil
	}
	return &NotFoundError{Reason: fmt.Sprintf(format, args...)}
}

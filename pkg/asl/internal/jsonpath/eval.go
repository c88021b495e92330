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

func (s property) apply(w *walk, at int, value []byte) error {
	if rawjson.KindOf(value) != rawjson.Object {
		return w.notObject(s, at, value)
	}
	v, ok := rawjson.Get(value, s.name)
	switch {
	case ok:
		return w.from(at+1, v)
	case w.last(at):
		return nil
	}
	return w.missing("Missing property in path %s", w.path.normal(at+1))
}

func (w *walk) notObject(s step, at int, value []byte) error {
	return w.missing("Expected to find an object with property %s in path %s but found '%s'. This is not a json object according to the JsonProvider: '%s'.",
		s.fragment(), w.path.normal(at), javaClass(value), "com.jayway.jsonpath.spi.json.JacksonJsonProvider")
}

// javaClass names the class that the value has in the Java library.
func javaClass(v []byte) string {
	switch rawjson.KindOf(v) {
	case rawjson.String:
		return "java.lang.String"
	case rawjson.Bool:
		return "java.lang.Boolean"
	case rawjson.Array:
		return "java.util.ArrayList"
	case rawjson.Number:
		if n, ok := rawjson.Int(v); ok && int64(int32(n)) == n {
			return "java.lang.Integer"
		} else if ok {
			return "java.lang.Long"
		}
		return "java.lang.Double"
	case rawjson.Object:
		return "java.util.LinkedHashMap"
	}
	return "null"
}

// apply of several names: at the end of a path it makes an object of them.
func (s properties) apply(w *walk, at int, value []byte) error {
	if rawjson.KindOf(value) != rawjson.Object {
		return w.notObject(s, at, value)
	}
	merged := []byte("{}")
	for _, name := range s.names {
		v, ok := rawjson.Get(value, name)
		if !ok {
			continue
		}
		if w.last(at) {
			merged = rawjson.With(merged, name, v)
			continue
		}
		if err := w.from(at+1, v); err != nil {
			return err
		}
	}
	if w.last(at) {
		return w.from(at+1, merged)
	}
	return nil
}

// array reports whether the value is an array, with an error if it must be one.
func (w *walk) array(s step, at int, value []byte) (bool, error) {
	switch rawjson.KindOf(value) {
	case rawjson.Array:
		return true, nil
	case rawjson.NullKind:
		return false, w.missing("The path %s is null", w.path.normal(at))
	}
	err := w.missing("Filter: %s can only be applied to arrays. Current context is: %s", s.fragment(), JavaString(value))
	if missing, ok := err.(*NotFoundError); ok {
		missing.NoArray = true
	}
	return false, err
}

func (s index) apply(w *walk, at int, value []byte) error {
	return w.elements(s, at, value, []int{s.n})
}

func (s indexes) apply(w *walk, at int, value []byte) error {
	return w.elements(s, at, value, s.n)
}

func (w *walk) elements(s step, at int, value []byte, list []int) error {
	if ok, err := w.array(s, at, value); !ok {
		return err
	}
	all := rawjson.Split(value)
	for _, n := range list {
		if n < 0 {
			n += len(all)
		}
		if n < 0 || n >= len(all) {
			continue
		}
		if err := w.from(at+1, all[n]); err != nil {
			return err
		}
	}
	return nil
}

func (s slice) apply(w *walk, at int, value []byte) error {
	if ok, err := w.array(s, at, value); !ok {
		return err
	}
	all := rawjson.Split(value)
	bound := func(n *int, otherwise int) int {
		if n == nil {
			return otherwise
		}
		if *n < 0 {
			return max(0, *n+len(all))
		}
		return min(*n, len(all))
	}
	w.loose = true
	for i := bound(s.from, 0); i < bound(s.to, len(all)); i++ {
		if err := w.from(at+1, all[i]); err != nil {
			return err
		}
	}
	return nil
}

func (s wildcard) apply(w *walk, at int, value []byte) error {
	w.loose = true
	return w.each(value, func(v []byte) error { return w.from(at+1, v) })
}

// each calls fn for the elements of an array or the values of an object.
func (w *walk) each(value []byte, fn func([]byte) error) error {
	for v := range rawjson.Elements(value) {
		if err := fn(v); err != nil {
			return err
		}
	}
	for _, v := range rawjson.Members(value) {
		if err := fn(v); err != nil {
			return err
		}
	}
	return nil
}

func (s scan) apply(w *walk, at int, value []byte) error {
	w.loose = true
	if k := rawjson.KindOf(value); k != rawjson.Array && k != rawjson.Object {
		return nil
	}
	if err := w.from(at+1, value); err != nil {
		return err
	}
	return w.each(value, func(v []byte) error { return s.apply(w, at, v) })
}

func (s filter) apply(w *walk, at int, value []byte) error {
	w.loose = true
	if rawjson.KindOf(value) == rawjson.Object {
		if s.test.holds(w, value) {
			return w.from(at+1, value)
		}
		return nil
	}
	for v := range rawjson.Elements(value) {
		if !s.test.holds(w, v) {
			continue
		}
		if err := w.from(at+1, v); err != nil {
			return err
		}
	}
	return nil
}

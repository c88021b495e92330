package jsonpath

import (
	"errors"
	"strconv"

	"github.com/outerloop-dev/outerloop/pkg/asl/internal/rawjson"
)

// ErrConflict says that a value cannot be put where the path leads: something
// on the way is neither absent nor what the path needs.
var ErrConflict = errors.New("the path does not fit the document")

// Put returns the document with the value at a reference path. Objects that
// are missing on the way are made; elements of arrays are not. Unless
// IsReference, it gives ErrConflict.
func (p *Path) Put(doc, value []byte) ([]byte, error) {
	if !p.IsReference() {
		return nil, ErrConflict
	}
	return put(p.steps, doc, value)
}

func put(steps []step, doc, value []byte) ([]byte, error) {
	if len(steps) == 0 {
		return value, nil
	}
	switch s := steps[0].(type) {
	case property:
		if rawjson.KindOf(doc) != rawjson.Object {
			return nil, ErrConflict
		}
		inner, ok := rawjson.Get(doc, s.name)
		if !ok {
			inner = []byte("{}")
		}
		inner, err := put(steps[1:], inner, value)
		if err != nil {
			return nil, err
		}
		return rawjson.With(doc, s.name, inner), nil
	case index:
		inner, ok := rawjson.Index(doc, s.n)
		if !ok {
			return nil, ErrConflict
		}
		inner, err := put(steps[1:], inner, value)
		if err != nil {
			return nil, err
		}
		out, _ := rawjson.WithIndex(doc, s.n, inner)
		return out, nil
	}
	return nil, ErrConflict
}

// Blocked returns the first step of a reference path that leads nowhere in the
// document, as it is written; the last one if all lead somewhere.
func (p *Path) Blocked(doc []byte) string {
	name := ""
	for _, s := range p.steps {
		ok := false
		switch s := s.(type) {
		case property:
			name = s.name
			doc, ok = rawjson.Get(doc, s.name)
		case index:
			name = strconv.Itoa(s.n)
			doc, ok = rawjson.Index(doc, s.n)
		default:
			name = s.fragment()
		}
		if !ok {
			break
		}
	}
	return name
}

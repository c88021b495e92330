package jsonpath

import (
	"errors"

	"github.com/outerloop-dev/outerloop/pkg/asl/internal/rawjson"
)

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
	if missing := (*NotFoundError)(nil); errors.As(err, &missing) {
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

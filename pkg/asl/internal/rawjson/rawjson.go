// Package rawjson works on JSON text without decoding it: it brings text into
// one canonical form and then reads, compares and edits that form in place.
//
// Canonical text has no white space between tokens, no duplicate keys, and
// strings with the fewest escapes, so that equal strings are equal bytes.
// Everything but Normalize requires canonical text and does not check it.
package rawjson

import (
	"bytes"
	"iter"
)

// Null is the JSON null.
var Null = []byte("null")

// Kind tells JSON values apart.
type Kind byte

// The kinds of JSON values.
const (
	Invalid Kind = iota
	NullKind
	Bool
	Number
	String
	Array
	Object
)

// KindOf returns the kind of a canonical value; Invalid for empty text.
func KindOf(v []byte) Kind {
	if len(v) == 0 {
		return Invalid
	}
	switch v[0] {
	case '{':
		return Object
	case '[':
		return Array
	case '"':
		return String
	case 't', 'f':
		return Bool
	case 'n':
		return NullKind
	}
	return Number
}

// skip returns the offset just behind the value that begins at i.
func skip(b []byte, i int) int {
	switch b[i] {
	case '"':
		return skipString(b, i)
	case '{', '[':
		return skipNested(b, i)
	}
	for i < len(b) && b[i] != ',' && b[i] != ']' && b[i] != '}' {
		i++
	}
	return i
}

func skipString(b []byte, i int) int {
	i++
	for {
		q := bytes.IndexByte(b[i:], '"')
		if q < 0 {
			return len(b)
		}
		end := i + q
		back := end
		for back > i && b[back-1] == '\\' {
			back--
		}
		if (end-back)%2 == 0 {
			return end + 1
		}
		i = end + 1
	}
}

func skipNested(b []byte, i int) int {
	depth := 0
	for i < len(b) {
		switch b[i] {
		case '"':
			i = skipString(b, i)
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
			if depth == 0 {
				return i + 1
			}
		}
		i++
	}
	return i
}

// Members iterates over the members of an object in order. Keys are quoted
// text. For anything but an object it yields nothing.
func Members(obj []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func([]byte, []byte) bool) {
		if KindOf(obj) != Object || len(obj) < 3 {
			return
		}
		i := 1
		for i < len(obj) {
			k := skipString(obj, i)
			v := skip(obj, k+1)
			if !yield(obj[i:k:k], obj[k+1:v:v]) || obj[v] == '}' {
				return
			}
			i = v + 1
		}
	}
}

// Elements iterates over the elements of an array in order. For anything but
// an array it yields nothing.
func Elements(arr []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		if KindOf(arr) != Array || len(arr) < 3 {
			return
		}
		i := 1
		for i < len(arr) {
			v := skip(arr, i)
			if !yield(arr[i:v:v]) || arr[v] == ']' {
				return
			}
			i = v + 1
		}
	}
}

// Get returns the member of an object with the given key, unquoted.
func Get(obj []byte, key string) ([]byte, bool) {
	if KindOf(obj) != Object || len(obj) < 3 {
		return nil, false
	}
	plain := isPlain(key)
	quoted := ""
	if !plain {
		quoted = string(AppendString(nil, key))
	}
	for i := 1; i < len(obj); {
		k := skipString(obj, i)
		var hit bool
		if plain {
			hit = string(obj[i+1:k-1]) == key
		} else {
			hit = string(obj[i:k]) == quoted
		}
		v := skip(obj, k+1)
		if hit {
			return obj[k+1 : v : v], true
		}
		if obj[v] == '}' {
			break
		}
		i = v + 1
	}
	return nil, false
}

// Index returns element n of an array, counted from 0.
func Index(arr []byte, n int) ([]byte, bool) {
	i := 0
	for v := range Elements(arr) {
		if i == n {
			return v, true
		}
		i++
	}
	return nil, false
}

// Len returns the number of elements or members.
func Len(v []byte) int {
	n := 0
	switch KindOf(v) {
	case Array:
		for range Elements(v) {
			n++
		}
	case Object:
		for range Members(v) {
			n++
		}
	}
	return n
}

// Split returns the elements of an array.
func Split(arr []byte) [][]byte {
	var out [][]byte
	for v := range Elements(arr) {
		out = append(out, v)
	}
	return out
}

// Join returns the array of the given elements.
func Join(elements [][]byte) []byte {
	size := 2 + len(elements)
	for _, e := range elements {
		size += len(e)
	}
	out := append(make([]byte, 0, size), '[')
	for i, e := range elements {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, e...)
	}
	return append(out, ']')
}

// With returns a copy of the object in which the key has the value; a new key
// comes last.
func With(obj []byte, key string, value []byte) []byte {
	out := make([]byte, 0, len(obj)+len(key)+len(value)+8)
	out = append(out, '{')
	quoted := AppendString(nil, key)
	found := false
	for k, v := range Members(obj) {
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(out, k...), ':')
		if bytes.Equal(k, quoted) {
			found = true
			v = value
		}
		out = append(out, v...)
	}
	if !found {
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(append(out, quoted...), ':'), value...)
	}
	return append(out, '}')
}

// WithIndex returns a copy of the array in which element n has the value. It
// reports false if there is no such element.
func WithIndex(arr []byte, n int, value []byte) ([]byte, bool) {
	elements := Split(arr)
	if n < 0 || n >= len(elements) {
		return nil, false
	}
	elements[n] = value
	return Join(elements), true
}

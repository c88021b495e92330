package asl

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/outerloop-dev/outerloop/pkg/asl/internal/rawjson"
)

// Member is one member of an Object. Value is anything that encoding/json can
// encode, an Object or a List.
type Member struct {
	Name  string
	Value any
}

// Object is a JSON object whose members keep their order: what definitions are
// built of. The zero Object is {}.
type Object []Member

// List is a JSON array.
type List []any

// Add returns the object with one more member.
func (o Object) Add(name string, value any) Object { return append(o, Member{name, value}) }

// AddIf is Add if the condition holds.
func (o Object) AddIf(condition bool, name string, value any) Object {
	if !condition {
		return o
	}
	return o.Add(name, value)
}

// MarshalJSON returns the object with its members in order. A name twice is an
// error.
func (o Object) MarshalJSON() ([]byte, error) { return appendValue(nil, o) }

// MarshalJSON returns the array.
func (l List) MarshalJSON() ([]byte, error) { return appendValue(nil, l) }

func appendValue(dst []byte, v any) ([]byte, error) {
	var err error
	switch v := v.(type) {
	case Object:
		seen := make(map[string]bool, len(v))
		dst = append(dst, '{')
		for i, m := range v {
			if seen[m.Name] {
				return nil, fmt.Errorf("encoding object: member %q comes twice", m.Name)
			}
			seen[m.Name] = true
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(rawjson.AppendString(dst, m.Name), ':')
			if dst, err = appendValue(dst, m.Value); err != nil {
				return nil, err
			}
		}
		return append(dst, '}'), nil
	case List:
		dst = append(dst, '[')
		for i, e := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			if dst, err = appendValue(dst, e); err != nil {
				return nil, err
			}
		}
		return append(dst, ']'), nil
	case string:
		return rawjson.AppendString(dst, v), nil
	case int:
		return strconv.AppendInt(dst, int64(v), 10), nil
	case nil:
		return append(dst, rawjson.Null...), nil
	}
	return appendOther(dst, v)
}

func appendOther(dst []byte, v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("encoding value: %w", err)
	}
	text, err := rawjson.Normalize(b.Bytes())
	if err != nil {
		return nil, fmt.Errorf("encoding value: %w", err)
	}
	return append(dst, text...), nil
}

// lineWidth is how long a line of an encoded definition may be before what is
// on it is spread over several.
const lineWidth = 100

// usualSize is the size of most definitions, in bytes: the first guess of a buffer.
const usualSize = 32 << 10

// Encode returns a definition as JSON text for people: members in the order
// given, two spaces for each level, what is short on one line, a newline at the
// end. The same value gives the same bytes.
func Encode(v Object) ([]byte, error) {
	text, err := appendValue(make([]byte, 0, usualSize), v)
	if err != nil {
		return nil, err
	}
	return append(layout(make([]byte, 0, len(text)+len(text)/2), text, 0, 0), '\n'), nil
}

// Format returns JSON text in the form of Encode. Errors are those of JSON that
// cannot be read, and duplicate keys.
func Format(text []byte) ([]byte, error) {
	v, err := rawjson.NormalizeStrict(text)
	if err != nil {
		return nil, err
	}
	return append(layout(make([]byte, 0, len(v)+len(v)/2), v, 0, 0), '\n'), nil
}

// layout appends a canonical value. column is how much of the line is used
// before it.
func layout(dst, v []byte, depth, column int) []byte {
	kind := rawjson.KindOf(v)
	short := depth > 0 && len(v) <= utf8.UTFMax*lineWidth && 2*depth+column+utf8.RuneCount(v)+rawjson.Len(v) <= lineWidth
	if kind != rawjson.Object && kind != rawjson.Array || len(v) == 2 || short {
		return appendSpaced(dst, v)
	}
	dst = append(dst, v[0])
	first := true
	next := func() {
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = appendLine(dst, depth+1)
	}
	for e := range rawjson.Elements(v) {
		next()
		dst = layout(dst, e, depth+1, 0)
	}
	for k, e := range rawjson.Members(v) {
		next()
		dst = append(append(dst, k...), ": "...)
		dst = layout(dst, e, depth+1, utf8.RuneCount(k)+2)
	}
	return append(appendLine(dst, depth), v[len(v)-1])
}

func appendLine(dst []byte, depth int) []byte {
	dst = append(dst, '\n')
	for range depth {
		dst = append(dst, "  "...)
	}
	return dst
}

// appendSpaced appends a value on one line with a space behind commas and
// colons.
func appendSpaced(dst, v []byte) []byte {
	switch rawjson.KindOf(v) {
	case rawjson.Object:
		dst = append(dst, '{')
		first := true
		for k, e := range rawjson.Members(v) {
			if !first {
				dst = append(dst, ", "...)
			}
			first = false
			dst = append(append(dst, k...), ": "...)
			dst = appendSpaced(dst, e)
		}
		return append(dst, '}')
	case rawjson.Array:
		dst = append(dst, '[')
		first := true
		for e := range rawjson.Elements(v) {
			if !first {
				dst = append(dst, ", "...)
			}
			first = false
			dst = appendSpaced(dst, e)
		}
		return append(dst, ']')
	}
	return append(dst, v...)
}

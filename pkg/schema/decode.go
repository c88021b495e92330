package schema

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// MaxDepth is how deep lists and objects may nest in a decoded document.
const MaxDepth = 100

const (
	keywordJSON = "json"
	intRange    = "is outside the range of whole numbers (-9223372036854775808 to 9223372036854775807)"
)

// Decode reads exactly one JSON value, strictly: duplicate keys, invalid UTF-8, unpaired surrogates, NaN, trailing text,
// nesting over MaxDepth and numbers that neither int64 nor float64 can hold are faults. Integer literals become int64,
// other numbers float64, the rest what encoding/json gives. It does not limit the document's size.
// After a syntax error it stops; all other faults are collected. The value is nil when there are faults.
func Decode(raw []byte) (any, []Fault) {
	d := &decoder{src: raw}
	if at := invalidUTF8(raw); at >= 0 {
		return nil, []Fault{{Keyword: keywordJSON, Message: fmt.Sprintf("is not valid UTF-8 (at byte %d)", at)}}
	}
	d.space()
	v, ok := d.value()
	if ok {
		d.space()
		if d.pos < len(d.src) {
			d.syntax("has text after the end of the JSON value")
		}
	}
	if len(d.faults) > 0 {
		return nil, sorted(d.faults)
	}
	return v, nil
}

func invalidUTF8(raw []byte) int {
	if utf8.Valid(raw) {
		return -1
	}
	for at := 0; at < len(raw); {
		r, size := utf8.DecodeRune(raw[at:])
		if r == utf8.RuneError && size == 1 {
			return at
		}
		at += size
	}
	return -1
}

type decoder struct {
	src    []byte
	pos    int
	path   []string
	faults []Fault
}

func (d *decoder) fault(message string) {
	d.faults = append(d.faults, Fault{Path: Pointer(d.path...), Keyword: keywordJSON, Message: message})
}

// syntax reports an error after which the rest cannot be read.
func (d *decoder) syntax(message string) bool {
	d.fault(fmt.Sprintf("%s (at byte %d)", message, d.pos))
	return false
}

func (d *decoder) space() {
	for d.pos < len(d.src) {
		switch d.src[d.pos] {
		case ' ', '\t', '\n', '\r':
			d.pos++
		default:
			return
		}
	}
}

func (d *decoder) peek() byte {
	if d.pos < len(d.src) {
		return d.src[d.pos]
	}
	return 0
}

func (d *decoder) value() (any, bool) {
	if d.pos >= len(d.src) {
		return nil, d.syntax("is cut off: a JSON value is missing")
	}
	switch c := d.src[d.pos]; {
	case c == '{':
		return d.object()
	case c == '[':
		return d.list()
	case c == '"':
		return d.text()
	case c == '-' || c >= '0' && c <= '9':
		return d.number()
	}
	return d.word()
}

func (d *decoder) word() (any, bool) {
	rest := string(d.src[d.pos:min(d.pos+9, len(d.src))])
	for _, w := range []struct {
		text  string
		value any
	}{{"true", true}, {"false", false}, {"null", nil}} {
		if strings.HasPrefix(rest, w.text) {
			d.pos += len(w.text)
			return w.value, true
		}
	}
	for _, w := range []string{"NaN", "Infinity"} {
		if strings.HasPrefix(rest, w) {
			return nil, d.syntax(w + " is not a JSON number")
		}
	}
	return nil, d.syntax("is not valid JSON: expected a value")
}

func (d *decoder) object() (any, bool) {
	if len(d.path) >= MaxDepth {
		return nil, d.syntax(fmt.Sprintf("nests deeper than %d levels", MaxDepth))
	}
	d.pos++
	out := map[string]any{}
	d.space()
	if d.peek() == '}' {
		d.pos++
		return out, true
	}
	for {
		if !d.member(out) {
			return nil, false
		}
		switch d.peek() {
		case ',':
			d.pos++
			d.space()
		case '}':
			d.pos++
			return out, true
		default:
			return nil, d.syntax("is not valid JSON: expected , or } in an object")
		}
	}
}

func (d *decoder) member(out map[string]any) bool {
	if d.peek() != '"' {
		return d.syntax("is not valid JSON: expected a key in double quotes")
	}
	k, ok := d.text()
	if !ok {
		return false
	}
	key := k.(string)
	d.space()
	if d.peek() != ':' {
		return d.syntax("is not valid JSON: expected : after a key")
	}
	d.pos++
	d.space()
	d.path = append(d.path, key)
	if _, twice := out[key]; twice {
		d.fault("appears twice in its object")
	}
	v, ok := d.value()
	d.path = d.path[:len(d.path)-1]
	out[key] = v
	d.space()
	return ok
}

func (d *decoder) list() (any, bool) {
	if len(d.path) >= MaxDepth {
		return nil, d.syntax(fmt.Sprintf("nests deeper than %d levels", MaxDepth))
	}
	d.pos++
	out := []any{}
	d.space()
	if d.peek() == ']' {
		d.pos++
		return out, true
	}
	for {
		d.path = append(d.path, strconv.Itoa(len(out)))
		v, ok := d.value()
		d.path = d.path[:len(d.path)-1]
		if !ok {
			return nil, false
		}
		out = append(out, v)
		d.space()
		switch d.peek() {
		case ',':
			d.pos++
			d.space()
		case ']':
			d.pos++
			return out, true
		default:
			return nil, d.syntax("is not valid JSON: expected , or ] in a list")
		}
	}
}

func (d *decoder) number() (any, bool) {
	start := d.pos
	if d.peek() == '-' {
		d.pos++
	}
	if strings.HasPrefix(string(d.src[d.pos:min(d.pos+8, len(d.src))]), "Infinity") {
		return nil, d.syntax("Infinity is not a JSON number")
	}
	digits := d.digits()
	if digits == 0 || digits > 1 && d.src[d.pos-digits] == '0' {
		return nil, d.syntax("is not a JSON number")
	}
	whole := true
	if d.peek() == '.' {
		whole = false
		d.pos++
		if d.digits() == 0 {
			return nil, d.syntax("is not a JSON number: digits must follow the point")
		}
	}
	if c := d.peek(); c == 'e' || c == 'E' {
		whole = false
		d.pos++
		if c := d.peek(); c == '+' || c == '-' {
			d.pos++
		}
		if d.digits() == 0 {
			return nil, d.syntax("is not a JSON number: digits must follow the exponent")
		}
	}
	return d.convert(string(d.src[start:d.pos]), whole), true
}

func (d *decoder) convert(text string, whole bool) any {
	if whole {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			d.fault(intRange)
		}
		return n
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(f, 0) {
		d.fault("is a number too large to hold (about 1.8e308 at most)")
	}
	return f
}

func (d *decoder) digits() int {
	start := d.pos
	for c := d.peek(); c >= '0' && c <= '9'; c = d.peek() {
		d.pos++
	}
	return d.pos - start
}

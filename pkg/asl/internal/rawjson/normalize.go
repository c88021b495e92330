package rawjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

// MaxDepth is how deeply arrays and objects may nest.
const MaxDepth = 500

// ErrDepth says that a value nests too deeply.
var ErrDepth = fmt.Errorf("rawjson: nested more than %d deep", MaxDepth)

// DuplicateError says that an object has a key twice.
type DuplicateError struct {
	// Path is where the object stands, as in /States/A.
	Path string
	Key  string
}

// Error names key and place.
func (e *DuplicateError) Error() string {
	return fmt.Sprintf("duplicate key %q at %s", e.Key, e.Path)
}

// Normalize returns the canonical form of JSON text in memory of its own. Of
// duplicate keys the last value wins and the first place.
func Normalize(text []byte) ([]byte, error) {
	return NormalizeWithin(text, MaxDepth)
}

// NormalizeWithin is Normalize of text that may nest as deeply as is said: of
// what holds values that nest up to MaxDepth themselves.
func NormalizeWithin(text []byte, depth int) ([]byte, error) {
	n := normalizer{in: text, out: make([]byte, 0, len(text)), most: depth}
	return n.run()
}

// Deeper tells whether canonical text nests more deeply than MaxDepth.
func Deeper(text []byte) bool {
	if len(text) < 2*MaxDepth {
		return false
	}
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if depth++; depth > MaxDepth {
				return true
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return false
}

// NormalizeStrict is Normalize, but duplicate keys are errors, joined.
func NormalizeStrict(text []byte) ([]byte, error) {
	n := normalizer{in: text, out: make([]byte, 0, len(text)), most: MaxDepth, strict: true}
	out, err := n.run()
	if err == nil && n.duplicates != nil {
		err = errors.Join(n.duplicates...)
	}
	return out, err
}

type normalizer struct {
	in         []byte
	out        []byte
	i          int
	depth      int
	most       int
	strict     bool
	path       []string
	duplicates []error
}

func (n *normalizer) run() ([]byte, error) {
	if !utf8.Valid(n.in) {
		n.in = []byte(string([]rune(string(n.in)))) // U+FFFD for each invalid byte
	}
	if err := n.value(); err != nil {
		return nil, err
	}
	n.space()
	if n.i < len(n.in) {
		return nil, n.unexpected()
	}
	return n.out, nil
}

func (n *normalizer) space() {
	for n.i < len(n.in) {
		switch n.in[n.i] {
		case ' ', '\n', '\r', '\t':
			n.i++
		default:
			return
		}
	}
}

func (n *normalizer) unexpected() error {
	if n.i >= len(n.in) {
		return errors.New("rawjson: unexpected end of JSON text")
	}
	r, _ := utf8.DecodeRune(n.in[n.i:])
	return fmt.Errorf("rawjson: unexpected %q at offset %d", r, n.i)
}

func (n *normalizer) peek() byte {
	n.space()
	if n.i < len(n.in) {
		return n.in[n.i]
	}
	return 0
}

func (n *normalizer) value() error {
	switch c := n.peek(); {
	case c == '{' || c == '[':
		n.depth++
		if n.depth > n.most {
			return ErrDepth
		}
		var err error
		if c == '{' {
			err = n.object()
		} else {
			err = n.array()
		}
		n.depth--
		return err
	case c == '"':
		return n.str()
	case c == '-' || c >= '0' && c <= '9':
		return n.number()
	}
	for _, word := range []string{"null", "true", "false"} {
		if bytes.HasPrefix(n.in[n.i:], []byte(word)) {
			n.i += len(word)
			n.out = append(n.out, word...)
			return nil
		}
	}
	return n.unexpected()
}

func (n *normalizer) array() error {
	n.i++
	n.out = append(n.out, '[')
	if n.peek() == ']' {
		n.i++
		n.out = append(n.out, ']')
		return nil
	}
	for index := 0; ; index++ {
		if n.strict {
			n.path = append(n.path, fmt.Sprintf("[%d]", index))
		}
		if err := n.value(); err != nil {
			return err
		}
		if n.strict {
			n.path = n.path[:len(n.path)-1]
		}
		c := n.peek()
		if c != ',' && c != ']' {
			return n.unexpected()
		}
		n.i++
		n.out = append(n.out, c)
		if c == ']' {
			return nil
		}
	}
}

func (n *normalizer) str() error {
	start := n.i
	end, escaped, ok := scanString(n.in, start)
	if !ok {
		n.i = end
		return n.unexpected()
	}
	n.i = end
	if !escaped {
		n.out = append(n.out, n.in[start:end]...)
		return nil
	}
	var s string
	if err := json.Unmarshal(n.in[start:end], &s); err != nil {
		return fmt.Errorf("rawjson: string at offset %d: %w", start, err)
	}
	n.out = AppendString(n.out, s)
	return nil
}

// scanString finds the end of the string that begins at i. It is not ok at a
// control character or at the end of the text.
func scanString(b []byte, i int) (end int, escaped, ok bool) {
	for i++; i < len(b); i++ {
		switch c := b[i]; {
		case c == '"':
			return i + 1, escaped, true
		case c == '\\':
			escaped = true
			i++
		case c < 0x20:
			return i, escaped, false
		}
	}
	return len(b), escaped, false
}

func (n *normalizer) number() error {
	start := n.i
	for n.i < len(n.in) {
		c := n.in[n.i]
		if c >= '0' && c <= '9' || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E' {
			n.i++
			continue
		}
		break
	}
	if !validNumber(n.in[start:n.i]) {
		return fmt.Errorf("rawjson: invalid number at offset %d", start)
	}
	n.out = append(n.out, n.in[start:n.i]...)
	return nil
}

func validNumber(b []byte) bool {
	if len(b) > 0 && b[0] == '-' {
		b = b[1:]
	}
	digits := func() int {
		k := 0
		for k < len(b) && b[k] >= '0' && b[k] <= '9' {
			k++
		}
		b = b[k:]
		return k
	}
	zero := len(b) > 0 && b[0] == '0'
	if k := digits(); k == 0 || zero && k > 1 {
		return false
	}
	if len(b) > 0 && b[0] == '.' {
		b = b[1:]
		if digits() == 0 {
			return false
		}
	}
	if len(b) > 0 && (b[0] == 'e' || b[0] == 'E') {
		b = b[1:]
		if len(b) > 0 && (b[0] == '+' || b[0] == '-') {
			b = b[1:]
		}
		if digits() == 0 {
			return false
		}
	}
	return len(b) == 0
}

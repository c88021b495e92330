package schema

import (
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

func (d *decoder) text() (any, bool) {
	d.pos++
	start := d.pos
	for d.pos < len(d.src) {
		switch c := d.src[d.pos]; {
		case c == '"':
			s := string(d.src[start:d.pos])
			d.pos++
			return s, true
		case c == '\\':
			return d.escaped(start)
		case c < ' ':
			return nil, d.syntax("has a control character inside a string; write it as an escape such as \\n")
		}
		d.pos++
	}
	return nil, d.syntax("is cut off inside a string")
}

func (d *decoder) escaped(start int) (any, bool) {
	buf := append(make([]byte, 0, 2*(d.pos-start)+16), d.src[start:d.pos]...)
	for d.pos < len(d.src) {
		c := d.src[d.pos]
		switch {
		case c == '"':
			d.pos++
			return string(buf), true
		case c == '\\':
			var ok bool
			if buf, ok = d.escape(buf); !ok {
				return nil, false
			}
			continue
		case c < ' ':
			return nil, d.syntax("has a control character inside a string; write it as an escape such as \\n")
		}
		buf = append(buf, c)
		d.pos++
	}
	return nil, d.syntax("is cut off inside a string")
}

var shortEscapes = map[byte]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

func (d *decoder) escape(buf []byte) ([]byte, bool) {
	d.pos++
	c := d.peek()
	if short, ok := shortEscapes[c]; ok {
		d.pos++
		return append(buf, short), true
	}
	if c != 'u' {
		return nil, d.syntax("has an unknown escape in a string")
	}
	r, ok := d.hex()
	if !ok {
		return nil, false
	}
	if utf16.IsSurrogate(r) {
		if d.peek() == '\\' && d.pos+1 < len(d.src) && d.src[d.pos+1] == 'u' {
			d.pos++
			low, ok := d.hex()
			if !ok {
				return nil, false
			}
			if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
				return utf8.AppendRune(buf, pair), true
			}
		}
		return nil, d.syntax("has half of a surrogate pair in a string")
	}
	return utf8.AppendRune(buf, r), true
}

// hex reads the u and four hex digits of an escape.
func (d *decoder) hex() (rune, bool) {
	if d.pos+5 > len(d.src) {
		return 0, d.syntax("is cut off inside a string escape")
	}
	n, err := strconv.ParseUint(string(d.src[d.pos+1:d.pos+5]), 16, 32)
	if err != nil {
		return 0, d.syntax("has a \\u escape without four hex digits")
	}
	d.pos += 5
	return rune(n), true
}

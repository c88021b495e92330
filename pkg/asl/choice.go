package asl

import (
	"fmt"
	"strings"

	"github.com/outerloop-dev/outerloop/pkg/asl/internal/rawjson"
)

// test is a compiled choice rule.
type test interface {
	holds(s *scope) (bool, error)
	// variables calls fn for every variable that the rule reads.
	variables(fn func(string))
}

type (
	allOf []test
	anyOf []test
	not   struct{ inner test }
)

func (a allOf) holds(s *scope) (bool, error) {
	for _, t := range a {
		if ok, err := t.holds(s); !ok || err != nil {
			return false, err
		}
	}
	return true, nil
}

func (a anyOf) holds(s *scope) (bool, error) {
	for _, t := range a {
		if ok, err := t.holds(s); ok || err != nil {
			return ok, err
		}
	}
	return false, nil
}

func (n not) holds(s *scope) (bool, error) {
	ok, err := n.inner.holds(s)
	return !ok, err
}

func (a allOf) variables(fn func(string)) {
	for _, t := range a {
		t.variables(fn)
	}
}

func (a anyOf) variables(fn func(string)) { allOf(a).variables(fn) }
func (n not) variables(fn func(string))   { n.inner.variables(fn) }

// kindTest is IsNull, IsString and the like; present is IsPresent.
type kindTest struct {
	subject expression
	is      func(v []byte) bool
	present bool
	want    bool
}

func (k kindTest) holds(s *scope) (bool, error) {
	v, err := k.subject.eval(s)
	if k.present {
		return (err == nil && !foundNothing(k.subject, v)) == k.want, nil
	}
	if err != nil {
		return false, absentVariable(k.subject)
	}
	return k.is(v) == k.want, nil
}

// foundNothing reports whether a path that may find several values found none.
func foundNothing(e expression, v []byte) bool {
	p, ok := e.(*pathExpression)
	return ok && !p.path.Definite() && string(v) == "[]"
}

func (k kindTest) variables(fn func(string)) { k.subject.variables(fn) }

func absentVariable(e expression) error {
	return fmt.Errorf("Invalid path '%s': The choice state's condition path references an invalid value.", e)
}

// valueTest compares a value with a literal or with another value.
type valueTest struct {
	subject expression
	compare func(v, with []byte) bool
	literal []byte
	path    expression
}

func (c valueTest) holds(s *scope) (bool, error) {
	v, err := c.subject.eval(s)
	if err != nil {
		return false, absentVariable(c.subject)
	}
	with := c.literal
	if c.path != nil {
		if with, err = c.path.eval(s); err != nil {
			return false, absentVariable(c.path)
		}
	}
	return c.compare(v, with), nil
}

func (c valueTest) variables(fn func(string)) {
	c.subject.variables(fn)
	if c.path != nil {
		c.path.variables(fn)
	}
}

// matchTest is StringMatches: * stands for anything, \* for itself.
type matchTest struct {
	subject expression
	parts   []string // what stands between the stars
}

func (m matchTest) holds(s *scope) (bool, error) {
	v, err := m.subject.eval(s)
	if err != nil {
		return false, absentVariable(m.subject)
	}
	return rawjson.KindOf(v) == rawjson.String && matchParts(rawjson.Text(v), m.parts), nil
}

func (m matchTest) variables(fn func(string)) { m.subject.variables(fn) }

func matchParts(s string, parts []string) bool {
	if len(parts) == 1 {
		return s == parts[0]
	}
	rest, ok := strings.CutPrefix(s, parts[0])
	if !ok {
		return false
	}
	last := len(parts) - 1
	for _, p := range parts[1:last] {
		_, after, ok := strings.Cut(rest, p)
		if !ok {
			return false
		}
		rest = after
	}
	return strings.HasSuffix(rest, parts[last])
}

// splitPattern reads a StringMatches pattern.
func splitPattern(pattern string) ([]string, error) {
	var parts []string
	var part strings.Builder
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; c {
		case '*':
			parts = append(parts, part.String())
			part.Reset()
		case '\\':
			i++
			if i == len(pattern) || pattern[i] != '*' && pattern[i] != '\\' {
				return nil, fmt.Errorf("a backslash must stand before * or \\")
			}
			part.WriteByte(pattern[i])
		default:
			part.WriteByte(c)
		}
	}
	return append(parts, part.String()), nil
}

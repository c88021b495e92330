// Package jsonpath parses JSONPath expressions and evaluates them on canonical
// JSON text (package rawjson). It follows the dialect of the Java library that
// Step Functions uses, including the words of its errors.
package jsonpath

import (
	"strconv"
	"strings"
)

// Path is a parsed expression. It is immutable.
type Path struct {
	text  string
	steps []step
	// definite is true when the path can lead to one value only.
	definite bool
	// function is the aggregate applied to the result, nil for none.
	function function
}

// step is one part of a path behind the root.
type step interface {
	// apply walks from the value to what the step selects and goes on with
	// the steps behind it.
	apply(w *walk, at int, value []byte) error
	// definite reports whether the step leads to one value only.
	definite() bool
	// fragment is the step's normal form, as in ['name'].
	fragment() string
}

type (
	property   struct{ name string }
	properties struct{ names []string }
	index      struct{ n int }
	indexes    struct{ n []int }
	slice      struct{ from, to *int }
	wildcard   struct{}
	scan       struct{}
	filter     struct {
		text string
		test condition
	}
)

func (property) definite() bool   { return true }
func (properties) definite() bool { return true }
func (index) definite() bool      { return true }
func (indexes) definite() bool    { return false }
func (slice) definite() bool      { return false }
func (wildcard) definite() bool   { return false }
func (scan) definite() bool       { return false }
func (filter) definite() bool     { return false }

func (s property) fragment() string   { return "['" + s.name + "']" }
func (s properties) fragment() string { return "['" + strings.Join(s.names, "','") + "']" }
func (s index) fragment() string      { return "[" + strconv.Itoa(s.n) + "]" }
func (wildcard) fragment() string     { return "[*]" }
func (scan) fragment() string         { return ".." }
func (s filter) fragment() string     { return "[?(" + s.text + ")]" }

func (s indexes) fragment() string {
	parts := make([]string, len(s.n))
	for i, n := range s.n {
		parts[i] = strconv.Itoa(n)
	}
	return "[" + strings.Join(parts, ",") + "]"
}

func (s slice) fragment() string {
	var b strings.Builder
	b.WriteByte('[')
	if s.from != nil {
		b.WriteString(strconv.Itoa(*s.from))
	}
	b.WriteByte(':')
	if s.to != nil {
		b.WriteString(strconv.Itoa(*s.to))
	}
	b.WriteByte(']')
	return b.String()
}

// String returns the path as written.
func (p *Path) String() string { return p.text }

// Definite reports whether the path leads to one value; an indefinite path
// gives an array of what it finds.
func (p *Path) Definite() bool { return p.definite && p.function == nil }

// IsRoot reports whether the path is the bare root.
func (p *Path) IsRoot() bool { return len(p.steps) == 0 && p.function == nil }

// IsReference reports whether the path names one node by names and
// non-negative indexes only, so that a value can be put there.
func (p *Path) IsReference() bool {
	if p.function != nil {
		return false
	}
	for _, s := range p.steps {
		switch s := s.(type) {
		case property:
		case index:
			if s.n < 0 {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// normal returns the normal form of the first n steps.
func (p *Path) normal(n int) string {
	var b strings.Builder
	b.WriteByte('$')
	for _, s := range p.steps[:n] {
		b.WriteString(s.fragment())
	}
	return b.String()
}

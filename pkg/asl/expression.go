package asl

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/outerloop-dev/outerloop/pkg/asl/internal/jsonpath"
	"github.com/outerloop-dev/outerloop/pkg/asl/internal/rawjson"
)

// expression is a compiled path or intrinsic function.
type expression interface {
	// eval gives a canonical JSON value. Errors are *jsonpath.NotFoundError
	// or *intrinsicError or say what else went wrong.
	eval(s *scope) ([]byte, error)
	// String returns the expression as written.
	String() string
	// variables calls fn for every variable that the expression reads.
	variables(fn func(name string))
}

// source is what a path reads.
type source byte

const (
	fromInput source = iota
	fromContext
	fromVariable
)

// pathExpression is $…, $$… or $variable….
type pathExpression struct {
	text     string
	source   source
	variable string
	path     *jsonpath.Path
}

// String returns the path as written.
func (e *pathExpression) String() string { return e.text }

// own returns the path as seen from what it reads: that of the context object
// with one dollar sign.
func (e *pathExpression) own() string {
	if e.source == fromContext {
		return e.text[1:]
	}
	return e.text
}

func (e *pathExpression) variables(fn func(string)) {
	if e.source == fromVariable {
		fn(e.variable)
	}
}

func (e *pathExpression) eval(s *scope) ([]byte, error) {
	switch e.source {
	case fromContext:
		return e.path.Eval(s.contextObject())
	case fromVariable:
		v, ok := s.variable(e.variable)
		if !ok {
			return nil, &jsonpath.NotFoundError{Reason: fmt.Sprintf("Variable '%s' has no value", e.variable)}
		}
		return e.path.Eval(v)
	}
	return e.path.Eval(s.input)
}

// parsePath reads $…, $$… or $variable….
func parsePath(text string) (*pathExpression, error) {
	e := &pathExpression{text: text}
	rest := text
	switch {
	case strings.HasPrefix(text, "$$"):
		e.source, rest = fromContext, text[1:]
	case len(text) > 1 && text[0] == '$' && isNameStart(firstRune(text[1:])):
		e.source = fromVariable
		n := nameLength(text[1:])
		e.variable, rest = text[1:1+n], "$"+text[1+n:]
	case strings.HasPrefix(text, "$"):
	default:
		return nil, fmt.Errorf("invalid path %q: must begin with $", text)
	}
	var err error
	e.path, err = jsonpath.Parse(rest)
	return e, err
}

// parseExpression reads a path or an intrinsic function.
func parseExpression(text string) (expression, error) {
	if strings.HasPrefix(text, "States.") {
		return parseIntrinsic(text)
	}
	return parsePath(text)
}

func firstRune(s string) rune {
	for _, r := range s {
		return r
	}
	return 0
}

func isNameStart(r rune) bool { return r == '_' || unicode.IsLetter(r) }

func isNamePart(r rune) bool {
	return isNameStart(r) || unicode.IsDigit(r) || unicode.Is(unicode.Mn, r)
}

func nameLength(s string) int {
	for i, r := range s {
		if i == 0 && !isNameStart(r) || !isNamePart(r) {
			return i
		}
	}
	return len(s)
}

// validVariable reports whether a name can be assigned to.
func validVariable(name string) bool {
	return name != "" && nameLength(name) == len(name) && len([]rune(name)) <= MaxName && name != "states"
}

// scope is what expressions read: the input, the context object, variables and
// the randomness of the transition.
type scope struct {
	input   []byte
	flow    *flow
	run     *transition
	item    []byte // Map.Item of an ItemSelector
	token   string // Task.Token
	context []byte // built when first needed
}

func (s *scope) variable(name string) ([]byte, bool) {
	for f := s.flow; f != nil; f = f.parent {
		for i := range f.Vars {
			if f.Vars[i].Name == name {
				return f.Vars[i].Value, true
			}
		}
	}
	return nil, false
}

func (s *scope) contextObject() []byte {
	if s.context == nil {
		s.context = s.run.contextObject(s)
	}
	return s.context
}

// isNull reports whether the input is null, which paths of templates refuse.
func (s *scope) isNull() bool { return rawjson.KindOf(s.input) == rawjson.NullKind }

package asl

import (
	"errors"
	"fmt"
	"strings"

	"github.com/outerloop-dev/outerloop/pkg/asl/internal/jsonpath"
	"github.com/outerloop-dev/outerloop/pkg/asl/internal/rawjson"
)

// template is a compiled payload template: JSON in which the value of a key
// that ends in .$ is an expression. Only what is dynamic is kept as a tree.
type template struct {
	literal []byte // set when nothing in it is dynamic
	fields  []templateField
	items   []*template
	isArray bool
	expr    expression
	key     string // of expr, as written
}

// maxTemplate is how large a value may get while a template is evaluated; what
// is over MaxPayload is refused where it is used.
const maxTemplate = 2 * MaxPayload

var errTooLarge = errors.New("the payload is too large")

type templateField struct {
	quoted []byte // the key in the output
	value  *template
}

// append appends the template's value to dst.
func (t *template) append(dst []byte, s *scope) ([]byte, error) {
	switch {
	case t.literal != nil:
		return append(dst, t.literal...), nil
	case t.expr != nil:
		v, err := s.parameter(t.expr, t.key)
		if err == nil && len(dst)+len(v) > maxTemplate {
			err = errTooLarge
		}
		if err != nil {
			return nil, err
		}
		return append(dst, v...), nil
	case t.isArray:
		return t.appendArray(dst, s)
	}
	dst = append(dst, '{')
	for i, f := range t.fields {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(append(dst, f.quoted...), ':')
		var err error
		if dst, err = f.value.append(dst, s); err != nil {
			return nil, err
		}
	}
	return append(dst, '}'), nil
}

func (t *template) appendArray(dst []byte, s *scope) ([]byte, error) {
	dst = append(dst, '[')
	for i, e := range t.items {
		if i > 0 {
			dst = append(dst, ',')
		}
		var err error
		if dst, err = e.append(dst, s); err != nil {
			return nil, err
		}
	}
	return append(dst, ']'), nil
}

func (t *template) eval(s *scope) ([]byte, error) {
	if t.literal != nil {
		return t.literal, nil
	}
	return t.append(nil, s)
}

// variables calls fn for every variable that the template reads.
func (t *template) variables(fn func(string)) {
	if t.expr != nil {
		t.expr.variables(fn)
	}
	for _, f := range t.fields {
		f.value.variables(fn)
	}
	for _, e := range t.items {
		e.variables(fn)
	}
}

// parameter evaluates the expression of a template's field.
func (s *scope) parameter(e expression, key string) ([]byte, error) {
	if p, ok := e.(*pathExpression); ok && p.source == fromInput && s.isNull() {
		return nil, errors.New("Unable to apply Path transformation to null or empty input.")
	}
	v, err := e.eval(s)
	if err == nil {
		return v, nil
	}
	var missing *jsonpath.NotFoundError
	var in *intrinsicError
	p, ok := e.(*pathExpression)
	switch {
	case errors.As(err, &in):
		in.reason = fmt.Sprintf("The function '%s' had the following error: %s", e, in.reason)
	case !ok || !errors.As(err, &missing):
	case missing.PastEnd:
		return rawjson.Null, nil
	case p.source == fromContext:
		return nil, notFound(p.own(), key, s.contextObject())
	default:
		return nil, notFound(p.text, key, s.input)
	}
	return nil, err
}

func notFound(path, field string, input []byte) error {
	return fmt.Errorf("The JSONPath '%s' specified for the field '%s' could not be found in the input '%s'", path, field, input)
}

// compileTemplate compiles a canonical value. bad is called with the path and
// the error of each expression that does not parse.
func compileTemplate(v []byte, path string, bad func(path string, err error)) *template {
	switch rawjson.KindOf(v) {
	case rawjson.Object:
		return compileObject(v, path, bad)
	case rawjson.Array:
		t := &template{isArray: true}
		static := true
		i := 0
		for e := range rawjson.Elements(v) {
			c := compileTemplate(e, fmt.Sprintf("%s[%d]", path, i), bad)
			static = static && c.literal != nil
			t.items = append(t.items, c)
			i++
		}
		if static {
			return &template{literal: v}
		}
		return t
	}
	return &template{literal: v}
}

func compileObject(v []byte, path string, bad func(path string, err error)) *template {
	t := &template{}
	static := true
	for k, e := range rawjson.Members(v) {
		key := rawjson.Text(k)
		at := path + "/" + key
		name, dynamic := strings.CutSuffix(key, ".$")
		if !dynamic {
			c := compileTemplate(e, at, bad)
			static = static && c.literal != nil
			t.fields = append(t.fields, templateField{k, c})
			continue
		}
		static = false
		if rawjson.KindOf(e) != rawjson.String {
			bad(at, errors.New("The value for the field '"+key+"' must be a valid JSONPath or a valid intrinsic function call"))
			continue
		}
		expr, err := parseExpression(rawjson.Text(e))
		if err != nil {
			bad(at, fmt.Errorf("The value for the field '%s' must be a valid JSONPath or a valid intrinsic function call: %w", key, err))
			continue
		}
		t.fields = append(t.fields, templateField{rawjson.Quote(name), &template{expr: expr, key: key}})
	}
	if static {
		return &template{literal: v}
	}
	return t
}

// names returns the keys of an object template as they are in its output.
func (t *template) names() []string {
	var names []string
	for k := range rawjson.Members(t.literal) {
		names = append(names, rawjson.Text(k))
	}
	for _, f := range t.fields {
		names = append(names, rawjson.Text(f.quoted))
	}
	return names
}

package asl

import (
	"errors"
	"fmt"
	"strings"

	"github.com/outerloop-dev/outerloop/pkg/asl/internal/jsonpath"
	"github.com/outerloop-dev/outerloop/pkg/asl/internal/rawjson"
)

// maxIntrinsicNest is how deeply calls may nest.
const maxIntrinsicNest = 10

// call is a compiled intrinsic function call.
type call struct {
	text string
	name string
	fn   intrinsic
	args []argument
}

// argument is an expression or a literal. raw is a literal string with its
// braces still escaped, as States.Format needs it.
type argument struct {
	expr    expression
	literal []byte
	raw     string
}

// String returns the call as written.
func (c *call) String() string { return c.text }

func (c *call) variables(fn func(string)) {
	for _, a := range c.args {
		if a.expr != nil {
			a.expr.variables(fn)
		}
	}
}

func (c *call) eval(s *scope) ([]byte, error) {
	values := make([][]byte, len(c.args))
	size := 0
	for i, a := range c.args {
		if a.expr == nil {
			values[i] = a.literal
			continue
		}
		v, err := a.expr.eval(s)
		if err != nil {
			return nil, s.argumentError(a.expr, err)
		}
		values[i] = v
		if size += len(v); size > maxTemplate {
			return nil, errTooLarge
		}
	}
	out, err := c.fn.apply(&invocation{call: c, args: values, random: &s.run.random})
	if err != nil {
		return nil, &intrinsicError{reason: err.Error()}
	}
	return out, nil
}

// intrinsicError says why an intrinsic function did not give a value. missing
// is set where an argument's path leads nowhere.
type intrinsicError struct {
	reason  string
	missing bool
}

// Error returns the reason.
func (e *intrinsicError) Error() string { return e.reason }

// argumentError words the error of an argument.
func (s *scope) argumentError(e expression, err error) error {
	var missing *jsonpath.NotFoundError
	p, ok := e.(*pathExpression)
	if !ok || !errors.As(err, &missing) {
		return err
	}
	if missing.NoArray {
		return &intrinsicError{reason: missing.Reason, missing: true}
	}
	reason := fmt.Sprintf("The JsonPath argument for the field '%s' could not be found in the input '%s'", p.own(), s.input)
	return &intrinsicError{reason: reason, missing: true}
}

// parseIntrinsic reads States.Name(…).
func parseIntrinsic(text string) (expression, error) {
	p := intrinsicParser{in: text}
	c, err := p.call()
	if err != nil {
		return nil, err
	}
	p.space()
	if p.i < len(p.in) {
		return nil, p.errorf("unexpected %q", p.in[p.i:])
	}
	return c, nil
}

type intrinsicParser struct {
	in   string
	i    int
	nest int
}

func (p *intrinsicParser) errorf(format string, args ...any) error {
	return fmt.Errorf("invalid intrinsic function %q: %s at position %d", p.in, fmt.Sprintf(format, args...), p.i)
}

func (p *intrinsicParser) space() {
	for p.i < len(p.in) && strings.IndexByte(" \t\n\r", p.in[p.i]) >= 0 {
		p.i++
	}
}

func (p *intrinsicParser) peek() byte {
	if p.i < len(p.in) {
		return p.in[p.i]
	}
	return 0
}

func (p *intrinsicParser) call() (*call, error) {
	p.nest++
	defer func() { p.nest-- }()
	if p.nest > maxIntrinsicNest {
		return nil, p.errorf("calls nested more than %d deep", maxIntrinsicNest)
	}
	start := p.i
	n := strings.IndexByte(p.in[p.i:], '(')
	if n < 0 {
		return nil, p.errorf("( is missing")
	}
	c := &call{name: p.in[p.i : p.i+n]}
	fn, ok := intrinsics[c.name]
	if !ok {
		return nil, p.errorf("there is no function %s", c.name)
	}
	c.fn = fn
	p.i += n + 1
	if err := p.arguments(c); err != nil {
		return nil, err
	}
	c.text = p.in[start:p.i]
	if len(c.args) < fn.least || fn.most >= 0 && len(c.args) > fn.most {
		return nil, p.errorf("%s does not take %d arguments", c.name, len(c.args))
	}
	return c, nil
}

func (p *intrinsicParser) arguments(c *call) error {
	p.space()
	if p.peek() == ')' {
		p.i++
		return nil
	}
	for {
		a, err := p.argument()
		if err != nil {
			return err
		}
		c.args = append(c.args, a)
		p.space()
		switch p.peek() {
		case ',':
			p.i++
		case ')':
			p.i++
			return nil
		default:
			return p.errorf(", or ) is missing")
		}
	}
}

func (p *intrinsicParser) argument() (argument, error) {
	p.space()
	switch {
	case p.peek() == '\'':
		return p.text()
	case p.peek() == '$':
		return p.path()
	case strings.HasPrefix(p.in[p.i:], "States."):
		c, err := p.call()
		return argument{expr: c}, err
	}
	start := p.i
	for p.i < len(p.in) && strings.IndexByte(" ,)\t\n\r", p.in[p.i]) < 0 {
		p.i++
	}
	v, err := rawjson.Normalize([]byte(p.in[start:p.i]))
	if err != nil {
		return argument{}, p.errorf("an argument is a quoted string, a number, null, true, false, a path or a call")
	}
	return argument{literal: v}, nil
}

// text reads a string in single quotes. A backslash takes its meaning from the
// character behind it; before n, r and t it makes a control character.
func (p *intrinsicParser) text() (argument, error) {
	p.i++
	var value, raw strings.Builder
	for p.i < len(p.in) {
		c := p.in[p.i]
		p.i++
		switch {
		case c == '\'':
			return argument{literal: rawjson.Quote(value.String()), raw: raw.String()}, nil
		case c == '\\' && p.i < len(p.in):
			c = unescape(p.in[p.i])
			value.WriteByte(c)
			if strings.IndexByte(`{}\`, c) >= 0 {
				raw.WriteByte('\\')
			}
			raw.WriteByte(c)
			p.i++
		default:
			value.WriteByte(c)
			raw.WriteByte(c)
		}
	}
	return argument{}, p.errorf("a quote is not closed")
}

func unescape(c byte) byte {
	switch c {
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	}
	return c
}

// path reads a path up to the comma or parenthesis that ends the argument.
func (p *intrinsicParser) path() (argument, error) {
	start, depth := p.i, 0
	var quote byte
	for ; p.i < len(p.in); p.i++ {
		c := p.in[p.i]
		switch {
		case quote != 0:
			if c == '\\' {
				p.i++
			} else if c == quote {
				quote = 0
			}
		case depth > 0 && (c == '\'' || c == '"'):
			quote = c
		case c == '(' || c == '[':
			depth++
		case c == ']' || c == ')' && depth > 0:
			depth--
		case depth <= 0 && (c == ',' || c == ')'):
			e, err := parsePath(strings.TrimSpace(p.in[start:p.i]))
			return argument{expr: e}, err
		}
	}
	return argument{}, p.errorf(") is missing")
}

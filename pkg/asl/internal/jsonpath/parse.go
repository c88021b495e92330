package jsonpath

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// limits keep evaluation within the size of what is read.
const (
	maxSteps = 200
	maxScans = 4
	maxNest  = 32
)

// Parse reads a path whose first character is the root, $ or @. The caller
// strips what stands before it, as in $$.Execution.
func Parse(text string) (*Path, error) {
	p := parser{in: text}
	path, err := p.path()
	if err != nil {
		return nil, err
	}
	if p.i < len(p.in) {
		return nil, p.errorf("unexpected %q", p.in[p.i:])
	}
	return path, nil
}

type parser struct {
	in   string
	i    int
	nest int
	// inFilter is set inside of a filter, where a path ends at an operator.
	inFilter bool
}

func (p *parser) errorf(format string, args ...any) error {
	return fmt.Errorf("invalid path %q: %s at position %d", p.in, fmt.Sprintf(format, args...), p.i)
}

func (p *parser) peek() byte {
	if p.i < len(p.in) {
		return p.in[p.i]
	}
	return 0
}

func (p *parser) take(s string) bool {
	if strings.HasPrefix(p.in[p.i:], s) {
		p.i += len(s)
		return true
	}
	return false
}

func (p *parser) space() {
	for p.peek() == ' ' || p.peek() == '\t' || p.peek() == '\n' {
		p.i++
	}
}

func (p *parser) path() (*Path, error) {
	start := p.i
	if c := p.peek(); c != '$' && c != '@' {
		return nil, p.errorf("must begin with $")
	}
	p.i++
	path := &Path{definite: true}
	scans := 0
	for path.function == nil {
		n := len(path.steps)
		more, err := p.step(path)
		if err != nil {
			return nil, err
		}
		if !more {
			break
		}
		for _, s := range path.steps[n:] {
			path.definite = path.definite && s.definite()
			if _, ok := s.(scan); ok {
				scans++
			}
		}
		if len(path.steps) > maxSteps || scans > maxScans {
			return nil, p.errorf("too long")
		}
	}
	path.text = p.in[start:p.i]
	return path, nil
}

// step reads one step onto the path and reports whether there was one.
func (p *parser) step(path *Path) (bool, error) {
	switch {
	case p.take(".."):
		path.steps = append(path.steps, scan{})
		if p.peek() == '[' {
			return true, p.bracket(path)
		}
		return true, p.dotted(path)
	case p.take("."):
		if p.peek() == '[' {
			return true, p.bracket(path)
		}
		return true, p.dotted(path)
	case p.peek() == '[':
		return true, p.bracket(path)
	}
	return false, nil
}

func (p *parser) dotted(path *Path) error {
	if p.take("*") {
		path.steps = append(path.steps, wildcard{})
		return nil
	}
	start := p.i
	for p.i < len(p.in) && !p.endsName() {
		_, n := utf8.DecodeRuneInString(p.in[p.i:])
		p.i += n
	}
	name := p.in[start:p.i]
	if name == "" {
		return p.errorf("a name is missing")
	}
	if p.take("()") {
		fn, ok := functions[name]
		if !ok {
			return p.errorf("there is no function %s()", name)
		}
		path.function = fn
		return nil
	}
	path.steps = append(path.steps, property{name})
	return nil
}

func (p *parser) endsName() bool {
	c := p.in[p.i]
	if strings.IndexByte(".[]() '\",*?\t\n", c) >= 0 {
		return true
	}
	return p.inFilter && strings.IndexByte("=<>!&|)~", c) >= 0
}

func (p *parser) bracket(path *Path) error {
	p.i++
	p.space()
	var s step
	var err error
	switch c := p.peek(); {
	case c == '\'' || c == '"':
		s, err = p.names()
	case c == '*':
		p.i++
		s = wildcard{}
	case c == '?':
		s, err = p.filter()
	case c == '-' || c == ':' || c >= '0' && c <= '9':
		s, err = p.numbers()
	default:
		return p.errorf("unexpected text in brackets")
	}
	if err != nil {
		return err
	}
	p.space()
	if !p.take("]") {
		return p.errorf("] is missing")
	}
	path.steps = append(path.steps, s)
	return nil
}

func (p *parser) names() (step, error) {
	var names []string
	for {
		name, err := p.quoted()
		if err != nil {
			return nil, err
		}
		names = append(names, name)
		p.space()
		if !p.take(",") {
			break
		}
		p.space()
	}
	if len(names) == 1 {
		return property{names[0]}, nil
	}
	return properties{names}, nil
}

// quoted reads a string in single or double quotes.
func (p *parser) quoted() (string, error) {
	quote := p.peek()
	if quote != '\'' && quote != '"' {
		return "", p.errorf("a quoted name is missing")
	}
	p.i++
	var b strings.Builder
	for p.i < len(p.in) {
		c := p.in[p.i]
		p.i++
		switch {
		case c == quote:
			return b.String(), nil
		case c == '\\' && p.i < len(p.in):
			b.WriteByte(unescape(p.in[p.i]))
			p.i++
		default:
			b.WriteByte(c)
		}
	}
	return "", p.errorf("a quote is not closed")
}

func unescape(c byte) byte {
	switch c {
	case 'n':
		return '\n'
	case 't':
		return '\t'
	case 'r':
		return '\r'
	}
	return c
}

func (p *parser) integer() (*int, error) {
	start := p.i
	if p.peek() == '-' {
		p.i++
	}
	for p.peek() >= '0' && p.peek() <= '9' {
		p.i++
	}
	if start == p.i {
		return nil, nil
	}
	n, err := strconv.ParseInt(p.in[start:p.i], 10, 32)
	if err != nil {
		return nil, p.errorf("invalid index")
	}
	k := int(n)
	return &k, nil
}

func (p *parser) numbers() (step, error) {
	first, err := p.integer()
	if err != nil {
		return nil, err
	}
	p.space()
	if p.take(":") {
		p.space()
		to, err := p.integer()
		if err == nil && first == nil && to == nil {
			return nil, p.errorf("a slice needs a bound")
		}
		return slice{first, to}, err
	}
	if first == nil {
		return nil, p.errorf("invalid index")
	}
	list := []int{*first}
	for p.take(",") {
		p.space()
		n, err := p.integer()
		if err != nil {
			return nil, err
		}
		if n == nil {
			return nil, p.errorf("an index is missing")
		}
		list = append(list, *n)
		p.space()
	}
	if len(list) == 1 {
		return index{list[0]}, nil
	}
	return indexes{list}, nil
}

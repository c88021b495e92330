package jsonpath

import (
	"regexp"

	"github.com/outerloop-dev/outerloop/pkg/asl/internal/rawjson"
)

// operatorWords lists the operators, longest first where one begins another.
var operatorWords = []string{"===", "!==", "==", "!=", "<=", ">=", "<", ">", "=~",
	"subsetof", "contains", "noneof", "anyof", "empty", "size", "nin", "in"}

// filter reads ?(…) up to the closing bracket.
func (p *parser) filter() (step, error) {
	p.i++
	p.space()
	if p.peek() != '(' {
		return nil, p.errorf("( is missing")
	}
	outer := p.inFilter
	p.inFilter = true
	defer func() { p.inFilter = outer }()
	start := p.i
	test, err := p.or()
	if err != nil {
		return nil, err
	}
	text := p.in[start:p.i]
	if len(text) >= 2 && text[0] == '(' && text[len(text)-1] == ')' {
		text = text[1 : len(text)-1]
	}
	return filter{text, test}, nil
}

func (p *parser) or() (condition, error) {
	left, err := p.and()
	for err == nil {
		p.space()
		if !p.take("||") {
			return left, nil
		}
		var right condition
		if right, err = p.and(); err == nil {
			left = either{left, right}
		}
	}
	return nil, err
}

func (p *parser) and() (condition, error) {
	left, err := p.unary()
	for err == nil {
		p.space()
		if !p.take("&&") {
			return left, nil
		}
		var right condition
		if right, err = p.unary(); err == nil {
			left = both{left, right}
		}
	}
	return nil, err
}

func (p *parser) unary() (condition, error) {
	p.nest++
	defer func() { p.nest-- }()
	if p.nest > maxNest {
		return nil, p.errorf("nested too deeply")
	}
	p.space()
	if p.take("!") {
		inner, err := p.unary()
		return inverse{inner}, err
	}
	if p.take("(") {
		inner, err := p.or()
		if err != nil {
			return nil, err
		}
		p.space()
		if !p.take(")") {
			return nil, p.errorf(") is missing")
		}
		return inner, nil
	}
	return p.comparison()
}

func (p *parser) comparison() (condition, error) {
	left, err := p.operand()
	if err != nil {
		return nil, err
	}
	p.space()
	word := ""
	for _, w := range operatorWords {
		if p.take(w) {
			word = w
			break
		}
	}
	if word == "" {
		if left.path == nil {
			return nil, p.errorf("an operator is missing")
		}
		return exists{left.path}, nil
	}
	p.space()
	if word == "=~" {
		return p.match(left)
	}
	right, err := p.operand()
	if err != nil {
		return nil, err
	}
	return compare{left, right, operators[word]}, nil
}

// match reads the pattern of =~, as in /^a/i.
func (p *parser) match(left operand) (condition, error) {
	if !p.take("/") {
		return nil, p.errorf("a pattern is missing")
	}
	start := p.i
	for p.i < len(p.in) && p.in[p.i] != '/' {
		if p.in[p.i] == '\\' {
			p.i++
		}
		p.i++
	}
	if p.i >= len(p.in) {
		return nil, p.errorf("a pattern is not closed")
	}
	text := p.in[start:p.i]
	p.i++
	if p.take("i") {
		text = "(?i)" + text
	}
	pattern, err := regexp.Compile("^(?:" + text + ")$")
	if err != nil {
		return nil, p.errorf("invalid pattern")
	}
	test := func(l, _ []byte) bool {
		return rawjson.KindOf(l) == rawjson.String && pattern.MatchString(rawjson.Text(l))
	}
	return compare{left, operand{literal: rawjson.Null}, operator{test: test}}, nil
}

func (p *parser) operand() (operand, error) {
	p.space()
	switch c := p.peek(); {
	case c == '@' || c == '$':
		path, err := p.path()
		return operand{path: path}, err
	case c == '\'' || c == '"':
		s, err := p.quoted()
		return operand{literal: rawjson.Quote(s)}, err
	case c == '[':
		return p.list()
	}
	start := p.i
	for p.i < len(p.in) && !p.endsLiteral() {
		p.i++
	}
	v, err := rawjson.Normalize([]byte(p.in[start:p.i]))
	if err != nil {
		return operand{}, p.errorf("a value is missing")
	}
	return operand{literal: v}, nil
}

func (p *parser) endsLiteral() bool {
	switch p.in[p.i] {
	case ' ', ')', ']', ',', '&', '|', '=', '<', '>', '!', '(', '[', '\'', '"':
		return true
	}
	return false
}

func (p *parser) list() (operand, error) {
	p.nest++
	defer func() { p.nest-- }()
	if p.nest > maxNest {
		return operand{}, p.errorf("nested too deeply")
	}
	p.i++
	var values [][]byte
	for {
		p.space()
		if p.take("]") {
			return operand{literal: rawjson.Join(values)}, nil
		}
		o, err := p.operand()
		if err != nil {
			return o, err
		}
		if o.path != nil {
			return o, p.errorf("a list holds values only")
		}
		values = append(values, o.literal)
		p.space()
		if !p.take(",") && p.peek() != ']' {
			return o, p.errorf("] is missing")
		}
	}
}

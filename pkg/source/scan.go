package source

import (
	"fmt"
	"strings"

	"github.com/outerloop-dev/outerloop/pkg/problem"
)

// scan looks at the text before the parser does: it stops nesting that would
// keep the parser busy, and finds the traps that the parser reads as something
// else: a comma, ${ } or ? in an unquoted text between braces.
func scan(f *File) problem.Problems {
	s := scanner{file: f, text: f.Text, fresh: true}
	for s.pos < len(s.text) && !s.stopped {
		s.step()
	}
	return s.problems
}

type scanner struct {
	file *File
	text string
	pos  int
	// open holds the kinds of the brackets that are open.
	open []byte
	// fresh: a value or key may begin here; dashes counts the entries begun on this line.
	fresh  bool
	dashes int
	// plain is where the unquoted text began between braces; parens is the
	// number of round brackets open in it; -1: none is open.
	plain   int
	inPlain bool
	parens  int
	// keys counts those outside all brackets.
	keys     int
	stopped  bool
	problems problem.Problems
}

func (s *scanner) trap(code string, at, width int, message string) {
	s.problems = append(s.problems, s.file.Problem(code, s.file.position(at), width, message))
}

func (s *scanner) step() {
	c := s.text[s.pos]
	switch {
	case c == '\n':
		s.newline()
	case c == ' ' || c == '\r':
		s.pos++
	case c == '\t':
		if s.atIndent() {
			s.trap("E109", s.pos, 1, "A tab indents here. Indent with spaces.")
			s.stopped = true
		}
		s.pos++
	case c == '#' && (s.pos == 0 || isSpace(s.text[s.pos-1])):
		s.comment()
	case s.fresh && (c == '"' || c == '\''):
		s.quoted(c)
	case len(s.open) > 0:
		s.flow(c)
	default:
		s.block(c)
	}
}

func (s *scanner) newline() {
	s.pos++
	s.dashes = 0
	if len(s.open) == 0 {
		s.fresh = true
	}
}

// atIndent tells whether only white space stands before the position on its line.
func (s *scanner) atIndent() bool {
	start := strings.LastIndexByte(s.text[:s.pos], '\n') + 1
	return strings.Trim(s.text[start:s.pos], " \t") == "" && len(s.open) == 0
}

// comment skips to the end of the line. A # that cuts off an unquoted text and
// touches a word was hardly meant as a comment: "Ticket #5 is late".
func (s *scanner) comment() {
	next := s.peek()
	if !s.fresh && s.onPlain() && next != 0 && !isSpace(next) && next != '#' {
		s.trap("E106", s.pos, 1, "YAML ends the text at this # and takes the rest for a comment."+quoteIt+" A comment has a space after the #.")
	}
	s.skipLine()
}

// onPlain tells whether an unquoted text stands before the position on its line.
func (s *scanner) onPlain() bool {
	start := strings.LastIndexByte(s.text[:s.pos], '\n') + 1
	before := strings.TrimRight(s.text[start:s.pos], " \t")
	return before != "" && strings.IndexByte("\"'{}[],:|>", before[len(before)-1]) < 0
}

func (s *scanner) skipLine() {
	if end := strings.IndexByte(s.text[s.pos:], '\n'); end >= 0 {
		s.pos += end
		return
	}
	s.pos = len(s.text)
}

// quoted skips a text in quotes; one without an end is the parser's to report.
func (s *scanner) quoted(quote byte) {
	for i := s.pos + 1; i < len(s.text); i++ {
		switch {
		case quote == '"' && s.text[i] == '\\':
			i++
		case s.text[i] != quote:
		case quote == '\'' && i+1 < len(s.text) && s.text[i+1] == quote:
			i++
		default:
			s.pos, s.fresh = i+1, false
			return
		}
	}
	s.pos = len(s.text)
}

// block handles a character outside all brackets.
func (s *scanner) block(c byte) {
	next := s.peek()
	switch {
	case s.fresh && c == '-' && (isSpace(next) || next == 0):
		if s.dashes++; s.dashes > MaxDepth {
			s.deep()
		}
		s.pos++
	case s.fresh && (c == '{' || c == '['):
		s.push(c)
	case s.fresh && (c == '|' || c == '>') && s.literalHeader():
		s.skipLiteral()
	case c == ':' && (isSpace(next) || next == 0):
		if s.keys++; s.keys > MaxKeys {
			s.trap("E102", s.pos, 1, fmt.Sprintf("More than %d keys stand outside of brackets in this file. Put data into files of their own, and make loops of their own of some steps.", MaxKeys))
			s.stopped = true
		}
		s.pos++
		s.fresh = true
	case s.fresh && (c == '&' || c == '!' || c == '*'):
		s.skipWord()
	default:
		s.pos++
		s.fresh = false
	}
}

// peek is the byte after the current one; 0 at the end.
func (s *scanner) peek() byte {
	if s.pos+1 < len(s.text) {
		return s.text[s.pos+1]
	}
	return 0
}

func (s *scanner) skipWord() {
	for s.pos < len(s.text) && !isSpace(s.text[s.pos]) && !strings.ContainsRune(",]}", rune(s.text[s.pos])) {
		s.pos++
	}
}

func (s *scanner) push(c byte) {
	if s.open = append(s.open, c); len(s.open) > MaxDepth {
		s.deep()
	}
	s.pos++
	s.fresh, s.inPlain = true, false
}

func (s *scanner) deep() {
	s.trap("E102", s.pos, 1, fmt.Sprintf("Values nest deeper than %d here.", MaxDepth))
	s.stopped = true
}

// literalHeader tells whether | or > begins a block of text: nothing but an
// indicator and a comment follows on the line.
func (s *scanner) literalHeader() bool {
	line := s.text[s.pos+1:]
	if end := strings.IndexByte(line, '\n'); end >= 0 {
		line = line[:end]
	}
	header, _, _ := strings.Cut(line, " #")
	return strings.Trim(strings.TrimSpace(header), "+-0123456789") == ""
}

// skipLiteral skips the lines of a block of text: those indented deeper than the line it begins on.
func (s *scanner) skipLiteral() {
	start := strings.LastIndexByte(s.text[:s.pos], '\n') + 1
	indent := indentation(s.text[start:])
	s.skipLine()
	for s.pos < len(s.text) {
		line := s.text[s.pos+1:]
		end := strings.IndexByte(line, '\n')
		if end >= 0 {
			line = line[:end]
		}
		if strings.TrimSpace(line) != "" && indentation(line) <= indent {
			return
		}
		if end < 0 {
			s.pos = len(s.text)
			return
		}
		s.pos += 1 + len(line)
	}
}

func indentation(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// flow handles a character between brackets.
func (s *scanner) flow(c byte) {
	if s.inPlain && s.plainChar(c) {
		return
	}
	switch c {
	case '{', '[':
		s.push(c)
	case '}', ']':
		s.open = s.open[:len(s.open)-1]
		s.pos++
		s.fresh, s.inPlain = false, false
	case ',':
		s.pos++
		s.fresh, s.inPlain = true, false
	case ':':
		s.pos++
		s.fresh, s.inPlain = true, false
	default:
		s.plain, s.inPlain, s.parens, s.fresh = s.pos, true, 0, false
		if c == '(' {
			s.parens = 1
		}
		s.pos++
	}
}

const quoteIt = " Put the whole text into quotes."

// plainChar looks at a character of an unquoted text between brackets; false:
// it ends the text and is to be read anew.
func (s *scanner) plainChar(c byte) bool {
	switch {
	case c == '(':
		s.parens++
	case c == ')':
		s.parens--
	case c == '{' && s.text[s.pos-1] == '$':
		s.trap("E106", s.pos-1, 2, "${ } stands unquoted between braces, where { begins a mapping."+quoteIt)
		s.stopped = true
	case c == ',' && s.parens > 0:
		s.trap("E106", s.plain, s.pos-s.plain+1, "YAML ends the text at this comma."+quoteIt)
		s.stopped = true
	case (c == '{' || c == '[') && s.parens > 0:
		s.trap("E106", s.pos, 1, fmt.Sprintf("An unquoted %c stands in a text between brackets.%s", c, quoteIt))
		s.stopped = true
	case c == '[' && isWord(s.text[s.pos-1]):
		s.trap("E106", s.pos, 1, "An unquoted [ stands in a text between brackets."+quoteIt)
		s.stopped = true
	case c == '?' && s.text[s.pos-1] == ' ':
		s.trap("E106", s.pos, 1, "An unquoted ? stands in a text between brackets, which YAML readers understand differently."+quoteIt)
		s.stopped = true
	case c == ':' && (isSpace(s.peek()) || s.peek() == 0), strings.IndexByte("{}[],", c) >= 0:
		s.inPlain = false
		return false
	}
	s.pos++
	return true
}

func isWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == ')'
}

package source

import (
	"strings"
	"unicode/utf8"

	"github.com/outerloop-dev/outerloop/pkg/problem"
)

// File is a text with its path; it makes problems that point into it.
type File struct {
	// Path is relative to the project's root, with slashes.
	Path string
	// Text is the content without a byte order mark.
	Text string
	// lines are the byte offsets at which lines start.
	lines []int
}

func newFile(path string, text string) *File {
	f := &File{Path: path, Text: text, lines: []int{0}}
	for i := range len(text) {
		if text[i] == '\n' {
			f.lines = append(f.lines, i+1)
		}
	}
	return f
}

// Line is the text of a line, from 1, without its end.
func (f *File) Line(number int) string {
	if number < 1 || number > len(f.lines) {
		return ""
	}
	rest := f.Text[f.lines[number-1]:]
	if end := strings.IndexByte(rest, '\n'); end >= 0 {
		rest = rest[:end]
	}
	return strings.TrimSuffix(rest, "\r")
}

// offset is the byte at a position; the end of the line where it is shorter.
func (f *File) offset(at Position) int {
	if at.Line < 1 || at.Line > len(f.lines) {
		return len(f.Text)
	}
	o := f.lines[at.Line-1]
	line := f.Line(at.Line)
	for n := 1; n < at.Column && len(line) > 0; n++ {
		_, size := utf8.DecodeRuneInString(line)
		line = line[size:]
		o += size
	}
	return o
}

// position is the place of a byte.
func (f *File) position(offset int) Position {
	low, high := 0, len(f.lines)
	for high-low > 1 {
		if middle := (low + high) / 2; f.lines[middle] <= offset {
			low = middle
		} else {
			high = middle
		}
	}
	end := min(offset, len(f.Text))
	return Position{Line: low + 1, Column: utf8.RuneCountInString(f.Text[f.lines[low]:end]) + 1}
}

// Problem makes a problem at a place of the file.
func (f *File) Problem(code string, at Position, width int, message string) problem.Problem {
	at.Column = min(at.Column, utf8.RuneCountInString(f.Line(at.Line))+1)
	return problem.Problem{
		Code: code, Rule: problem.Title(code), Path: f.Path, Line: at.Line, Column: at.Column, Width: max(1, width),
		Excerpt: f.Line(at.Line), Message: message,
	}
}

// Problem makes a problem at the node; it marks a scalar whole and of other
// values the first character.
func (n *Node) Problem(code, message string) problem.Problem {
	return n.File.Problem(code, n.At, n.width(), message)
}

func (n *Node) width() int {
	if n.Kind == Mapping || n.Kind == Sequence || strings.ContainsRune(n.Text, '\n') {
		return 1
	}
	width := utf8.RuneCountInString(n.Text)
	if n.Quoted {
		width += 2
	}
	line := utf8.RuneCountInString(n.File.Line(n.At.Line))
	return max(1, min(width, line-n.At.Column+1))
}

// Where is the node's place as "file:line:column", for references.
func (n *Node) Where() string {
	return n.File.Path + ":" + itoa(n.At.Line) + ":" + itoa(n.At.Column)
}

// PositionOf is the place in the file of a byte of the node's text: the column
// inside a quoted, folded or block scalar is mapped back to what was written.
func (n *Node) PositionOf(textOffset int) Position {
	start := n.File.offset(n.At)
	written := n.File.Text[min(start, len(n.File.Text)):]
	switch {
	case written == "" || n.Text == "":
		return n.At
	case n.Quoted && written[0] == '"':
		return n.File.position(start + doubleQuoted(written, textOffset))
	case n.Quoted && written[0] == '\'':
		return n.File.position(start + singleQuoted(written, textOffset))
	}
	return n.File.position(start + folded(written, n.Text, textOffset))
}

// doubleQuoted maps a byte of the decoded text to one of the written text.
func doubleQuoted(written string, target int) int {
	decoded := 0
	for i := 1; i < len(written); {
		if decoded >= target {
			return i
		}
		size, length := 1, 1
		if written[i] == '\\' && i+1 < len(written) {
			size, length = 2, 1
			switch written[i+1] {
			case 'x':
				size = 4
			case 'u':
				size, length = 6, 2
			case 'U':
				size, length = 10, 4
			}
		}
		i += size
		decoded += length
	}
	return target
}

func singleQuoted(written string, target int) int {
	decoded := 0
	for i := 1; i < len(written); i++ {
		if decoded >= target {
			return i
		}
		if written[i] == '\'' && i+1 < len(written) && written[i+1] == '\'' {
			i++
		}
		decoded++
	}
	return target
}

// folded walks written and decoded text together: where they differ, white
// space was folded or indentation removed.
func folded(written, text string, target int) int {
	i := 0
	if written[0] == '|' || written[0] == '>' {
		i = strings.IndexByte(written, '\n') + 1
	}
	for decoded := 0; decoded < target && i < len(written); {
		if decoded < len(text) && written[i] == text[decoded] {
			i++
			decoded++
			continue
		}
		if decoded < len(text) && isSpace(text[decoded]) {
			decoded++
			continue
		}
		i++
	}
	for i < len(written) && target < len(text) && !isSpace(text[target]) && isSpace(written[i]) {
		i++
	}
	return i
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

package source

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"
	"unicode/utf8"

	yamlerrors "github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
	"github.com/outerloop-dev/outerloop/pkg/problem"
)

// The caps of the reader. A file beyond them is refused before it is parsed.
const (
	// MaxBytes is the greatest size of a file.
	MaxBytes = 256 << 10
	// MaxDepth is how deep values may nest.
	MaxDepth = 64
	// MaxKeys is how many keys may stand outside of brackets: the parser takes long for more.
	MaxKeys = 5000
	// MaxNodes is how many values a file may hold with its aliases written out.
	MaxNodes = 50_000
)

// Read reads one YAML document. The node is nil when there are problems.
func Read(path string, raw []byte) (*Node, problem.Problems) {
	text := strings.TrimPrefix(string(raw), "\uFEFF")
	f := newFile(path, text)
	if ps := limits(f); len(ps) > 0 {
		return nil, ps
	}
	if ps := scan(f); len(ps) > 0 {
		return nil, ps
	}
	doc, ps := parse(f)
	if len(ps) > 0 {
		return nil, ps
	}
	b := builder{file: f, anchors: map[string]*anchor{}}
	root := b.node(doc, 0)
	if len(b.problems) > 0 {
		return nil, b.problems
	}
	return root, nil
}

// ReadFile reads a file of which no more is wanted than what shows that it is
// larger than most bytes.
func ReadFile(fsys fs.FS, path string, most int64) ([]byte, error) {
	if whole, ok := fsys.(fs.ReadFileFS); ok {
		if info, err := fs.Stat(fsys, path); err != nil || info.Size() <= most {
			return whole.ReadFile(path)
		}
	}
	file, err := fsys.Open(path)
	if err != nil {
		return nil, err
	}
	raw, err := io.ReadAll(io.LimitReader(file, most+1))
	return raw, errors.Join(err, file.Close())
}

func limits(f *File) problem.Problems {
	if len(f.Text) > MaxBytes {
		return problem.Problems{{Code: "E102", Rule: problem.Title("E102"), Path: f.Path,
			Message: fmt.Sprintf("The file is larger than %d KiB. Put texts and data into files of their own.", MaxBytes>>10)}}
	}
	if !utf8.ValidString(f.Text) {
		at := 0
		for i, r := range f.Text {
			if r == utf8.RuneError && !strings.HasPrefix(f.Text[i:], "\uFFFD") {
				at = i
				break
			}
		}
		return problem.Problems{f.Problem("E101", f.position(at), 1, "The file is not UTF-8 here. Save it as UTF-8.")}
	}
	for i, r := range f.Text {
		if r == 0 || r < ' ' && r != '\n' && r != '\r' && r != '\t' {
			return problem.Problems{f.Problem("E101", f.position(i), 1, fmt.Sprintf("A control character (%U) stands here. Remove it.", r))}
		}
	}
	return nil
}

func parse(f *File) (node ast.Node, ps problem.Problems) {
	defer func() {
		if recover() != nil {
			node, ps = nil, problem.Problems{f.Problem("E101", Position{1, 1}, 1, "This is not YAML that can be read. Check indentation and quotes.")}
		}
	}()
	parsed, err := parser.ParseBytes([]byte(f.Text), 0)
	if err != nil {
		return nil, problem.Problems{syntax(f, err)}
	}
	if len(parsed.Docs) > 1 {
		at := Position{Line: 1, Column: 1}
		if body := parsed.Docs[1].Body; body != nil {
			at = f.marker(body.GetToken().Position.Line)
		}
		return nil, problem.Problems{f.Problem("E103", at, 1, "A second document begins here. Put it into a file of its own, and remove the line ---.")}
	}
	if len(parsed.Docs) == 0 || parsed.Docs[0].Body == nil {
		return nil, problem.Problems{f.Problem("E101", Position{1, 1}, 1, "The file is empty.")}
	}
	return parsed.Docs[0].Body, nil
}

// marker is the last line before a line that begins a document; that line where there is none.
func (f *File) marker(line int) Position {
	for n := line; n > 0; n-- {
		if strings.HasPrefix(f.Line(n), "---") {
			return Position{Line: n, Column: 1}
		}
	}
	return Position{Line: line, Column: 1}
}

// syntax turns the parser's error into a problem with advice.
func syntax(f *File, err error) problem.Problem {
	var bad *yamlerrors.SyntaxError
	var twice *yamlerrors.DuplicateKeyError
	message, at := err.Error(), Position{1, 1}
	code := "E101"
	switch {
	case errors.As(err, &twice):
		message, at = twice.Message, place(twice.Token)
	case errors.As(err, &bad):
		message, at = bad.Message, place(bad.Token)
	}
	switch {
	case strings.Contains(message, "already defined"):
		code, message = "E108", "The key stands twice in one mapping ("+message+"). Keep one of them."
	case strings.Contains(message, "cannot start any token"), strings.Contains(message, "tab"):
		message = "A tab or an unexpected character stands here. Indent with spaces, and put a text that begins with a special character into quotes."
	case strings.Contains(message, "mapping value is not allowed"):
		message = "A text that contains \": \" or \" ? \" must stand in quotes: 'a ? b : c'."
	case strings.Contains(message, "reserved character"):
		message = "A text that begins with @ or ` must stand in quotes."
	default:
		message = upperFirst(message) + ". Check indentation, brackets and quotes here and on the line before."
	}
	return f.Problem(code, at, 1, message)
}

func place(t *token.Token) Position {
	if t == nil || t.Position == nil {
		return Position{1, 1}
	}
	return Position{Line: max(1, t.Position.Line), Column: max(1, t.Position.Column)}
}

func upperFirst(text string) string {
	if text == "" {
		return text
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

func itoa(n int) string { return strconv.Itoa(n) }

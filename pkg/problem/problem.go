// Package problem holds what validation says: one problem each with its place,
// a stable code, the rule that was broken and the remedy, and the table of all
// codes with their explanations.
package problem

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Problem is one finding of validation.
type Problem struct {
	// Code is stable: E… for errors, W… for warnings.
	Code string `json:"code"`
	// Rule is the code's title.
	Rule string `json:"rule"`
	// Path is the file, relative to the project's root.
	Path string `json:"path"`
	// Line and Column count from 1, the column in characters; 0: the whole file.
	Line   int `json:"line"`
	Column int `json:"column"`
	// Width is how many characters are meant; at least 1 where Column is set.
	Width int `json:"width"`
	// Excerpt is the offending line.
	Excerpt string `json:"excerpt,omitempty"`
	// Message says what is wrong and what to write instead.
	Message string `json:"message"`
	// See names the other place that matters, a file or "file:line:col"; may be empty.
	See string `json:"see,omitempty"`
}

// Warning tells whether the problem is only a warning.
func (p Problem) Warning() bool { return strings.HasPrefix(p.Code, "W") }

// Error is the problem on one line.
func (p Problem) Error() string {
	return fmt.Sprintf("%s %s %s: %s", p.place(), p.Code, p.Rule, p.Message)
}

func (p Problem) place() string {
	if p.Line == 0 {
		return p.Path
	}
	return fmt.Sprintf("%s:%d:%d", p.Path, p.Line, p.Column)
}

// MarshalJSON adds the severity.
func (p Problem) MarshalJSON() ([]byte, error) {
	type bare Problem
	severity := "error"
	if p.Warning() {
		severity = "warning"
	}
	return json.Marshal(struct {
		bare
		Severity string `json:"severity"`
	}{bare(p), severity})
}

// Problems are findings; as an error it stands for at least one that is no warning.
type Problems []Problem

// Error lists the problems, one a line.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.Error()
	}
	return strings.Join(lines, "\n")
}

// Err is ps as an error when it holds more than warnings, else nil.
func (ps Problems) Err() error {
	if ps.Errors() == 0 {
		return nil
	}
	return ps
}

// Errors counts what is no warning.
func (ps Problems) Errors() int {
	n := 0
	for _, p := range ps {
		if !p.Warning() {
			n++
		}
	}
	return n
}

// Sorted orders by place and drops repetitions.
func (ps Problems) Sorted() Problems {
	out := slices.Clone(ps)
	slices.SortStableFunc(out, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column),
			cmp.Compare(a.Code, b.Code), cmp.Compare(a.Message, b.Message))
	})
	return slices.Compact(out)
}

// Strict turns warnings into errors by their code's letter.
func (ps Problems) Strict() Problems {
	out := slices.Clone(ps)
	for i := range out {
		if rest, found := strings.CutPrefix(out[i].Code, "W"); found {
			out[i].Code = "E" + rest
		}
	}
	return out
}

// Print writes each problem with its line, carets, remedy and how to learn more.
func (ps Problems) Print(w io.Writer) error {
	var b strings.Builder
	for i, p := range ps {
		if i > 0 {
			b.WriteByte('\n')
		}
		p.text(&b)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (p Problem) text(b *strings.Builder) {
	fmt.Fprintf(b, "%s  %s %s\n", p.place(), p.Code, p.Rule)
	margin := strings.Repeat(" ", 5)
	if p.Line > 0 && p.Excerpt != "" {
		number := fmt.Sprintf("%5s", strconv.Itoa(p.Line))
		margin = strings.Repeat(" ", len(number))
		excerpt, column := p.window()
		fmt.Fprintf(b, "%s | %s\n", number, excerpt)
		fmt.Fprintf(b, "%s | %s%s\n", margin, strings.Repeat(" ", column-1), strings.Repeat("^", max(1, p.Width)))
	}
	for line := range strings.SplitSeq(p.Message, "\n") {
		fmt.Fprintf(b, "%s %s\n", margin, line)
	}
	if p.See != "" {
		fmt.Fprintf(b, "%s (%s)   outerloop explain %s\n", margin, p.See, p.Code)
		return
	}
	fmt.Fprintf(b, "%s outerloop explain %s\n", margin, p.Code)
}

// window is the excerpt with tabs made visible as one space each, cut to 120
// characters around the column, and the column in it.
func (p Problem) window() (string, int) {
	const width = 120
	line := []rune(strings.Map(visible, p.Excerpt))
	column := max(1, min(p.Column, len(line)+1))
	if len(line) <= width {
		return string(line), column
	}
	from := max(0, min(column-1-width/2, len(line)-width))
	cut := slices.Clone(line[from:min(len(line), from+width)])
	return string(cut), column - from
}

func visible(r rune) rune {
	switch {
	case r == '\t':
		return ' '
	case r < ' ' || r == 0x7f || r == utf8.RuneError:
		return '·'
	}
	return r
}

package rule

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"cel.dev/cel-go/common"
)

// FaultKind sorts what can be wrong with an expression.
type FaultKind string

// The kinds of faults.
const (
	Syntax       FaultKind = "syntax"        // it cannot be read
	UnknownName  FaultKind = "unknown_name"  // no such name in scope
	UnknownField FaultKind = "unknown_field" // the value has no such field
	UnknownCall  FaultKind = "unknown_call"  // no such function
	Mismatch     FaultKind = "type"          // an operation does not fit its values
	BadLiteral   FaultKind = "literal"       // a duration, timestamp, pattern or enum value that cannot be
)

// Fault is one thing wrong with an expression or template.
type Fault struct {
	Kind       FaultKind
	Message    string   // plain words, with the suggestion if there is one
	Path       string   // JSON pointer to the scalar in a value tree; "" elsewhere
	Offset     int      // bytes from the start of the expression (of the whole text, in a template)
	Length     int      // bytes of what is wrong, at least 1
	Line       int      // from 1
	Column     int      // from 1, in characters
	Name       string   // the name that is not known
	Of         string   // for an unknown field: what lacks it, such as "qualify" or "scan.stale[]"
	Available  []string // the names that are known there, sorted
	Suggestion string   // the nearest of them, or ""
}

// Error gives the message with its place.
func (f Fault) Error() string {
	at := fmt.Sprintf("%d:%d: %s", f.Line, f.Column, f.Message)
	if f.Path != "" {
		return f.Path + ": " + at
	}
	return at
}

// Faults is an error that holds all faults of an expression.
type Faults []Fault

// Error gives all messages.
func (fs Faults) Error() string {
	lines := make([]string, len(fs))
	for i, f := range fs {
		lines[i] = f.Error()
	}
	return strings.Join(lines, "; ")
}

// place sets line and column from the offset.
func (f *Fault) place(src string) {
	f.Offset = min(max(f.Offset, 0), len(src))
	before := src[:f.Offset]
	f.Line = 1 + strings.Count(before, "\n")
	f.Column = 1 + utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:])
	f.Length = max(1, min(f.Length, len(src)-f.Offset))
}

// byteOffset turns CEL's line (from 1) and column (from 0, in characters) into a byte offset.
func byteOffset(src string, at common.Location) int {
	offset := 0
	for line := 1; line < at.Line(); line++ {
		next := strings.IndexByte(src[offset:], '\n')
		if next < 0 {
			return len(src)
		}
		offset += next + 1
	}
	for column := 0; column < at.Column() && offset < len(src); column++ {
		_, size := utf8.DecodeRuneInString(src[offset:])
		offset += size
	}
	return offset
}

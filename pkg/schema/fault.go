package schema

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Fault is one thing wrong with a value or a schema. Message is plain words without the path, fit for a person and for a
// model; it quotes allowed values and numbers but never the text that was found, so it may be logged.
type Fault struct {
	Path    string `json:"path"`    // JSON pointer; "" is the whole value
	Keyword string `json:"keyword"` // JSON Schema keyword, or "json" for what cannot be decoded
	Message string `json:"message"`
}

// String joins path and message.
func (f Fault) String() string {
	if f.Path == "" {
		return "the value " + f.Message
	}
	return f.Path + " " + f.Message
}

// Pointer makes a JSON pointer (RFC 6901) of keys and indexes.
func Pointer(tokens ...string) string {
	if len(tokens) == 0 {
		return ""
	}
	var b strings.Builder
	for _, t := range tokens {
		b.WriteByte('/')
		b.WriteString(strings.ReplaceAll(strings.ReplaceAll(t, "~", "~0"), "/", "~1"))
	}
	return b.String()
}

func sorted(faults []Fault) []Fault {
	slices.SortFunc(faults, func(a, b Fault) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Keyword, b.Keyword), cmp.Compare(a.Message, b.Message))
	})
	return slices.Compact(faults)
}

// InvalidSchemaError says why a document is not a usable JSON Schema. Paths point into the schema document.
type InvalidSchemaError struct {
	Name   string
	Faults []Fault
}

func (e *InvalidSchemaError) Error() string {
	lines := make([]string, len(e.Faults))
	for i, f := range e.Faults {
		lines[i] = f.String()
	}
	return fmt.Sprintf("schema %s: %s", e.Name, strings.Join(lines, "; "))
}

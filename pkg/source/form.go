package source

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/outerloop-dev/outerloop/pkg/problem"
	"github.com/outerloop-dev/outerloop/pkg/schema"
)

// MaxProblems is how many problems of one file are told at a time.
const MaxProblems = 200

// Reader collects what is wrong while forms are read, up to MaxProblems.
type Reader struct{ problems problem.Problems }

// Fault adds a problem at a node.
func (r *Reader) Fault(n *Node, code, format string, args ...any) {
	if !r.full(n) {
		r.problems = append(r.problems, n.Problem(code, fmt.Sprintf(format, args...)))
	}
}

// full tells whether so much is wrong that the rest is not told; the last
// problem says so.
func (r *Reader) full(n *Node) bool {
	if len(r.problems) == MaxProblems {
		r.problems = append(r.problems, n.Problem("E102", fmt.Sprintf("More than %d problems stand in this file. The rest is told when these are put right.", MaxProblems)))
	}
	return len(r.problems) > MaxProblems
}

// Problems are all that were found, in the order of finding.
func (r *Reader) Problems() problem.Problems { return r.problems }

// Codec reads one sort of value and describes it for editors.
type Codec[V any] interface {
	// Read gives the value; false when the node does not fit, with a problem added.
	Read(r *Reader, n *Node) (V, bool)
	// Schema is the JSON Schema of what Read accepts.
	Schema(defs Definitions) map[string]any
}

// Definitions are the $defs of a JSON Schema under construction, by form.
type Definitions map[string]any

// Field is one key of a form over T.
type Field[T any] struct {
	name     string
	doc      string
	required bool
	read     func(r *Reader, n *Node, into *T)
	schema   func(defs Definitions) map[string]any
}

// Key declares a key, its codec and where its value goes.
func Key[T, V any](name string, codec Codec[V], at func(*T) *V) Field[T] {
	return Field[T]{
		name: name,
		read: func(r *Reader, n *Node, into *T) {
			if v, ok := codec.Read(r, n); ok {
				*at(into) = v
			}
		},
		schema: codec.Schema,
	}
}

// Needed marks the key as required.
func (f Field[T]) Needed() Field[T] {
	f.required = true
	return f
}

// Says documents the key, for editors and for messages about its absence.
func (f Field[T]) Says(doc string) Field[T] {
	f.doc = doc
	return f
}

// Form is the table of a mapping's keys: it reads, finds unknown and missing
// keys, and describes itself for editors.
type Form[T any] struct {
	name   string
	doc    string
	fields []Field[T]
	finish func(r *Reader, n *Node, v *T)
}

// NewForm makes a form; the name is what messages call the mapping ("a step").
func NewForm[T any](name, doc string, fields ...Field[T]) *Form[T] {
	return &Form[T]{name: name, doc: doc, fields: fields}
}

// Then adds what is done after the keys were read: checks between keys, defaults.
func (f *Form[T]) Then(finish func(r *Reader, n *Node, v *T)) *Form[T] {
	f.finish = finish
	return f
}

// Keys are the names of the form's keys, in its order.
func (f *Form[T]) Keys() []string {
	names := make([]string, len(f.fields))
	for i, field := range f.fields {
		names[i] = field.name
	}
	return names
}

// Read reads a mapping; it is false only when the node is no mapping.
func (f *Form[T]) Read(r *Reader, n *Node) (T, bool) {
	var v T
	meant := map[string]bool{} // keys that an unknown one was taken for
	if n.Kind != Mapping {
		r.Fault(n, "E112", "%s is a mapping of keys to values, not %s.\nKeys: %s.", upperFirst(f.name), article(n), strings.Join(f.Keys(), ", "))
		return v, false
	}
	for _, pair := range n.Pairs {
		i := slices.IndexFunc(f.fields, func(field Field[T]) bool { return field.name == pair.Key.Text })
		if i < 0 {
			meant[f.unknown(r, pair)] = true
			continue
		}
		f.fields[i].read(r, pair.Value, &v)
	}
	for _, field := range f.fields {
		if field.required && n.Get(field.name) == nil && !meant[field.name] {
			r.Fault(n, MissingCode(field.name), "%s needs %q%s.", upperFirst(f.name), field.name, because(field.doc))
		}
	}
	if f.finish != nil {
		f.finish(r, n, &v)
	}
	return v, true
}

// missingCodes are the keys whose absence has a code of its own.
var missingCodes = map[string]string{"max_items": "E211", "output": "E225"}

// MissingCode is the code for a missing key.
func MissingCode(key string) string {
	if code, own := missingCodes[key]; own {
		return code
	}
	return "E111"
}

func because(doc string) string {
	if doc == "" {
		return ""
	}
	return ": " + strings.TrimSuffix(doc, ".")
}

// unknown reports a key that the form lacks and answers the key that was
// likely meant; empty: none is near.
func (f *Form[T]) unknown(r *Reader, pair Pair) (nearest string) {
	if r.full(pair.Key) {
		return ""
	}
	message := fmt.Sprintf("%s has no key %q.", upperFirst(f.name), pair.Key.Text)
	names := slices.Sorted(slices.Values(f.Keys()))
	if nearest = schema.Nearest(pair.Key.Text, names); nearest != "" {
		message += fmt.Sprintf(" Did you mean %q?", nearest)
	} else {
		message += "\nKeys: " + strings.Join(f.Keys(), ", ") + "."
	}
	r.problems = append(r.problems, pair.Key.File.Problem("E110", pair.Key.At, utf8.RuneCountInString(pair.Key.Text), message))
	return nearest
}

// Schema registers the form among the definitions and refers to it.
func (f *Form[T]) Schema(defs Definitions) map[string]any {
	key := strings.ReplaceAll(strings.TrimPrefix(strings.TrimPrefix(f.name, "an "), "a "), " ", "-")
	ref := map[string]any{"$ref": "#/$defs/" + key}
	if _, known := defs[key]; known {
		return ref
	}
	out := map[string]any{"type": "object", "additionalProperties": false}
	defs[key] = out
	properties := map[string]any{}
	required := []any{}
	for _, field := range f.fields {
		property := field.schema(defs)
		if field.doc != "" {
			property["description"] = field.doc
		}
		properties[field.name] = property
		if field.required {
			required = append(required, field.name)
		}
	}
	out["properties"] = properties
	if len(required) > 0 {
		out["required"] = required
	}
	if f.doc != "" {
		out["description"] = f.doc
	}
	return ref
}

// Document is the JSON Schema of a file of this form, for editors.
func (f *Form[T]) Document(title string) map[string]any {
	defs := Definitions{}
	ref := f.Schema(defs)
	return map[string]any{
		"$schema": "https://json-schema.org/draft/2020-12/schema",
		"title":   title,
		"$ref":    ref["$ref"],
		"$defs":   map[string]any(defs),
	}
}

// article names a node's kind in a sentence.
func article(n *Node) string {
	switch n.Kind {
	case Mapping, Sequence, Int, Float:
		return "a " + string(n.Kind)
	case Text:
		return "the text " + fmt.Sprintf("%q", shorten(n.Text))
	}
	return n.Text
}

// figure is article, but a number as it is written: it is the number that does not fit.
func figure(n *Node) string {
	if n.Kind == Int || n.Kind == Float {
		return shorten(n.Text)
	}
	return article(n)
}

func shorten(text string) string {
	if utf8.RuneCountInString(text) <= 40 {
		return text
	}
	return string([]rune(text)[:39]) + "…"
}

// Package source reads the YAML of loops, charters and project files: one
// reader with positions for every key and value, caps on size, depth and
// aliases, and clear errors for YAML's traps. Forms, the tables of keys, drive
// reading, the check for unknown keys and the JSON Schemas for editors alike.
package source

import (
	"encoding/json"
	"strconv"
)

// Kind is the sort of a node.
type Kind string

// The kinds of nodes. A scalar in quotes is always Text.
const (
	Mapping  Kind = "mapping"
	Sequence Kind = "list"
	Text     Kind = "text"
	Int      Kind = "whole number"
	Float    Kind = "number"
	Bool     Kind = "true or false"
	Null     Kind = "null"
)

// Position is a place in a file; line and column count from 1, the column in
// characters.
type Position struct {
	Line   int `json:"line"`
	Column int `json:"column"`
}

// Node is one value of a file. It is immutable after reading.
type Node struct {
	// Kind is what the value is.
	Kind Kind
	// Text is a scalar's text: without its quotes, and for numbers as written.
	Text string
	// Quoted tells whether a scalar stood in quotes or in a block (| or >).
	Quoted bool
	// Pairs are a mapping's entries in the order of the file.
	Pairs []Pair
	// Items are a list's values.
	Items []*Node
	// File is where the node stands.
	File *File
	// At is the first character of the value, quotes included.
	At Position
}

// Pair is one entry of a mapping.
type Pair struct {
	Key   *Node
	Value *Node
}

// Get is the value of a mapping's key; nil when absent or n is no mapping.
func (n *Node) Get(key string) *Node {
	if pair := n.pair(key); pair != nil {
		return pair.Value
	}
	return nil
}

// Key is the key itself as a node, for messages about the entry; n where it is absent.
func (n *Node) Key(key string) *Node {
	if pair := n.pair(key); pair != nil {
		return pair.Key
	}
	return n
}

// Find follows keys down; it gives the deepest node that exists, for messages.
func (n *Node) Find(path ...string) *Node {
	for _, key := range path {
		next := n.Get(key)
		if next == nil {
			return n
		}
		n = next
	}
	return n
}

func (n *Node) pair(key string) *Pair {
	if n == nil {
		return nil
	}
	for i := range n.Pairs {
		if n.Pairs[i].Key.Text == key {
			return &n.Pairs[i]
		}
	}
	return nil
}

// Plain is the node as a tree of maps, lists and scalars (int64, float64,
// string, bool, nil), as encoding/json would give it but for whole numbers.
func (n *Node) Plain() any {
	switch n.Kind {
	case Mapping:
		out := make(map[string]any, len(n.Pairs))
		for _, pair := range n.Pairs {
			out[pair.Key.Text] = pair.Value.Plain()
		}
		return out
	case Sequence:
		out := make([]any, len(n.Items))
		for i, item := range n.Items {
			out[i] = item.Plain()
		}
		return out
	}
	return n.scalar()
}

func (n *Node) scalar() any {
	switch n.Kind {
	case Int:
		if i, err := strconv.ParseInt(n.Text, 10, 64); err == nil {
			return i
		}
	case Float:
		if f, err := strconv.ParseFloat(n.Text, 64); err == nil {
			return f
		}
	case Bool:
		return n.Text == "true"
	case Null:
		return nil
	}
	return n.Text
}

// JSON is Plain as canonical JSON (sorted keys).
func (n *Node) JSON() json.RawMessage {
	raw, err := json.Marshal(n.Plain())
	if err != nil {
		return json.RawMessage("null")
	}
	return raw
}

// Expr is a CEL expression as written; Node is nil where it was left out.
type Expr struct {
	Text string
	Node *Node
}

// Set tells whether the expression was written.
func (e Expr) Set() bool { return e.Node != nil }

// Value is a value as written, in which texts may hold ${ CEL }; Node is nil
// where it was left out.
type Value struct{ Node *Node }

// Set tells whether the value was written.
func (v Value) Set() bool { return v.Node != nil }

// Schema names a JSON Schema: a path relative to its file, or one written in
// place; Node is nil where it was left out.
type Schema struct {
	// Path is the cleaned path from the project's root; empty for an inline schema.
	Path string
	// Node is the text of the path, or the inline schema.
	Node *Node
}

// Set tells whether the schema was given.
func (s Schema) Set() bool { return s.Node != nil }

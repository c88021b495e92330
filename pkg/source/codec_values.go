package source

import (
	"path"
	"strings"
)

// Rule is a CEL expression.
func Rule() Codec[Expr] {
	return codec[Expr]{func(r *Reader, n *Node) (Expr, bool) {
		if n.Kind == Mapping || n.Kind == Sequence || n.Kind == Null {
			r.Fault(n, "E116", "A rule belongs here, not %s. A rule with { } [ ] or a comma stands in quotes.", article(n))
			return Expr{}, false
		}
		if strings.Contains(n.Text, "${") {
			r.Fault(n, "E123", "A rule is CEL already: write it without ${ }.")
			return Expr{}, false
		}
		return Expr{Text: n.Text, Node: n}, true
	}, fixed(map[string]any{"type": []any{"string", "boolean", "number"}, "$comment": "a CEL rule"})}
}

// Any is a value in which texts may hold ${ CEL }.
func Any() Codec[Value] {
	return codec[Value]{func(_ *Reader, n *Node) (Value, bool) { return Value{Node: n}, true },
		fixed(map[string]any{"$comment": "a value; texts may hold ${ CEL }"})}
}

// Phrase is a text that may hold ${ CEL }.
func Phrase() Codec[Value] {
	return codec[Value]{func(r *Reader, n *Node) (Value, bool) {
		if n.Kind == Mapping || n.Kind == Sequence || n.Kind == Null || n.Text == "" {
			r.Fault(n, "E112", "A text belongs here, not %s.", article(n))
			return Value{}, false
		}
		return Value{Node: n}, true
	}, fixed(map[string]any{"type": []any{"string", "number", "boolean"}, "$comment": "a text; it may hold ${ CEL }"})}
}

// Fields is a mapping of names to values in which texts may hold ${ CEL }.
func Fields() Codec[Value] {
	return codec[Value]{func(r *Reader, n *Node) (Value, bool) {
		if n.Kind != Mapping && (n.Kind != Text || !strings.Contains(n.Text, "${")) {
			r.Fault(n, "E112", "A mapping of fields to values belongs here, not %s.", article(n))
			return Value{}, false
		}
		return Value{Node: n}, true
	}, fixed(map[string]any{"type": []any{"object", "string"}, "$comment": "fields; texts may hold ${ CEL }"})}
}

// SchemaRef is the path of a JSON Schema relative to its file, or one in place.
func SchemaRef() Codec[Schema] {
	return codec[Schema]{func(r *Reader, n *Node) (Schema, bool) {
		switch {
		case n.Kind == Mapping:
			return Schema{Node: n}, true
		case n.Kind == Text && n.Text != "":
			if p, ok := Relative(r, n); ok {
				return Schema{Path: p, Node: n}, true
			}
			return Schema{}, false
		}
		r.Fault(n, "E112", "The path of a JSON Schema, or a schema in place, belongs here, not %s.", article(n))
		return Schema{}, false
	}, fixed(map[string]any{"type": []any{"string", "object"}, "$comment": "the path of a JSON Schema, or one in place"})}
}

// Relative resolves a path against the directory of its file; it stays in the project.
func Relative(r *Reader, n *Node) (string, bool) {
	if path.IsAbs(n.Text) || strings.Contains(n.Text, `\`) {
		r.Fault(n, "E132", "Paths are relative to the file and use /.")
		return "", false
	}
	p := path.Join(path.Dir(n.File.Path), n.Text)
	if p == ".." || strings.HasPrefix(p, "../") {
		r.Fault(n, "E132", "The path leads out of the project.")
		return "", false
	}
	return p, true
}

// FilePath is the path of a file, relative to the file that names it.
func FilePath() Codec[string] {
	return codec[string]{func(r *Reader, n *Node) (string, bool) {
		if n.Kind != Text || n.Text == "" {
			r.Fault(n, "E112", "A path belongs here, not %s.", article(n))
			return "", false
		}
		return Relative(r, n)
	}, fixed(map[string]any{"type": "string"})}
}

package source

// List is a list of values of one sort.
func List[V any](item Codec[V]) Codec[[]V] {
	return codec[[]V]{func(r *Reader, n *Node) ([]V, bool) {
		if n.Kind != Sequence {
			r.Fault(n, "E112", "A list belongs here, not %s. A list of one is [x].", article(n))
			return nil, false
		}
		out := make([]V, 0, len(n.Items))
		for _, child := range n.Items {
			if v, ok := item.Read(r, child); ok {
				out = append(out, v)
			}
		}
		return out, true
	}, func(defs Definitions) map[string]any {
		return map[string]any{"type": "array", "items": item.Schema(defs)}
	}}
}

// OneOrMore is a value or a list of them.
func OneOrMore[V any](item Codec[V]) Codec[[]V] {
	list := List(item)
	return codec[[]V]{func(r *Reader, n *Node) ([]V, bool) {
		if n.Kind == Sequence {
			return list.Read(r, n)
		}
		v, ok := item.Read(r, n)
		return []V{v}, ok
	}, func(defs Definitions) map[string]any {
		return map[string]any{"anyOf": []any{item.Schema(defs), list.Schema(defs)}}
	}}
}

// Entries is a mapping from names of a pattern to values of one sort; named
// puts the key into the value.
func Entries[V any](pattern string, item Codec[V], named func(v *V, key *Node)) Codec[[]V] {
	name := Name(pattern)
	return codec[[]V]{func(r *Reader, n *Node) ([]V, bool) {
		if n.Kind != Mapping {
			r.Fault(n, "E112", "A mapping of names to values belongs here, not %s.", article(n))
			return nil, false
		}
		out := make([]V, 0, len(n.Pairs))
		for _, pair := range n.Pairs {
			_, fits := name.Read(r, pair.Key)
			if v, ok := item.Read(r, pair.Value); ok && fits {
				named(&v, pair.Key)
				out = append(out, v)
			}
		}
		return out, true
	}, func(defs Definitions) map[string]any {
		return map[string]any{"type": "object", "additionalProperties": item.Schema(defs),
			"propertyNames": map[string]any{"pattern": pattern}}
	}}
}

// Pointer is a value that may be absent.
func Pointer[V any](item Codec[V]) Codec[*V] {
	return codec[*V]{func(r *Reader, n *Node) (*V, bool) {
		v, ok := item.Read(r, n)
		return &v, ok
	}, item.Schema}
}

// Lazily delays a codec, for forms that contain themselves.
func Lazily[V any](of func() Codec[V]) Codec[V] {
	return codec[V]{func(r *Reader, n *Node) (V, bool) { return of().Read(r, n) },
		func(defs Definitions) map[string]any { return of().Schema(defs) }}
}

// Custom makes a codec of a function and the JSON Schema of what it accepts.
func Custom[V any](jsonSchema map[string]any, read func(r *Reader, n *Node) (V, bool)) Codec[V] {
	return codec[V]{read, fixed(jsonSchema)}
}

// Either reads mappings with one codec and all else with another.
func Either[V any](mapping, other Codec[V]) Codec[V] {
	return codec[V]{func(r *Reader, n *Node) (V, bool) {
		if n.Kind == Mapping {
			return mapping.Read(r, n)
		}
		return other.Read(r, n)
	}, func(defs Definitions) map[string]any {
		return map[string]any{"anyOf": []any{other.Schema(defs), mapping.Schema(defs)}}
	}}
}

package source

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/quantity"
	"github.com/outerloop-dev/outerloop/pkg/schedule"
	"github.com/outerloop-dev/outerloop/pkg/schema"
)

// codec makes a Codec of two functions.
type codec[V any] struct {
	read   func(r *Reader, n *Node) (V, bool)
	schema func(defs Definitions) map[string]any
}

func (c codec[V]) Read(r *Reader, n *Node) (V, bool) { return c.read(r, n) }

func (c codec[V]) Schema(defs Definitions) map[string]any { return c.schema(defs) }

func fixed(schema map[string]any) func(Definitions) map[string]any {
	return func(Definitions) map[string]any {
		out := make(map[string]any, len(schema)+1)
		for k, v := range schema {
			out[k] = v
		}
		return out
	}
}

// Line is a text that is not empty.
func Line() Codec[string] {
	return codec[string]{func(r *Reader, n *Node) (string, bool) {
		if n.Kind != Text || strings.TrimSpace(n.Text) == "" {
			r.Fault(n, "E112", "A text belongs here, not %s. A number as a text stands in quotes.", article(n))
			return "", false
		}
		return n.Text, true
	}, fixed(map[string]any{"type": "string", "minLength": 1})}
}

// The patterns of names.
const (
	// Hyphened names loops, workers, actions, groups and the like.
	Hyphened = `^[a-z][a-z0-9]*(-[a-z0-9]+)*$`
	// Underscored names steps, items and facts in rules.
	Underscored = `^[a-z][a-z0-9]*(_[a-z0-9]+)*$`
	// Dotted names events.
	Dotted = `^[a-z][a-z0-9_-]*(\.[a-z][a-z0-9_-]*)*$`
	// Slashed names facts; * stands for any end.
	Slashed = `^[a-z][a-z0-9_-]*(/[A-Za-z0-9_.:-]+)*(/\*)?$`
)

var patternWords = map[string]string{
	Hyphened:    "lower-case letters, digits and single hyphens, beginning with a letter, such as crm-followup",
	Underscored: "lower-case letters, digits and single underscores, beginning with a letter, such as follow_up",
	Dotted:      "lower-case words joined by dots, such as session.closed",
	Slashed:     "words joined by slashes, such as dashboard/sales or order/*",
}

// MaxName is the greatest length of a name, in bytes.
const MaxName = 60

// Name is a text of a pattern.
func Name(pattern string) Codec[string] {
	expression := regexp.MustCompile(pattern)
	return codec[string]{func(r *Reader, n *Node) (string, bool) {
		if n.Kind != Text || !expression.MatchString(n.Text) || len(n.Text) > MaxName {
			r.Fault(n, "E115", "%s is no name here: write %s, of at most %d characters.", nameWords(n), patternWords[pattern], MaxName)
			return "", false
		}
		return n.Text, true
	}, fixed(map[string]any{"type": "string", "pattern": pattern, "maxLength": MaxName})}
}

func nameWords(n *Node) string {
	if n.Kind == Text {
		return fmt.Sprintf("%q", shorten(n.Text))
	}
	return upperFirst(article(n))
}

// Whole is a whole number between two bounds.
func Whole(low, high int) Codec[int] {
	return codec[int]{func(r *Reader, n *Node) (int, bool) {
		i, err := strconv.Atoi(n.Text)
		if n.Kind != Int || err != nil || i < low || i > high {
			r.Fault(n, "E112", "A whole number from %d to %d belongs here, not %s.", low, high, article(n))
			return 0, false
		}
		return i, true
	}, fixed(map[string]any{"type": "integer", "minimum": low, "maximum": high})}
}

// Decimal is a number that is not negative.
func Decimal() Codec[float64] {
	return codec[float64]{func(r *Reader, n *Node) (float64, bool) {
		f, err := strconv.ParseFloat(n.Text, 64)
		if n.Kind != Int && n.Kind != Float || err != nil || f < 0 {
			r.Fault(n, "E112", "A number that is not negative belongs here, not %s.", article(n))
			return 0, false
		}
		return f, true
	}, fixed(map[string]any{"type": "number", "minimum": 0})}
}

// Flag is true or false.
func Flag() Codec[bool] {
	return codec[bool]{func(r *Reader, n *Node) (bool, bool) {
		if n.Kind != Bool {
			r.Fault(n, "E112", "true or false belongs here, not %s.", article(n))
			return false, false
		}
		return n.Text == "true", true
	}, fixed(map[string]any{"type": "boolean"})}
}

// OneOf is one of some words.
func OneOf[V ~string](words ...V) Codec[V] {
	plain := make([]string, len(words))
	enum := make([]any, len(words))
	for i, w := range words {
		plain[i], enum[i] = string(w), string(w)
	}
	return codec[V]{func(r *Reader, n *Node) (V, bool) {
		if n.Kind == Text && slices.Contains(plain, n.Text) {
			return V(n.Text), true
		}
		message := fmt.Sprintf("One of %s belongs here, not %s.", strings.Join(plain, ", "), article(n))
		if nearest := schema.Nearest(n.Text, slices.Sorted(slices.Values(plain))); n.Kind == Text && nearest != "" {
			message += fmt.Sprintf(" Did you mean %q?", nearest)
		}
		r.Fault(n, "E113", "%s", message)
		return "", false
	}, fixed(map[string]any{"type": "string", "enum": enum})}
}

// parsed makes a codec of a parser of texts.
func parsed[V any](pattern string, parse func(string) (V, error)) Codec[V] {
	return codec[V]{func(r *Reader, n *Node) (V, bool) {
		var none V
		if n.Kind == Mapping || n.Kind == Sequence {
			r.Fault(n, "E114", "A text belongs here, not %s.", article(n))
			return none, false
		}
		v, err := parse(n.Text)
		if err != nil {
			r.Fault(n, "E114", "%s.", upperFirst(err.Error()))
			return none, false
		}
		return v, true
	}, fixed(map[string]any{"type": "string", "pattern": pattern})}
}

// Duration is "90s", "15m", "4h", "14d"; it is longer than nothing.
func Duration() Codec[time.Duration] {
	return parsed(`^[0-9]+[smhdwy]$`, func(text string) (time.Duration, error) {
		d, err := schedule.ParseDuration(text)
		if err == nil && d == 0 {
			err = fmt.Errorf("%q is no time at all: write at least 1s", text)
		}
		return d, err
	})
}

// Money is "0.50 USD".
func Money() Codec[quantity.Money] {
	return parsed(`^[0-9]+(\.[0-9]{1,6})? [A-Z]{3}$`, quantity.ParseMoney)
}

// Percent is "90%".
func Percent() Codec[quantity.Percent] {
	return parsed(`^[0-9]+(\.[0-9]{1,2})? ?%$`, quantity.ParsePercent)
}

var clockTime = regexp.MustCompile(`^([01][0-9]|2[0-3]):[0-5][0-9]$`)

// Clock is a time of day in quotes: "08:00".
func Clock() Codec[string] {
	return parsed(clockTime.String(), func(text string) (string, error) {
		if !clockTime.MatchString(text) {
			return "", fmt.Errorf("%q is no time of day: write hours and minutes in quotes, such as \"08:00\"", text)
		}
		return text, nil
	})
}

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

package schema

import (
	"fmt"
	"slices"
)

// Compatible says why a value of the producer's type cannot be used where the consumer's type is wanted, or nothing.
// Paths point into the value. It reports what is certain to go wrong for some value that the producer declares: a missing
// or optional field that the consumer requires, a wrong kind, null, an undeclared field, a value outside an enum, a
// constant that the consumer's schema refuses. What is unknown (any, a plain string for an enum or a format) is left to
// the check of the value itself.
func Compatible(producer, consumer *Type) []Fault {
	c := &comparison{seen: map[[2]*Type]bool{}}
	c.compare(producer, consumer, nil)
	return sorted(c.faults)
}

type comparison struct {
	seen   map[[2]*Type]bool
	faults []Fault
}

func (c *comparison) fault(path []string, keyword, format string, args ...any) {
	c.faults = append(c.faults, Fault{Path: Pointer(path...), Keyword: keyword, Message: fmt.Sprintf(format, args...)})
}

func (c *comparison) compare(p, w *Type, path []string) {
	pair := [2]*Type{p, w}
	if p == w || c.seen[pair] || p.Kind == Any || p.Kind == Never || w.Kind == Any {
		return
	}
	c.seen[pair] = true
	if p.Nullable && !w.Nullable && w.Kind != Null {
		c.fault(path, "type", "may be null, but must be %s; default(…) gives a value instead", w.NotNull())
	}
	if p.Kind == Null && w.Nullable {
		return
	}
	switch {
	case len(p.Variants) > 0 && (p.Kind == Union || len(w.Variants) > 0):
		for _, v := range p.Variants {
			c.compare(v, w, path)
		}
	case len(w.Variants) > 0:
		c.compareAny(p, w, path)
	default:
		c.compareKind(p, w, path)
	}
}

// compareAny looks for one alternative of the consumer that takes the value; where none does, it reports the nearest.
func (c *comparison) compareAny(p, w *Type, path []string) {
	var nearest []Fault
	for i, v := range w.Variants {
		try := &comparison{seen: map[[2]*Type]bool{}}
		try.compare(p.NotNull(), v, path)
		if len(try.faults) == 0 {
			return
		}
		if i == 0 || len(try.faults) < len(nearest) {
			nearest = try.faults
		}
	}
	if w.Kind == Union {
		c.fault(path, "type", "is %s, but must be %s", p.NotNull(), w)
		return
	}
	c.faults = append(c.faults, nearest...)
}

func (c *comparison) compareKind(p, w *Type, path []string) {
	switch {
	case w.Kind == Never:
		c.fault(path, "false", "is not allowed here")
	case p.Kind == Time || p.Kind == Span:
		c.compareTime(p, w, path)
	case p.Kind == Number && w.Kind == Int:
		if len(p.Enum) == 0 || slices.ContainsFunc(p.Enum, fractional) {
			c.fault(path, "type", "is a number, but must be an integer; int(…) cuts the fraction off")
		}
	case !sameKind(p.Kind, w.Kind):
		c.fault(path, "type", "is %s, but must be %s", p.NotNull(), w)
	case p.Kind == List:
		c.compare(p.Elem, w.Elem, append(slices.Clone(path), "[]"))
	case p.Kind == Object:
		c.compareObject(p, w, path)
	default:
		c.compareValues(p, w, path)
	}
}

func fractional(v any) bool {
	_, whole := toInt(v)
	return !whole
}

// compareTime knows how times and durations become JSON: as RFC 3339 text, and as seconds with an s.
func (c *comparison) compareTime(p, w *Type, path []string) {
	switch {
	case p.Kind == w.Kind:
	case w.Kind != String:
		c.fault(path, "type", "is %s, but must be %s", p.NotNull(), w)
	case p.Kind == Time && w.Format == "date":
		c.fault(path, "format", "is a point in time, but must be a date; day(…) gives the date")
	case p.Kind == Time && w.Format != "" && w.Format != "date-time", p.Kind == Span && w.Format != "" && w.Format != "duration", w.Enum != nil:
		c.fault(path, "format", "is %s, but must be %s", p.NotNull(), w)
	}
}

func (c *comparison) compareValues(p, w *Type, path []string) {
	if p.Format != "" && w.Format != "" && p.Format != w.Format && p.Kind == String {
		c.fault(path, "format", "has the format %s, but must have the format %s", p.Format, w.Format)
		return
	}
	for _, v := range p.Enum {
		switch {
		case w.Enum != nil && !contains(w.Enum, v):
			c.fault(path, "enum", "may be %s, but must be %s%s", show(v), oneOf(w.Enum), didYouMean(v, w.Enum))
		case w.Enum == nil && w.source != nil:
			for _, f := range (&Schema{body: &body{compiled: w.source, view: func() *Type { return w }}}).CheckValue(v) {
				c.fault(path, f.Keyword, "may be %s, but %s", show(v), f.Message)
			}
		}
	}
}

func (c *comparison) compareObject(p, w *Type, path []string) {
	for _, want := range w.fields {
		at := append(slices.Clone(path), want.Name)
		have, ok := p.Field(want.Name)
		switch {
		case !ok && want.Required:
			c.fault(at, "required", "is required, but not given%s", elsewhere(want.Name, p, w))
		case !ok:
		case want.Required && !have.Required:
			c.fault(at, "required", "is required, but may be absent; default(…) gives a value instead")
			c.compare(have.Type, want.Type, at)
		default:
			c.compare(have.Type, want.Type, at)
		}
	}
	for _, have := range p.fields {
		if _, named := w.Field(have.Name); !named && !w.Open {
			at := append(slices.Clone(path), have.Name)
			c.fault(at, "additionalProperties", "is not a known field%s", hint(have.Name, w.FieldNames()))
		} else if extra, _ := w.Field(have.Name); named && w.Extra != nil && extra.Type == w.Extra {
			c.compare(have.Type, w.Extra, append(slices.Clone(path), have.Name))
		}
	}
	if p.Extra != nil && w.Extra != nil {
		c.compare(p.Extra, w.Extra, append(slices.Clone(path), "*"))
	}
}

// elsewhere names a field of the producer that looks like a misspelling of the wanted one.
func elsewhere(name string, p, w *Type) string {
	var unused []string
	for _, f := range p.fields {
		if _, known := w.Field(f.Name); !known {
			unused = append(unused, f.Name)
		}
	}
	if near := Nearest(name, unused); near != "" {
		return fmt.Sprintf(" (there is %q)", near)
	}
	return ""
}

package schema

import (
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Kind is the sort of value that a Type describes.
type Kind string

// The kinds. Time and Span do not occur in schemas: they type the built-in names of rules, and become text in JSON.
const (
	Any    Kind = "any"       // unknown until it is there
	Never  Kind = "never"     // no value fits
	Null   Kind = "null"      // only null
	Bool   Kind = "boolean"   //
	Int    Kind = "integer"   // int64
	Number Kind = "number"    // float64
	String Kind = "string"    //
	List   Kind = "array"     // of Elem
	Object Kind = "object"    // named fields, and Extra
	Union  Kind = "union"     // one of Variants, of different kinds
	Time   Kind = "timestamp" // time.Time
	Span   Kind = "duration"  // time.Duration
)

// Type is what is known about a value before it is there. It is a view of a schema: all values that the schema allows fit
// the type, but not all that fit the type are allowed (patterns, lengths and the like are not part of it).
// Types may be recursive and are shared: do not change them.
type Type struct {
	Kind     Kind
	Format   string  // of String: date-time, date, email, uri, uuid, file, duration, …
	Enum     []any   // the only values allowed (a constant is an enum of one); nil: no such limit
	Nullable bool    // null is allowed as well
	Elem     *Type   // of List; never nil there
	Extra    *Type   // of Object: the type of fields that are not named; nil: see Open
	Open     bool    // of Object: the schema does not forbid other fields, but says nothing of them
	Variants []*Type // of Union: the alternatives; of Object: the forms that were merged, if it has several
	Title    string  // what the schema calls it

	fields []Field // sorted by name
	source *jsonschema.Schema
}

// Field is a named member of an object.
type Field struct {
	Name     string
	Type     *Type
	Required bool // present in every value; else it may be absent
}

// Scalar makes a type without further detail: Any, Null, Bool, Int, Number, String, Time or Span.
func Scalar(k Kind) *Type { return &Type{Kind: k} }

// EnumOf makes the type of a string that is one of the values.
func EnumOf(values ...string) *Type {
	t := &Type{Kind: String}
	for _, v := range values {
		t.Enum = append(t.Enum, v)
	}
	return t
}

// ListOf makes the type of a list.
func ListOf(elem *Type) *Type { return &Type{Kind: List, Elem: elem} }

// MapOf makes the type of an object with arbitrary keys.
func MapOf(elem *Type) *Type { return &Type{Kind: Object, Extra: elem} }

// ObjectOf makes the type of an object with exactly these fields.
func ObjectOf(fields ...Field) *Type {
	fields = slices.Clone(fields)
	slices.SortFunc(fields, func(a, b Field) int { return strings.Compare(a.Name, b.Name) })
	return &Type{Kind: Object, fields: fields}
}

// OrNull is the type that allows null as well.
func (t *Type) OrNull() *Type {
	if t.Nullable || t.Kind == Any || t.Kind == Null {
		return t
	}
	c := *t
	c.Nullable = true
	return &c
}

// NotNull is the type without null.
func (t *Type) NotNull() *Type {
	if !t.Nullable {
		return t
	}
	c := *t
	c.Nullable = false
	return &c
}

// Fields are the named fields of an object, sorted by name. Do not change them.
func (t *Type) Fields() []Field { return t.fields }

// FieldNames are the names of Fields.
func (t *Type) FieldNames() []string {
	names := make([]string, len(t.fields))
	for i, f := range t.fields {
		names[i] = f.Name
	}
	return names
}

// Field finds a field of an object: a named one, else one that Extra allows. A field that is only not forbidden (Open) is
// not found, unless the object names no fields at all.
func (t *Type) Field(name string) (Field, bool) {
	i, ok := slices.BinarySearchFunc(t.fields, name, func(f Field, n string) int { return strings.Compare(f.Name, n) })
	if ok {
		return t.fields[i], true
	}
	if t.Kind == Object && t.Extra != nil {
		return Field{Name: name, Type: t.Extra}, true
	}
	return Field{}, false
}

// UnknownFieldError says that a path leads nowhere in a type.
type UnknownFieldError struct {
	At         string   // JSON pointer to the object that lacks the field
	Name       string   // the field asked for
	Kind       Kind     // what stands at At
	Available  []string // its fields, sorted; empty where it is no object
	Suggestion string   // the nearest of them, or ""
}

func (e *UnknownFieldError) Error() string {
	where := "the value"
	if e.At != "" {
		where = e.At
	}
	if e.Kind != Object {
		return fmt.Sprintf("%s is %s, it has no field %q", where, article(string(e.Kind)), e.Name)
	}
	return fmt.Sprintf("%s has no field %q%s", where, e.Name, hint(e.Name, e.Available))
}

// Lookup follows a path of field names; in a list, any index or "[]" leads to its items. It says whether the value may be
// absent or null on the way. Errors are *UnknownFieldError.
func (t *Type) Lookup(path ...string) (found *Type, optional bool, err error) {
	for i, name := range path {
		optional = optional || t.Nullable
		switch t.Kind {
		case Any:
			return t, true, nil
		case List:
			if name == "[]" || isIndex(name) {
				t = t.Elem
				continue
			}
		case Object:
			if f, ok := t.Field(name); ok {
				t, optional = f.Type, optional || !f.Required
				continue
			}
		}
		return nil, false, &UnknownFieldError{
			At: Pointer(path[:i]...), Name: name, Kind: t.Kind,
			Available: t.FieldNames(), Suggestion: Nearest(name, t.FieldNames()),
		}
	}
	return t, optional, nil
}

func isIndex(s string) bool {
	for _, c := range s {
		if c < '0' || c > '9' {
			return false
		}
	}
	return s != ""
}

// String describes the type in a few words, such as "string (date-time) or null" or `"high" or "low"`.
func (t *Type) String() string {
	s := t.describe()
	if t.Nullable {
		s += " or null"
	}
	return s
}

func (t *Type) describe() string {
	switch {
	case len(t.Enum) > 0 && len(t.Enum) <= 6:
		words := make([]string, len(t.Enum))
		for i, v := range t.Enum {
			words[i] = show(v)
		}
		return orList(words)
	case t.Format != "":
		return fmt.Sprintf("%s (%s)", t.Kind, t.Format)
	case t.Kind == List && t.Elem.Kind != Any:
		return "array of " + string(t.Elem.Kind)
	case t.Kind == Union:
		words := make([]string, len(t.Variants))
		for i, v := range t.Variants {
			words[i] = string(v.Kind)
		}
		return orList(words)
	}
	return string(t.Kind)
}

package asl

import (
	"slices"
	"sort"
	"strings"

	"github.com/outerloop-dev/outerloop/pkg/asl/internal/rawjson"
)

// object is an object of the definition, with its place.
type object struct {
	l     *loader
	path  string
	value []byte
}

// object reports what is not an object.
func (l *loader) object(v []byte, path string) *object {
	if rawjson.KindOf(v) != rawjson.Object {
		l.schema(path, "Expected value of type [Object]")
		return nil
	}
	return &object{l, path, v}
}

func (o *object) at(field string) string { return o.path + "/" + field }

func (o *object) get(field string) ([]byte, bool) { return rawjson.Get(o.value, field) }

func (o *object) has(field string) bool {
	_, ok := o.get(field)
	return ok
}

// require reports fields that are not there, together.
func (o *object) require(fields ...string) {
	var missing []string
	for _, f := range fields {
		if !o.has(f) {
			missing = append(missing, f)
		}
	}
	if len(missing) > 0 {
		path := o.path
		if path == "" {
			path = "/"
		}
		o.l.schema(path, "These fields are required: [%s]", strings.Join(missing, ", "))
	}
}

// allow reports fields that are none of these.
func (o *object) allow(fields ...string) {
	for k := range rawjson.Members(o.value) {
		if name := rawjson.Text(k); !slices.Contains(fields, name) {
			o.unknown(name)
		}
	}
}

// unsupported says why a field of the language is not taken.
var unsupported = map[string]string{
	"ItemReader":   "ItemReader is not supported: pass the items in the state's input",
	"ResultWriter": "ResultWriter is not supported: results stay in the state's output",
	"Credentials":  "Credentials are not supported",
	"Arguments":    "Arguments is a field of JSONata states, which are not supported",
	"Output":       "Output is a field of JSONata states, which are not supported",
	"Items":        "Items is a field of JSONata states, which are not supported: use ItemsPath",
	"Condition":    "Condition is a field of JSONata states, which are not supported",
}

func (o *object) unknown(field string) {
	if why, ok := unsupported[field]; ok {
		o.l.report(codeUnsupported, o.at(field), "%s", why)
		return
	}
	o.l.schema(o.at(field), "Field is not supported")
}

func (o *object) queryLanguage() {
	v, ok := o.text("QueryLanguage")
	switch {
	case !ok || v == "JSONPath":
	case v == "JSONata":
		o.l.report(codeUnsupported, o.at("QueryLanguage"), "The query language JSONata is not supported: use JSONPath")
	default:
		o.l.schema(o.at("QueryLanguage"), "Value is not a valid query language: %q", v)
	}
}

// text returns a string field.
func (o *object) text(field string) (string, bool) {
	v, ok := o.get(field)
	if !ok {
		return "", false
	}
	if rawjson.KindOf(v) != rawjson.String {
		o.l.schema(o.at(field), "Expected value of type [String]")
		return "", false
	}
	return rawjson.Text(v), true
}

// whole returns an integer field within bounds.
func (o *object) whole(field string, least, most int64) (int64, bool) {
	v, ok := o.get(field)
	if !ok {
		return 0, false
	}
	n, whole := rawjson.Int(v)
	switch {
	case !whole:
		o.l.schema(o.at(field), "Expected value of type [Integer]")
	case n < least:
		o.l.schema(o.at(field), "Value must be at least %d but is %d", least, n)
	case n > most:
		o.l.schema(o.at(field), "Value must be at most %d but is %d", most, n)
	default:
		return n, true
	}
	return 0, false
}

// child returns an object field.
func (o *object) child(field string) (*object, bool) {
	v, ok := o.get(field)
	if !ok {
		return nil, false
	}
	c := o.l.object(v, o.at(field))
	return c, c != nil
}

// list returns an array field; empty ones are reported where something must
// be in them.
func (o *object) list(field string, nonEmpty bool) [][]byte {
	v, ok := o.get(field)
	if !ok {
		return nil
	}
	if rawjson.KindOf(v) != rawjson.Array {
		o.l.schema(o.at(field), "Expected value of type [Array]")
		return nil
	}
	all := rawjson.Split(v)
	if nonEmpty && len(all) == 0 {
		o.l.schema(o.at(field), "Value cannot be empty")
	}
	return all
}

// only reports all but one of fields that exclude each other, and none if one
// is needed.
func (o *object) only(needed bool, fields ...string) {
	var present []string
	for _, f := range fields {
		if o.has(f) {
			present = append(present, f)
		}
	}
	sort.Strings(fields)
	switch {
	case len(present) > 1:
		o.l.schema(o.path, "You cannot use more than one of these fields: [%s]", strings.Join(present, ", "))
	case len(present) == 0 && needed:
		o.l.schema(o.path, "One of these fields is required: [%s]", strings.Join(fields, ", "))
	}
}

package schema

import (
	"bytes"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// root is where a document stands while it is compiled; relative references resolve below it and are refused.
const root = "schema:///document"

var errOutside = errors.New("outside the document")

// closed is a loader that loads nothing.
type closed struct{}

func (closed) Load(string) (any, error) { return nil, errOutside }

func build(name string, raw []byte) (*body, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, &InvalidSchemaError{Name: name, Faults: []Fault{{Keyword: keywordJSON, Message: err.Error()}}}
	}
	switch doc.(type) {
	case map[string]any, bool:
	default:
		return nil, &InvalidSchemaError{Name: name, Faults: []Fault{{Keyword: "type", Message: "must be an object (or true or false) to be a JSON Schema"}}}
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	c.UseLoader(closed{})
	for _, annotation := range []string{"file", "duration"} {
		c.RegisterFormat(&jsonschema.Format{Name: annotation, Validate: func(any) error { return nil }})
	}
	if err := c.AddResource(root, doc); err != nil {
		return nil, invalid(name, err)
	}
	compiled, err := c.Compile(root)
	if err != nil {
		return nil, invalid(name, err)
	}
	b := &body{raw: raw, doc: doc, compiled: compiled, quick: quickOf(compiled, map[*jsonschema.Schema]*quick{})}
	b.view = sync.OnceValue(func() *Type { return derive(compiled) })
	return b, nil
}

// invalid maps the compiler's errors to faults that point into the schema document.
func invalid(name string, err error) error {
	var (
		meta    *jsonschema.SchemaValidationError
		load    *jsonschema.LoadURLError
		pointer *jsonschema.JSONPointerNotFoundError
		anchor  *jsonschema.AnchorNotFoundError
		regex   *jsonschema.InvalidRegexError
		result  []Fault
	)
	one := func(path, keyword, format string, args ...any) {
		result = []Fault{{Path: path, Keyword: keyword, Message: fmt.Sprintf(format, args...)}}
	}
	switch {
	case errors.As(err, &meta):
		var v *jsonschema.ValidationError
		if errors.As(meta.Err, &v) {
			result = sorted(flatten(v, nil))
		} else {
			one("", "$schema", "is not a JSON Schema: %v", meta.Err)
		}
	case errors.As(err, &load):
		one("", "$ref", "refers to %q: a $ref may only point into its own document (#/$defs/NAME)", strings.TrimPrefix(load.URL, "schema:///"))
	case errors.As(err, &pointer):
		one("", "$ref", "refers to %q, which does not exist in the document", fragment(pointer.URL))
	case errors.As(err, &anchor):
		one("", "$ref", "refers to the anchor %q, which does not exist in the document", fragment(anchor.Reference))
	case errors.As(err, &regex):
		one(fragment(regex.URL), "pattern", "has a pattern that is not a regular expression (RE2, no look-around): %v", regex.Err)
	default:
		one("", "$schema", "is not a usable JSON Schema: %s", strings.ReplaceAll(err.Error(), root, ""))
	}
	return &InvalidSchemaError{Name: name, Faults: result}
}

func fragment(location string) string {
	_, frag, found := strings.Cut(location, "#")
	if !found {
		return location
	}
	if plain, err := url.PathUnescape(frag); err == nil {
		frag = plain
	}
	return frag
}

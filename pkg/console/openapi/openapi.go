// Package openapi writes the OpenAPI document of the console's API from its
// routes, the Go types that it answers with, and their doc comments: there is no
// second description that could differ. It is a tool of the build; no program
// links it.
package openapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/outerloop-dev/outerloop/pkg/console"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/remote"
)

// object is a JSON object under construction; encoding sorts its keys.
type object = map[string]any

const about = `Runs, what waits for people, what was done outside, and the decisions about them.

On AWS the API is reached by lambda:InvokeFunction of the console's function with an event of payload format 2.0, which is what a function URL sends; IAM decides who may. Elsewhere it is plain HTTP. Lists come by pages: while an answer has a "next", the same request with after=NEXT gives the following page. Every answer that is no success is an Error document; a caller branches on its code.`

// Build writes the document; root is the module's directory, whose sources hold
// the comments.
func Build(root string) ([]byte, error) {
	said, err := comments(root)
	if err != nil {
		return nil, err
	}
	b := &builder{comments: said, schemas: object{}}
	paths := object{}
	for _, route := range console.Routes() {
		operations, ok := paths[route.Path].(object)
		if !ok {
			operations = object{}
			paths[route.Path] = operations
		}
		operations[strings.ToLower(route.Method)] = b.operation(route)
	}
	b.errors()
	doc := object{
		"openapi":    "3.1.0",
		"info":       object{"title": "outerloop console", "version": "1", "description": about, "license": object{"name": "Apache-2.0", "identifier": "Apache-2.0"}},
		"servers":    []object{{"url": "/"}},
		"paths":      paths,
		"components": object{"schemas": b.schemas},
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err = enc.Encode(doc)
	return out.Bytes(), err
}

type builder struct {
	comments map[string]string
	schemas  object
}

func (b *builder) operation(r console.Route) object {
	var params []object
	for _, part := range strings.Split(r.Path, "/") {
		if strings.HasPrefix(part, "{") {
			name := strings.Trim(part, "{}")
			params = append(params, object{"name": name, "in": "path", "required": true, "schema": object{"type": "string"},
				"description": "The " + name + "'s id."})
		}
	}
	for _, p := range r.Query {
		kind := object{"type": p.Kind}
		if p.Kind == "integer" {
			kind["minimum"], kind["maximum"] = 1, 1000
		}
		params = append(params, object{"name": p.Name, "in": "query", "required": p.Required, "schema": kind, "description": p.Says})
	}
	failure := "No success: see code."
	if len(r.Errors) > 0 {
		failure = "No success. Of this operation in particular: " + strings.Join(r.Errors, ", ") + "."
	}
	out := object{
		"operationId": r.Name, "summary": r.Says,
		"responses": object{
			"200":     object{"description": "Done.", "content": content(b.schema(r.Answer))},
			"default": object{"description": failure, "content": content(ref("Error"))},
		},
	}
	if len(params) > 0 {
		out["parameters"] = params
	}
	if r.Body != nil {
		out["requestBody"] = object{"required": r.Body.NumField() > 0, "content": content(b.schema(r.Body))}
	}
	return out
}

func content(schema object) object { return object{"application/json": object{"schema": schema}} }

func ref(name string) object { return object{"$ref": "#/components/schemas/" + name} }

// errors describes the document of every failure.
func (b *builder) errors() {
	codes := append(slices.Collect(maps.Keys(remote.Codes())), "no_route", "method")
	slices.Sort(codes)
	var statuses []string
	for _, code := range codes {
		status, ok := remote.Codes()[code]
		switch {
		case code == "no_route":
			status = http.StatusNotFound
		case !ok:
			status = http.StatusMethodNotAllowed
		}
		statuses = append(statuses, fmt.Sprintf("%s %d", code, status))
	}
	b.schemas["Error"] = object{
		"type": "object", "required": []string{"error"},
		"properties": object{"error": object{
			"type": "object", "required": []string{"code", "message"},
			"properties": object{
				"code":    object{"type": "string", "enum": codes, "description": "What a caller branches on. The statuses: " + strings.Join(statuses, ", ") + "."},
				"message": object{"type": "string", "description": "What happened, for people."},
				"details": object{"type": "object", "description": "The fields of the error, where it has some: of input, other_input, overlap, budget, decided."},
			},
		}},
	}
}

// schema is a type's JSON Schema; structs with a name are components.
func (b *builder) schema(t reflect.Type) object {
	switch {
	case t == reflect.TypeFor[json.RawMessage]():
		return object{"description": "any JSON value"}
	case t.PkgPath() == "time" && t.Name() == "Time":
		return object{"type": "string", "format": "date-time"}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return object{"anyOf": []object{b.schema(t.Elem()), {"type": "null"}}}
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return object{"type": "string", "contentEncoding": "base64"}
		}
		return object{"type": "array", "items": b.schema(t.Elem())}
	case reflect.Map:
		return object{"type": "object", "additionalProperties": b.schema(t.Elem())}
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Float64:
		return object{"type": "number"}
	case reflect.Int, reflect.Int64:
		return object{"type": "integer"}
	case reflect.Struct:
		return b.structure(t)
	}
	return object{"type": "string"}
}

// structure is an object's schema, as a component where the type has a name.
func (b *builder) structure(t reflect.Type) object {
	name := t.Name()
	if name == "" {
		return object{"type": "object"}
	}
	if generic, of, ok := strings.Cut(name, "["); ok {
		of = strings.TrimSuffix(of, "]")
		of = of[strings.LastIndexAny(of, "./")+1:]
		name = generic + "Of" + strings.ToUpper(of[:1]) + of[1:]
	}
	if _, done := b.schemas[name]; done {
		return ref(name)
	}
	properties, required := object{}, []string{}
	b.schemas[name] = object{} // for types that hold themselves
	b.fields(t, properties, &required)
	s := object{"type": "object", "properties": properties}
	if len(required) > 0 {
		s["required"] = required
	}
	if said := b.comments[key(t)]; said != "" {
		s["description"] = said
	}
	b.schemas[name] = s
	return ref(name)
}

// fields adds the fields of a struct, those of embedded ones too.
func (b *builder) fields(t reflect.Type, properties object, required *[]string) {
	for i := range t.NumField() {
		f := t.Field(i)
		tag, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && tag == "" {
			b.fields(f.Type, properties, required)
			continue
		}
		if tag == "-" || !f.IsExported() {
			continue
		}
		if tag == "" {
			tag = f.Name
		}
		s := b.schema(f.Type)
		if said := b.comments[key(t)+"."+f.Name]; said != "" {
			s["description"] = said // beside a $ref too, as JSON Schema 2020-12 has it
		}
		properties[tag] = s
		if !strings.Contains(options, "omitempty") && !strings.Contains(options, "omitzero") {
			*required = append(*required, tag)
		}
	}
}

func key(t reflect.Type) string {
	name, _, _ := strings.Cut(t.Name(), "[")
	return t.PkgPath() + "." + name
}

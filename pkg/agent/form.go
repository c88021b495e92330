package agent

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/outerloop-dev/outerloop/pkg/schema"
)

// AnswerForm is the form of an agent's whole answer: its output by the charter's
// schema, and what a worker says beside it (confidence with reason, evidence,
// decisions, open questions). It is immutable and safe for concurrent use.
type AnswerForm struct {
	schema *schema.Schema
	name   string
}

// frame is what stands around the output. All fields are required, and no
// others allowed, so that providers can enforce it.
const frame = `{
	"type": "object", "additionalProperties": false,
	"required": ["output", "confidence", "reason", "evidence", "decisions", "unresolved"],
	"properties": {
		"output": {},
		"confidence": {"type": "string", "enum": ["high", "medium", "low"], "description": "how sure you are of the output"},
		"reason": {"type": "string", "description": "why you are that sure, in one sentence"},
		"evidence": {"type": "array", "description": "each factual claim of the output with the place it comes from",
			"items": {"type": "object", "additionalProperties": false, "required": ["claim", "source", "at"], "properties": {
				"claim": {"type": "string"},
				"source": {"type": "string", "description": "the name of a data block, or of a field in it"},
				"at": {"type": "string", "description": "where in the source; may be empty"}}}},
		"decisions": {"type": "array", "items": {"type": "string"}, "description": "what you decided, and by which rule"},
		"unresolved": {"type": "array", "items": {"type": "string"}, "description": "questions that only a person can answer"}
	}
}`

// NewForm makes the form of a worker's answer from the JSON Schema of its output.
func NewForm(name string, output json.RawMessage) (*AnswerForm, error) {
	own, faults := schema.Decode(output)
	if len(faults) > 0 {
		return nil, fmt.Errorf("reading the output schema of %s: %w", name, &schema.InvalidSchemaError{Name: name, Faults: faults})
	}
	doc, faults := schema.Decode([]byte(frame))
	if len(faults) > 0 {
		return nil, &schema.InvalidSchemaError{Name: "frame", Faults: faults}
	}
	whole := doc.(map[string]any)
	moved := map[string]any{}
	whole["properties"].(map[string]any)["output"] = within(own, moved)
	for key, definitions := range moved {
		whole[key] = definitions
	}
	compiled, err := schema.FromValue(name, whole)
	if err != nil {
		return nil, fmt.Errorf("building the answer's schema of %s: %w", name, err)
	}
	return &AnswerForm{schema: compiled, name: strings.ReplaceAll(name, ".", "-")}, nil
}

// Form is what a request asks a model for.
func (f *AnswerForm) Form() *Form { return &Form{Name: f.name, Schema: f.schema.Raw()} }

// outputPlace is where the output's schema stands in the frame.
const outputPlace = "#/properties/output"

// within prepares a schema to stand inside another document: its definitions
// move to the top, where references find them as before, and references to
// other places follow the schema. References elsewhere than into the document
// do not exist (package schema refuses them).
func within(own any, moved map[string]any) any {
	top, ok := own.(map[string]any)
	if !ok {
		return own
	}
	for _, key := range []string{"$defs", "definitions"} {
		if definitions, has := top[key]; has {
			moved[key] = redirected(definitions)
			delete(top, key)
		}
	}
	delete(top, "$schema")
	delete(top, "$id")
	return redirected(top)
}

// values are keywords whose value is data, not a schema.
var values = []string{"const", "default", "enum", "examples"}

func redirected(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, member := range v {
			text, isText := member.(string)
			switch {
			case key == "$ref" && isText:
				v[key] = redirect(text)
			case !slices.Contains(values, key):
				v[key] = redirected(member)
			}
		}
	case []any:
		for i := range v {
			v[i] = redirected(v[i])
		}
	}
	return v
}

func redirect(ref string) string {
	path, local := strings.CutPrefix(ref, "#")
	anchor := path != "" && path[0] != '/'
	if !local || anchor || strings.HasPrefix(path, "/$defs/") || strings.HasPrefix(path, "/definitions/") {
		return ref
	}
	return outputPlace + path
}

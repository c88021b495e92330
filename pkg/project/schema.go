package project

import (
	"encoding/json"
	"fmt"

	"github.com/outerloop-dev/outerloop/pkg/charter"
	"github.com/outerloop-dev/outerloop/pkg/loop"
	"github.com/outerloop-dev/outerloop/pkg/registry"
)

// SchemaKinds are the kinds of files that EditorSchema knows.
var SchemaKinds = []string{"loop", "charter", "project"}

// EditorSchema is the JSON Schema of a kind of file, for editors. It is made of
// the same tables that read the files. Rules and what keys demand of each other
// are checked by Load only.
func EditorSchema(kind string) ([]byte, error) {
	var document map[string]any
	switch kind {
	case "loop":
		document = loop.Form().Document("A loop of outerloop")
	case "charter":
		document = charter.Form().Document("A charter of outerloop")
	case "project":
		document = registry.Form().Document("A project file of outerloop")
	default:
		return nil, fmt.Errorf("no schema of %q: there are loop, charter and project", kind)
	}
	raw, err := json.MarshalIndent(document, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("writing the schema of %s: %w", kind, err)
	}
	return append(raw, '\n'), nil
}

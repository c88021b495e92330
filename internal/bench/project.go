package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// The workloads, by the names of their loops.
const (
	w1 = "w1"
	w2 = "w2"
)

const projectFile = `project: bench
zone: Europe/Berlin
budget: {per_month: 1000000 USD}
people: {me: {email: me@example.com}}
groups: {all: {members: [me], alert: [email]}}
`

const charterFile = `worker: noop
version: 1
owner: all
objective: Nothing is done, and the input is given back.
kind: go
input: schemas/document.json
output: schemas/document.json
reads: []
writes: []
tools: {}
authority: recommend
risk: low
success: {metric: none, at_least: 100%}
fails_with: [timeout, fatal]
dispatch: {mode: direct, timeout: 60s}
`

const schemaFile = `{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "required": ["id", "count", "tags", "text"],
  "additionalProperties": false,
  "properties": {
    "id": {"type": "string", "minLength": 1, "maxLength": 100},
    "count": {"type": "integer", "minimum": 0},
    "tags": {"type": "array", "maxItems": 20, "items": {"type": "string", "maxLength": 40}},
    "text": {"type": "string", "maxLength": 2000}
  }
}
`

const loopHead = `loop: %s
version: 1
owner: all
objective: Nothing, fast.
subject: ${input.id}
triggers: []
input: schemas/document.json
budget: {cost: 1.00 USD, deadline: 1h, otherwise: ask}
defaults:
  on_failure: {retry: {timeout: 1}, then: halt}
steps:
`

// step is a step of the loop: it reads the one before it and has one rule.
func step(name, input, indent string) string {
	return strings.ReplaceAll(fmt.Sprintf(`%s:
  worker: noop
  input: %s
  accept:
    - rule: output.count >= 0 && output.text.size() > 0
      say: The document is whole.
`, name, input), "\n", "\n"+indent)
}

func document(from string) string {
	return fmt.Sprintf(`{id: "${%[1]s.id}", count: "${%[1]s.count}", tags: "${%[1]s.tags}", text: "${%[1]s.text}"}`, from)
}

func loopW1() string {
	var b strings.Builder
	fmt.Fprintf(&b, loopHead, w1)
	from := "input"
	for _, name := range []string{"first", "second", "third", "fourth"} {
		b.WriteString("  " + step(name, document(from), "  ") + "\n")
		from = name
	}
	return b.String()
}

func loopW2() string {
	var b strings.Builder
	fmt.Fprintf(&b, loopHead, w2)
	b.WriteString("  " + step("first", document("input"), "  ") + "\n  middle:\n    branches:\n")
	for i := range 20 {
		b.WriteString("      " + step(fmt.Sprintf("part%02d", i+1), document("first"), "      ") + "\n")
	}
	b.WriteString("    join: {need: all, otherwise: halt}\n")
	b.WriteString("  " + step("last", document("middle.part01"), "  ") + "\n")
	return b.String()
}

// files is the project of the lone workloads.
func files() map[string]string {
	return map[string]string{
		"outerloop.yaml":                               projectFile,
		"statemachines/" + w1 + ".loop.yaml":           loopW1(),
		"statemachines/" + w2 + ".loop.yaml":           loopW2(),
		"statemachines/schemas/document.json":          schemaFile,
		"functions/workers/noop/charter.yaml":          charterFile,
		"functions/workers/noop/schemas/document.json": schemaFile,
	}
}

// write makes files in the project's directory.
func write(dir string, files map[string]string) error {
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

package coordinator

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/loop"
	"github.com/outerloop-dev/outerloop/pkg/schema"
)

type revealed struct{}

// Reveal gives a context in which the readers show sensitive fields as they are:
// for who has to decide about them. Without it they read schema.Redacted (R25).
func Reveal(ctx context.Context) context.Context {
	return context.WithValue(ctx, revealed{}, true)
}

// leastHidden is how long a sensitive text must be, in bytes, to be looked for
// in sentences: shorter ones would take words with them.
const leastHidden = 4

// sensitiveNames are the names of the fields that the project marks. A value
// keeps its field's name on its way through steps, so that a field of that name
// is sensitive wherever it stands.
func sensitiveNames(def *loop.Definition) []string {
	if def == nil || def.Project == nil {
		return nil
	}
	var names []string
	for _, fact := range def.Project.Facts {
		for _, path := range fact.Sensitive {
			names = append(names, path[strings.LastIndexByte(path, '.')+1:])
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// shown is what people see of a kept value of a run, and what hides its
// sensitive texts in sentences about it.
func (c *Coordinator) shown(ctx context.Context, run string, v record.Value) (json.RawMessage, *strings.Replacer, error) {
	raw, err := c.raw(ctx, v)
	if err != nil {
		return nil, strings.NewReplacer(), err
	}
	return c.hidden(ctx, run, raw)
}

// hidden is shown for a value at hand. Of a run whose definition is gone nothing
// tells which fields are sensitive: the whole value is hidden.
func (c *Coordinator) hidden(ctx context.Context, run string, raw json.RawMessage) (json.RawMessage, *strings.Replacer, error) {
	nothing := strings.NewReplacer()
	if len(raw) == 0 || string(raw) == "null" || run == "" || ctx.Value(revealed{}) != nil {
		return raw, nothing, nil
	}
	def, err := c.definitionOf(ctx, run)
	if errors.Is(err, ErrNoDefinition) || errors.Is(err, ErrNoRun) {
		out, err := canonical(schema.Redacted)
		return out, nothing, err
	}
	names := sensitiveNames(def)
	if err != nil || !slices.ContainsFunc(names, func(name string) bool { return strings.Contains(string(raw), `"`+name+`"`) }) {
		return raw, nothing, err
	}
	value, err := parse("stored value", raw)
	if err != nil {
		return nil, nothing, err
	}
	value, texts := schema.RedactNamed(value, names)
	out, err := canonical(value)
	return out, hiding(texts), err
}

// hiding replaces texts, the longest first.
func hiding(texts []string) *strings.Replacer {
	slices.SortFunc(texts, func(a, b string) int { return len(b) - len(a) })
	var pairs []string
	for _, text := range texts {
		if len(text) >= leastHidden {
			pairs = append(pairs, text, schema.Redacted)
		}
	}
	return strings.NewReplacer(pairs...)
}

package coordinator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/loop"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// prepared is what an attempt gets, as it was resolved from the records.
type prepared struct {
	raw   json.RawMessage
	hash  string
	facts map[string]json.RawMessage
	// versions are of the facts read.
	versions map[string]int64
	files    map[string]string
	// reasons are why a person must look, asked or not yet.
	reasons []string
	// entry, key and resource are of the step's action.
	entry, key, resource string
}

// fault is a failure found by the gate itself.
type fault struct {
	class outerloop.Class
	cause string
	// final: no retry helps. ask: a person must look, halt: the run halts, whatever the rule says.
	final, ask, halt bool
	// breach: the work itself broke a hard rule (R43).
	breach bool
	// reported: the worker says so, not the gate.
	reported bool
	to       string
}

// Error is the cause.
func (f *fault) Error() string { return string(f.class) + ": " + f.cause }

// due tells for lack of what the step is not needed, if it is not.
func (q *delivered) due(ctx context.Context) (missing, reason string, err error) {
	if q.review {
		author := q.steps[address(q.node, q.index)]
		switch {
		case author == nil || author.State != outerloop.StepSettled:
			return "", "", fmt.Errorf("%s %w", q.node.Path, errNotSettled)
		case author.Outcome != outerloop.OutcomeCompleted:
			return q.node.Path, fmt.Sprintf("needs %s, which ended %s", q.node.Path, author.Outcome), nil
		}
		return "", "", nil
	}
	if err := q.surplus(ctx, q.node, q.index); err != nil {
		return "", "", err
	}
	for p := q.node.Parent; p != nil; p = p.Parent {
		if p.Kind == loop.KindBranches && (p.When != nil || len(p.Needs) > 0) {
			if missing, reason, err = q.unneeded(ctx, p, q.index); err != nil || reason != "" {
				return missing, reason, err
			}
		}
	}
	return q.lacking(ctx, q.node, q.index)
}

// readFacts reads the facts that the step declares. A fact that is absent or
// too old is a missing input, unless only the substitute of the work needs it.
func (q *delivered) readFacts(ctx context.Context, p *prepared) error {
	return q.readThese(ctx, p, func(name string) bool { return !forSubstitute(q.node, name) })
}

// forSubstitute tells whether a fact is read for the time when the work has failed.
func forSubstitute(n *loop.Node, name string) bool {
	if n.Failure == nil || n.Failure.Substitute == nil || !slices.Contains(n.Failure.Substitute.Uses.Facts, name) {
		return false
	}
	return n.Input == nil || !slices.Contains(n.Input.Uses.Facts, name)
}

func (q *delivered) readThese(ctx context.Context, p *prepared, needed func(name string) bool) error {
	if len(q.node.Reads) == 0 {
		return nil
	}
	names := make([]string, len(q.node.Reads))
	keys := make([]store.Key, len(q.node.Reads))
	for i, read := range q.node.Reads {
		name, err := q.keyText(ctx, "fact's name", read.Fact, texting{items: q.index})
		if err != nil {
			return err
		}
		names[i], keys[i] = name, record.FactKey(name)
	}
	items, err := q.c.get(ctx, keys...)
	if err != nil {
		return fmt.Errorf("reading facts: %w", err)
	}
	q.facts = map[string]any{}
	p.facts, p.versions = map[string]json.RawMessage{}, map[string]int64{}
	for i, read := range q.node.Reads {
		fact, err := record.DecodeFact(items[i])
		if err != nil {
			return err
		}
		if lack := q.lacks(names[i], fact, read.Fresh); lack != "" {
			if needed(read.Name) {
				return &fault{class: outerloop.ClassMissingInput, cause: lack}
			}
			if fact.Gone(q.c.now()) {
				p.versions[names[i]] = 0
			}
			continue
		}
		raw, err := q.c.raw(ctx, fact.Value)
		if err != nil {
			return err
		}
		if q.facts[read.Name], err = parse("fact "+names[i], raw); err != nil {
			return err
		}
		p.facts[read.Name], p.versions[names[i]] = raw, fact.Stored
	}
	return nil
}

// lacks tells why a fact cannot be used.
func (q *delivered) lacks(name string, fact *record.Fact, fresh time.Duration) string {
	if fact == nil {
		return fmt.Sprintf("fact %s is not there", name)
	}
	if fact.Gone(q.c.now()) {
		return fmt.Sprintf("fact %s was kept until %s", name, fact.Until.Format(time.RFC3339))
	}
	if age := q.c.now().Sub(fact.At); fresh > 0 && age > fresh {
		return fmt.Sprintf("fact %s is %s old, at most %s is allowed", name, age.Round(time.Second), fresh)
	}
	return ""
}

// resolve computes what the worker gets and checks it against its charter: an
// incomplete job is refused at the door (R22).
func (q *call) resolve(ctx context.Context, p *prepared, approved *record.Approval) error {
	value, err := q.inputValue(ctx, approved)
	if err != nil {
		return err
	}
	if p.raw, err = canonical(value); err != nil {
		return err
	}
	checked, faults := q.worker.Input.Check(p.raw)
	if len(faults) > 0 {
		return &fault{class: outerloop.ClassMissingInput, final: true, cause: "input of " + q.worker.Charter.Worker + " is incomplete: " + join(faultTexts(faults))}
	}
	q.work, p.hash = checked, record.HashOf(p.raw)
	if fields, ok := checked.(map[string]any); ok {
		for _, f := range q.worker.Input.Type().Fields() {
			if ref, isText := fields[f.Name].(string); f.Type.Format == "file" && isText {
				if p.files == nil {
					p.files = map[string]string{}
				}
				p.files[f.Name] = ref
			}
		}
	}
	return nil
}

func (q *call) inputValue(ctx context.Context, approved *record.Approval) (any, error) {
	switch s := q.step(); {
	case approved != nil && approved.Action:
		return q.c.value(ctx, approved.Content)
	case s != nil && !s.Override.IsZero():
		return q.c.value(ctx, s.Override)
	}
	var value any = map[string]any{}
	tree, work := q.node.Input, (*after)(nil)
	if q.review {
		author, err := q.authorWork(ctx)
		if err != nil {
			return nil, err
		}
		tree, work = q.node.Review.Input, author
	}
	if tree != nil {
		var err error
		if value, err = q.tree(ctx, tree, q.index, work); err != nil {
			return nil, err
		}
	}
	return q.simplified(ctx, value)
}

// simplified replaces the fields that the failure rule names for further tries (R29).
func (q *call) simplified(ctx context.Context, value any) (any, error) {
	fields, isMap := value.(map[string]any)
	if q.step() == nil || q.node.Failure == nil || !isMap {
		return value, nil
	}
	for _, retry := range q.node.Failure.Retry {
		if len(retry.Fields) == 0 || !failedBy(q.step(), retry.Class) {
			continue
		}
		changed := make(map[string]any, len(fields))
		for name, v := range fields {
			changed[name] = v
		}
		for _, field := range retry.Fields {
			v, err := q.tree(ctx, field.Tree, q.index, nil)
			if err != nil {
				return nil, err
			}
			changed[field.Name] = v
		}
		fields = changed
	}
	return fields, nil
}

func failedBy(s *record.Step, class outerloop.Class) bool {
	if class == outerloop.ClassAny {
		return len(s.Tries.Failed) > 0
	}
	return s.Tries.Failed[class] > 0
}

// authorWork is what the reviewed step put out.
func (q *delivered) authorWork(ctx context.Context) (*after, error) {
	author := q.steps[address(q.node, q.index)]
	output, err := q.c.value(ctx, author.Output)
	if err != nil {
		return nil, fmt.Errorf("reading the reviewed output: %w", err)
	}
	return workOf(author, output), nil
}

func workOf(s *record.Step, output any) *after {
	return &after{output: output, confidence: optional(string(s.Confidence)), evidence: s.Evidence, unresolved: s.Unresolved}
}

// faultOf turns what a rule of the loop said into a failure of the step; the
// store's own errors stay what they are.
func faultOf(err error) (*fault, bool) {
	var f *fault
	if errors.As(err, &f) {
		return f, true
	}
	var said *ruleError
	if errors.As(err, &said) {
		return &fault{class: outerloop.ClassMissingInput, cause: said.Error(), final: true}, true
	}
	return nil, false
}

func join(list []string) string { return strings.Join(list, "; ") }

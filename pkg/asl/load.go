package asl

import (
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/outerloop-dev/outerloop/pkg/asl/internal/rawjson"
)

// Option changes how Load reads a definition.
type Option func(*loader)

// WithType loads the definition for a machine of the given type. Default:
// Standard. An express machine must not wait for tokens or jobs.
func WithType(t Type) Option { return func(l *loader) { l.machine.kind = t } }

// Load reads and checks a definition. It does not keep data. The error is a
// *DefinitionError that holds everything wrong with the definition, in its
// order; JSON that cannot be read, a definition over MaxDefinition or nested
// too deeply is reported alone.
func Load(data []byte, options ...Option) (*Machine, error) {
	l := &loader{
		machine: &Machine{kind: Standard, states: map[string]*state{}, processors: map[string]*Machine{}},
		seen:    map[string]bool{},
	}
	for _, o := range options {
		o(l)
	}
	if len(data) > MaxDefinition {
		l.report(codeJSON, "/", "The definition has %d bytes, at most %d are allowed", len(data), MaxDefinition)
		return nil, l.failure()
	}
	if !utf8.Valid(data) {
		l.report(codeJSON, "/", "The definition is not valid UTF-8")
		return nil, l.failure()
	}
	text, err := rawjson.NormalizeStrict(data)
	if err != nil && !l.duplicates(err) {
		l.report(codeJSON, "/", "The definition is not valid JSON: %v", err)
		return nil, l.failure()
	}
	l.load(text)
	if len(l.found) > 0 {
		return nil, l.failure()
	}
	return l.machine, nil
}

// The codes of diagnostics.
const (
	codeSchema      = "SCHEMA_VALIDATION_FAILED"
	codeJSON        = "INVALID_JSON_DESCRIPTION"
	codeDuplicate   = "DUPLICATE_STATE_NAME"
	codeTarget      = "MISSING_TRANSITION_TARGET"
	codeUnsupported = "UNSUPPORTED"
	codeBound       = "EVENT_BOUND"
)

// loader reads one definition.
type loader struct {
	machine *Machine
	found   []Diagnostic
	seen    map[string]bool // resources
	// kind is the type of the executions that the states being read run in.
	kind Type
}

func (l *loader) report(code, path, format string, args ...any) {
	l.found = append(l.found, Diagnostic{Code: code, Message: fmt.Sprintf(format, args...), Path: path})
}

func (l *loader) schema(path, format string, args ...any) {
	l.report(codeSchema, path, format, args...)
}

func (l *loader) failure() error { return &DefinitionError{Diagnostics: l.found} }

// duplicates reports duplicate keys; false if the error is of another kind.
func (l *loader) duplicates(err error) bool {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return false
	}
	for _, e := range joined.Unwrap() {
		var d *rawjson.DuplicateError
		if errors.As(e, &d) {
			l.report(codeJSON, d.Path, "Duplicate key %q", d.Key)
		}
	}
	return true
}

func (l *loader) load(text []byte) {
	m := l.machine
	m.definition = text
	o := l.object(text, "/")
	if o == nil {
		return
	}
	o.path = ""
	o.allow("Comment", "Version", "QueryLanguage", "TimeoutSeconds", "StartAt", "States")
	m.comment, _ = o.text("Comment")
	if v, ok := o.text("Version"); ok && v != "1.0" {
		l.schema("/Version", "Value is not supported: %q, only \"1.0\" is", v)
	}
	o.queryLanguage()
	if n, ok := o.whole("TimeoutSeconds", 1, maxTimeout); ok {
		m.timeout = n
	}
	l.kind = m.kind
	m.block = l.block(o)
	if m.block == nil {
		return
	}
	l.resolve(m.block)
	l.scopes(m.block, nil)
	if len(l.found) == 0 {
		m.addProcessors(m.block)
	}
}

// maxTimeout is the longest time-out, in seconds.
const maxTimeout = 99999999

// block reads StartAt and States of a machine, branch or processor.
func (l *loader) block(o *object) *block {
	b := &block{byName: map[string]*state{}}
	o.require("StartAt", "States")
	states, ok := o.child("States")
	if !ok {
		return nil
	}
	for key, v := range rawjson.Members(states.value) {
		name := rawjson.Text(key)
		if s := l.state(name, v, states.path+"/"+name); s != nil {
			b.states = append(b.states, s)
			b.byName[name] = s
		}
	}
	if rawjson.Len(states.value) == 0 {
		l.schema(states.path, "Value cannot be empty")
	}
	if start, ok := o.text("StartAt"); ok {
		if b.start = b.state(start); b.start == nil {
			l.report(codeTarget, o.path+"/StartAt", "Missing 'StartAt' target: %s", start)
		}
	}
	return b
}

// state reads one state and notes its name.
func (l *loader) state(name string, v []byte, path string) *state {
	s := &state{name: name, path: path}
	if n := utf8.RuneCountInString(name); n == 0 || n > MaxName {
		l.schema(path, "State name must have 1 to %d characters but has %d", MaxName, n)
	}
	if l.machine.states[name] != nil {
		l.report(codeDuplicate, path, "Duplicate State name: %s", name)
	} else {
		l.machine.states[name] = s
	}
	o := l.object(v, path)
	if o == nil {
		return nil
	}
	kind, ok := o.text("Type")
	if !ok {
		o.require("Type")
		return nil
	}
	s.kind = stateType(kind)
	spec, ok := stateFields[s.kind]
	if !ok {
		l.schema(path+"/Type", "Value is not a valid state type: %q", kind)
		return nil
	}
	o.queryLanguage()
	o.allowState(spec)
	l.common(o, s)
	spec.read(l, o, s)
	return s
}
